//! Decides for each API whether the health checker is active, in place of the platform's controller.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::mpsc as stream;
use remediator_api::RemediationPolicy;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::checker::activation::{Activation, HealthChecker, activation};
use remediator_core::checker::evaluator::{Asks, Evaluator, evaluator, operator};
use remediator_core::checker::platform::{LeaseHistory, Platform, platform};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::mhc::event_publisher::warn_unserved;
use crate::mhc::pass::forget_numbers;
use crate::mhc::state::{CheckKey, MhcController, Mode};
use crate::mhc::unserved::{NodeChecks, Unserved};
use crate::mhc::{check_inputs, platform, unserved};
use crate::report::conditions::{
    CLUSTER_API_HEALTH_CHECKER, HEALTH_CHECKER, HEALTH_CHECKS_SERVED, Statement,
};
use crate::watch::caches::Guarded;
use crate::watch::change_events::{ChangeSender, MhcChange};
use crate::watch::{caches, lookup};

/// How often the Lease of the platform's controller is read while it decides something.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is read otherwise, and what hardly ever changes: the FeatureGate, NodeHealthChecks.
const LOOK_SELDOM: Duration = Duration::from_mins(1);

#[derive(Default)]
struct Activations {
    leases: [LeaseHistory; MachineApi::ALL.len()],
    /// How often the clock had jumped when each was read last.
    jumps: [u64; MachineApi::ALL.len()],
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
) {
    let (mut activations, mut policy) = (Activations::default(), None);
    loop {
        // It has a say in which Machines get a trigger.
        let policy_now = context.checker.policy();
        if policy != policy_now && changes.send(MhcChange::All).is_err() {
            return;
        }
        policy = policy_now;
        let modes = activations.decide(&context).await;
        for (api, mode) in modes {
            let Some(before) = context.checker.set_mode(api, &mode) else {
                continue;
            };
            report(&context, api, &before, &mode);
            if changes.send(MhcChange::All).is_err() || mode_taken.unbounded_send(()).is_err() {
                return;
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
    async fn decide(&mut self, context: &MhcController) -> Vec<(MachineApi, Mode)> {
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
        for (api, (lease, counted)) in MachineApi::ALL
            .into_iter()
            .zip(self.leases.iter_mut().zip(&mut self.jumps))
        {
            let is_served = match api {
                MachineApi::OpenShift => true,
                MachineApi::ClusterApi => context.sources.cluster_api.version().is_some(),
            };
            if !is_served && context.checker.mode(api).is_none() {
                continue;
            }
            let read = platform::lease(&context.sources.client, api).await;
            let (now, jumps) = context.sources.clock.moment();
            if std::mem::replace(counted, jumps) != jumps {
                lease.count_from(now);
            }
            lease.note(read, now);
            let switched_off = api == MachineApi::OpenShift && self.switched_off == Some(true);
            let platform = platform(lease, switched_off, now);
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
    if !context.checker.is_active(MachineApi::ClusterApi) {
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
    let wanted = wanted(context);
    let decides = wanted
        .present()
        .is_some_and(|wanted| *wanted != HealthChecker::Never);
    let is_asked = |api| !unserved::asking(&context.sources.caches, api, Asks::ByAnnotation).is_empty();
    let is_unknown = |api| {
        let mode = context.checker.mode(api);
        mode.is_some_and(|mode| mode.unserved.unknown.is_some())
    };
    let mut apis = MachineApi::ALL.into_iter();
    if apis.any(|api| decides && is_asked(api) || is_unknown(api)) {
        LOOK
    } else {
        LOOK_SELDOM
    }
}

fn wanted(context: &MhcController) -> Lookup<HealthChecker> {
    wanted_by(caches::find(&context.sources.caches.policies, None, POLICY_NAME).as_deref())
}

/// What a policy says of who evaluates health checks.
pub(crate) fn wanted_by(policy: Option<&Guarded<RemediationPolicy>>) -> Lookup<HealthChecker> {
    lookup::of(policy, "RemediationPolicy", POLICY_NAME).map(|policy| policy.spec.health_checker)
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
        if before.activation.is_active() && !after.activation.is_active() {
            context.checker.retain(|key: &CheckKey| key.api != api);
        }
    }
    let modes = MachineApi::ALL.into_iter();
    let modes = modes.filter_map(|api| context.checker.mode(api));
    let all = modes.fold(Unserved::default(), |all, mode| all.and(&mode.unserved));
    context.reporter.unserved(all.numbers());
    let (before, after) = (before.unserved.clone(), after.unserved.clone());
    let context = Arc::clone(context);
    // There may be many, and whether the platform's controller has come back is looked at meanwhile.
    tokio::spawn(async move { warn_unserved(&context, api, &before, &after).await });
}

/// What the policy says of it; nothing of an API of which nothing is known yet.
pub(crate) fn statements(
    mode: impl Fn(MachineApi) -> Option<Mode>,
    generation: Option<i64>,
) -> Vec<Statement> {
    let modes = MachineApi::ALL.into_iter();
    let modes: Vec<(MachineApi, Mode)> = modes.filter_map(|api| Some((api, mode(api)?))).collect();
    if modes.is_empty() {
        return Vec::new();
    }
    let by_api = |(api, mode): &(MachineApi, Mode)| checker(*api, &mode.activation, generation);
    let served = [served(&modes, generation)];
    modes.iter().map(by_api).chain(served).collect()
}

/// Whether our checker is active for an API.
fn checker(api: MachineApi, activation: &Activation, generation: Option<i64>) -> Statement {
    let kind = match api {
        MachineApi::OpenShift => HEALTH_CHECKER,
        MachineApi::ClusterApi => CLUSTER_API_HEALTH_CHECKER,
    };
    match activation {
        Activation::Active(why) | Activation::Alongside(why) => {
            Statement::verdict(kind, Ok((Reason::StandingIn, why.clone())), generation)
        }
        Activation::Inactive(why) if why.reason == Reason::PlatformControllerUnknown => {
            Statement::unknown(kind, why, generation)
        }
        Activation::Inactive(why) => Statement::verdict(kind, Err(why.clone()), generation),
    }
}

/// Whether somebody evaluates each health check that asks for power cycles.
fn served(modes: &[(MachineApi, Mode)], generation: Option<i64>) -> Statement {
    let all = modes
        .iter()
        .fold(Unserved::default(), |all, (_, mode)| all.and(&mode.unserved));
    let obstacles = all.obstacles();
    if let Some(first) = obstacles.first() {
        let all: Vec<String> = obstacles.iter().map(Obstacle::for_people).collect();
        return Statement {
            message: all.join(" "),
            ..Statement::verdict(HEALTH_CHECKS_SERVED, Err(first.clone()), generation)
        };
    }
    if let Some(why) = &all.unknown {
        return Statement::unknown(HEALTH_CHECKS_SERVED, why, generation);
    }
    let all = "no health check that asks for power cycles is known to be evaluated by nobody";
    let served = Ok((Reason::HealthChecksServed, all.to_owned()));
    Statement::verdict(HEALTH_CHECKS_SERVED, served, generation)
}
