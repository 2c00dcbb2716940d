//! Looks whether the health checker stands in for the controller of each API.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::mpsc as stream;

use super::pass::forget_numbers;
use super::state::{CheckKey, Stance};
use super::unserved::Unserved;
use super::wake::{Waker, Woke};
use super::{judged, platform, unserved};
use crate::api::RemediationPolicy;
use crate::api::remediation_policy::{HealthChecker, POLICY_NAME};
use crate::controller::caches::{self, Guarded};
use crate::controller::{ClusterKey, Context, seen};
use crate::core::checker::evaluator::{Asks, Evaluator, evaluator};
use crate::core::checker::platform::{Platform, Sighting, platform};
use crate::core::checker::standing::{Wanted, standing};
use crate::core::facts::Seen;
use crate::core::machine_api::MachineApi;

/// How often the Lease of the platform's controller is read while it decides something.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is read otherwise, and what hardly ever changes: the FeatureGate, NodeHealthChecks.
const LOOK_SELDOM: Duration = Duration::from_mins(1);

/// What is known of those who may evaluate health checks.
#[derive(Default)]
struct Outlook {
    seen: [Sighting; MachineApi::ALL.len()],
    seldom: Option<Instant>,
    switched_off: bool,
    /// NodeHealthChecks that are disabled because of MachineHealthChecks.
    disabled: BTreeSet<String>,
}

/// Looks, for ever, whether the platform's controllers run and who evaluates what.
pub(super) async fn look(
    context: Arc<Context>,
    waker: Waker,
    changed: stream::UnboundedSender<()>,
) -> &'static str {
    let mut jumps = context.clock.jumps();
    let mut outlook = Outlook::default();
    loop {
        let jumped = context.clock.jumps() != jumps;
        jumps = context.clock.jumps();
        let stances = outlook.look(&context, jumped).await;
        for (api, stance) in stances {
            let Some(before) = context.checker.take(api, &stance) else {
                continue;
            };
            report(&context, api, &before, &stance);
            if waker.send(Woke::All).is_err() || changed.unbounded_send(()).is_err() {
                return "health checker's look-out";
            }
        }
        keep_connected(&context);
        tokio::select! {
            () = tokio::time::sleep(pause(&context)) => {}
            () = context.checker.bell.notified() => {}
        }
    }
}

impl Outlook {
    /// Looks at each API that the server has. OpenShift's is looked at in any case, for NodeHealthChecks.
    async fn look(&mut self, context: &Context, jumped: bool) -> Vec<(MachineApi, Stance)> {
        if self.seldom.is_none_or(|last| last.elapsed() >= LOOK_SELDOM) {
            self.seldom = Some(Instant::now());
            self.switched_off = platform::is_switched_off(&context.client).await;
            if let Some(disabled) = unserved::disabled(&context.client).await {
                self.disabled = disabled;
            }
        }
        let mut stances = Vec::new();
        for (api, seen) in MachineApi::ALL.into_iter().zip(&mut self.seen) {
            let is_served = match api {
                MachineApi::OpenShift => true,
                MachineApi::ClusterApi => context.cluster_api.version().is_some(),
            };
            if !is_served && context.checker.stance(api).is_none() {
                continue;
            }
            let read = platform::lease(&context.client, api).await;
            let now = context.clock.now();
            let before = std::mem::take(seen);
            let before = if jumped { before.counted_from(now) } else { before };
            *seen = before.after(read, now);
            let switched_off = api == MachineApi::OpenShift && self.switched_off;
            let platform = platform(seen, switched_off, now);
            stances.push((api, stance(context, api, &platform, &self.disabled)));
        }
        stances
    }
}

/// Keeps the workload clusters connected whose Nodes are judged: their changes wake the checker.
fn keep_connected(context: &Context) {
    if !context.checker.is_in(MachineApi::ClusterApi) {
        return;
    }
    let checks = context
        .caches
        .cluster_api
        .health_checks
        .state_filter(judged::may_ask);
    let clusters: BTreeSet<ClusterKey> = checks
        .iter()
        .filter_map(|check| judged::cluster_of(check))
        .collect();
    context.workload.keep(clusters);
}

/// Until the next look, if nobody asks for one before.
fn pause(context: &Context) -> Duration {
    let decides = wanted(context) == Seen::Present(Wanted::Auto);
    let is_asked = |api| !unserved::asking(&context.caches, api).is_empty();
    if decides && MachineApi::ALL.into_iter().any(is_asked) {
        LOOK
    } else {
        LOOK_SELDOM
    }
}

/// What the administrator wants.
fn wanted(context: &Context) -> Seen<Wanted> {
    wanted_by(caches::find(&context.caches.policies, None, POLICY_NAME).as_deref())
}

/// What a policy says of who evaluates health checks.
pub(crate) fn wanted_by(policy: Option<&Guarded<RemediationPolicy>>) -> Seen<Wanted> {
    let policy = seen::of(policy, "RemediationPolicy", POLICY_NAME);
    policy.map(|policy| match policy.spec.health_checker {
        HealthChecker::Auto => Wanted::Auto,
        HealthChecker::Always => Wanted::Always,
        HealthChecker::Never => Wanted::Never,
    })
}

fn stance(context: &Context, api: MachineApi, platform: &Platform, disabled: &BTreeSet<String>) -> Stance {
    let standing = standing(&wanted(context), platform);
    let asking = unserved::asking(&context.caches, api);
    let none = BTreeSet::new;
    let (mut machine_checks, mut strangers, mut unknown) = (none(), none(), false);
    match evaluator(api, Asks::ByAnnotation, platform, &standing, false) {
        Evaluator::Nobody(_) => machine_checks = asking,
        Evaluator::Stranger => strangers = asking,
        Evaluator::Unknown(_) => unknown = !asking.is_empty(),
        Evaluator::Platform | Evaluator::Ours(_) | Evaluator::Both | Evaluator::NodeHealthCheckOperator => {}
    }
    Stance {
        unserved: Unserved {
            machine_checks,
            strangers,
            node_checks: match api {
                MachineApi::OpenShift => disabled.clone(),
                MachineApi::ClusterApi => none(),
            },
            unknown,
        },
        standing,
    }
}

fn report(context: &Arc<Context>, api: MachineApi, before: &Stance, after: &Stance) {
    if before.standing != after.standing {
        context.reporter.health_checker_stands(api, &after.standing);
        if !after.standing.is_in() {
            // The numbers are those of whoever evaluates.
            for key in context.checker.retain(|key: &CheckKey| key.api != api) {
                forget_numbers(context, &key);
            }
        }
    }
    let stances = MachineApi::ALL
        .into_iter()
        .filter_map(|api| context.checker.stance(api));
    let all = stances.fold(Unserved::default(), |all, stance| all.and(&stance.unserved));
    context.reporter.unserved(all.numbers());
    let (context, before, after) = (
        Arc::clone(context),
        before.unserved.clone(),
        after.unserved.clone(),
    );
    // There may be many, and whether the platform's controller has come back is looked at meanwhile.
    tokio::spawn(async move { unserved::tell(&context, api, &before, &after).await });
}
