//! Decides for each API whether the health checker is active, in place of the platform's controller.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::mpsc as stream;
use remediator_api::RemediationPolicy;
use remediator_api::remediation_policy::{HealthChecker, POLICY_NAME};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::checker::activation::{Activation, Wanted, activation};
use remediator_core::checker::evaluator::{Asks, Evaluator, evaluator, operator};
use remediator_core::checker::platform::{Platform, Sighting, platform};
use remediator_core::facts::Lookup;
use remediator_core::machine_api::MachineApi;

use crate::mhc::pass::forget_numbers;
use crate::mhc::state::{CheckKey, MhcController, Mode};
use crate::mhc::unserved::NodeChecks;
use crate::mhc::unserved_checks::Unserved;
use crate::mhc::{check_inputs, platform, unserved};
use crate::watch::caches::Guarded;
use crate::watch::change_events::{ChangeSender, MhcChange};
use crate::watch::{caches, lookup};

/// How often the Lease of the platform's controller is read while it decides something.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is read otherwise, and what hardly ever changes: the FeatureGate, NodeHealthChecks.
const LOOK_SELDOM: Duration = Duration::from_mins(1);

/// What is known of those who may evaluate health checks.
#[derive(Default)]
struct Activations {
    seen: [Sighting; MachineApi::ALL.len()],
    seldom: Option<Instant>,
    /// As the FeatureGate was read last, once it was.
    switched_off: Option<bool>,
    /// As they were read last, once they were.
    node_checks: Option<NodeChecks>,
}

/// Looks, for ever, whether the platform's controllers run and who evaluates what.
pub(super) async fn watch_activation(
    context: Arc<MhcController>,
    changes: ChangeSender,
    mode_taken: stream::UnboundedSender<()>,
) -> &'static str {
    let mut jumps = context.sources.clock.jumps();
    let mut activations = Activations::default();
    loop {
        let jumped = context.sources.clock.jumps() != jumps;
        jumps = context.sources.clock.jumps();
        let modes = activations.decide(&context, jumped).await;
        for (api, mode) in modes {
            let Some(before) = context.checker.take(api, &mode) else {
                continue;
            };
            report(&context, api, &before, &mode);
            if changes.send(MhcChange::All).is_err() || mode_taken.unbounded_send(()).is_err() {
                return "health checker's activation";
            }
        }
        keep_connected(&context);
        tokio::select! {
            () = tokio::time::sleep(pause(&context)) => {}
            () = context.checker.activation_due.notified() => {}
        }
    }
}

impl Activations {
    /// Decides for each API that the server has. OpenShift's is looked at in any case, for NodeHealthChecks.
    async fn decide(&mut self, context: &MhcController, jumped: bool) -> Vec<(MachineApi, Mode)> {
        if self.seldom.is_none_or(|last| last.elapsed() >= LOOK_SELDOM) {
            self.seldom = Some(Instant::now());
            let switched_off = platform::is_switched_off(&context.sources.client).await;
            self.switched_off = switched_off.or(self.switched_off);
            let node_checks = unserved::node_checks(&context.sources.client).await;
            self.node_checks = node_checks.or(self.node_checks.take());
        }
        let node_checks_served = self.node_checks.as_ref().map(|checks| checks.served);
        let operator = operator(self.switched_off, node_checks_served);
        let mut modes = Vec::new();
        for (api, seen) in MachineApi::ALL.into_iter().zip(&mut self.seen) {
            let is_served = match api {
                MachineApi::OpenShift => true,
                MachineApi::ClusterApi => context.sources.cluster_api.version().is_some(),
            };
            if !is_served && context.checker.mode(api).is_none() {
                continue;
            }
            let read = platform::lease(&context.sources.client, api).await;
            let now = context.sources.clock.now();
            let before = std::mem::take(seen);
            let before = if jumped { before.counted_from(now) } else { before };
            *seen = before.after(read, now);
            let switched_off = api == MachineApi::OpenShift && self.switched_off == Some(true);
            let platform = platform(seen, switched_off, now);
            let activation = activation(&wanted(context), &platform);
            let node_checks = self.node_checks.as_ref().filter(|_| api == MachineApi::OpenShift);
            let unserved = Unserved {
                node_checks: node_checks.map_or_else(BTreeSet::new, |checks| checks.disabled.clone()),
                ..in_vain(context, api, (&platform, &activation), operator)
            };
            modes.push((api, Mode { activation, unserved }));
        }
        modes
    }
}

/// Keeps the workload clusters connected whose Nodes are judged: their changes wake the checker.
fn keep_connected(context: &MhcController) {
    if !context.checker.is_in(MachineApi::ClusterApi) {
        return;
    }
    let checks = context.sources.caches.cluster_api.health_checks.all();
    let clusters: BTreeSet<ClusterKey> = checks
        .iter()
        .filter(|check| check_inputs::may_ask(check))
        .filter_map(|check| check_inputs::cluster_of(check))
        .collect();
    context.sources.clusters.workload.keep(clusters);
}

/// Until the next look, if nobody asks for one before.
fn pause(context: &MhcController) -> Duration {
    let decides = matches!(wanted(context), Lookup::Present(Wanted::Auto | Wanted::Always));
    let is_asked = |api| !unserved::asking(&context.sources.caches, api, Asks::ByAnnotation).is_empty();
    let is_unknown = |api| {
        let mode = context.checker.mode(api);
        mode.is_some_and(|mode| mode.unserved.unknown().is_some())
    };
    let mut apis = MachineApi::ALL.into_iter();
    if apis.any(|api| decides && is_asked(api) || is_unknown(api)) {
        LOOK
    } else {
        LOOK_SELDOM
    }
}

/// What the administrator wants.
fn wanted(context: &MhcController) -> Lookup<Wanted> {
    wanted_by(caches::find(&context.sources.caches.policies, None, POLICY_NAME).as_deref())
}

/// What a policy says of who evaluates health checks.
pub(crate) fn wanted_by(policy: Option<&Guarded<RemediationPolicy>>) -> Lookup<Wanted> {
    let policy = lookup::of(policy, "RemediationPolicy", POLICY_NAME);
    policy.map(|policy| match policy.spec.health_checker {
        HealthChecker::Auto => Wanted::Auto,
        HealthChecker::Always => Wanted::Always,
        HealthChecker::Never => Wanted::Never,
    })
}

/// Which MachineHealthChecks of an API ask for power cycles in vain. `operator`: see [`evaluator`].
fn in_vain(
    context: &MhcController,
    api: MachineApi,
    (platform, activation): (&Platform, &Activation),
    operator: Option<bool>,
) -> Unserved {
    let mut unserved = Unserved::default();
    for asks in Asks::ALL {
        let asking = unserved::asking(&context.sources.caches, api, asks);
        match evaluator(api, asks, platform, activation, operator) {
            Evaluator::Nobody(_) => unserved.machine_checks.extend(asking),
            Evaluator::Stranger => unserved.strangers.extend(asking),
            Evaluator::Unknown(why) if !asking.is_empty() => unserved.unknown = Some(why),
            Evaluator::Unknown(_)
            | Evaluator::Platform
            | Evaluator::Ours(_)
            | Evaluator::Both
            | Evaluator::NodeHealthCheckOperator => {}
        }
    }
    unserved
}

fn report(context: &Arc<MhcController>, api: MachineApi, before: &Mode, after: &Mode) {
    if before.activation != after.activation {
        context.reporter.health_checker_stands(api, &after.activation);
        if !after.activation.is_alone() {
            // The numbers are those of whoever writes the status.
            for key in context.checker.of(api) {
                forget_numbers(context, &key);
            }
        }
        if before.activation.is_in() && !after.activation.is_in() {
            context.checker.retain(|key: &CheckKey| key.api != api);
        }
    }
    let modes = MachineApi::ALL
        .into_iter()
        .filter_map(|api| context.checker.mode(api));
    let all = modes.fold(Unserved::default(), |all, mode| all.and(&mode.unserved));
    context.reporter.unserved(all.numbers());
    let (context, before, after) = (
        Arc::clone(context),
        before.unserved.clone(),
        after.unserved.clone(),
    );
    // There may be many, and whether the platform's controller has come back is looked at meanwhile.
    tokio::spawn(async move { unserved::tell(&context, api, &before, &after).await });
}
