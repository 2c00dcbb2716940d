//! The trigger annotation on a Machine becomes a PowerCycleRemediation, or an event says why not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt as _};
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::strategy_spec::StrategySpec;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::{PowerCycleRemediation, PowerCycleRemediationSpec, keys};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::intake::{self, Intake, Remediation, Triggered};
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster;
use crate::report::Reporter;
use crate::requests::retention;
use crate::snapshot::{Sources, machine_facts, remediation_history};
use crate::watch::caches::{Guarded, readable};
use crate::watch::machine_key::{machine_key, remediations_of};
use crate::watch::{caches, lookup};

/// How often a trigger that was not taken up is looked at again, besides every change.
const RECHECK: Duration = Duration::from_mins(1);

/// The clock counts whole milliseconds, timers may end in the midst of one.
const PAST: Duration = Duration::from_millis(2);

/// Pause before a creation that was refused is decided anew: the cache lags behind by less.
const CATCH_UP: Duration = Duration::from_secs(1);

/// What intake shares with itself: the reason last told for each Machine, so that it is told once.
pub(crate) struct Intakes {
    pub(crate) sources: Arc<Sources>,
    reporter: Reporter,
    told: Mutex<BTreeMap<String, &'static str>>,
}

impl Intakes {
    pub(crate) fn new(sources: Arc<Sources>, reporter: Reporter) -> Self {
        Self {
            sources,
            reporter,
            told: Mutex::default(),
        }
    }

    /// Forgets a Machine that is gone: one that is made anew by its name is told everything.
    pub(crate) fn forget(&self, namespace: &str, name: &str) {
        self.identity_changed(&key(namespace, name), None);
    }

    /// Whether a reason is news for a Machine.
    fn identity_changed(&self, machine: &str, reason: Option<&'static str>) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match reason {
            Some(reason) => told.insert(machine.to_owned(), reason) != Some(reason),
            None => told.remove(machine).is_some(),
        }
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Looks at one Machine.
pub(crate) async fn reconcile(
    guarded: Arc<Guarded<Machine>>,
    intakes: Arc<Intakes>,
) -> Result<Action, ShellError> {
    let key = key(&guarded.namespace().unwrap_or_default(), &guarded.name_any());
    let decision = match &guarded.0 {
        Ok(machine) if machine.is_triggered() => decide(&intakes.sources, machine),
        Ok(_) => Intake::Nothing,
        Err(invalid) if guarded.annotations().contains_key(keys::TRIGGER_ANNOTATION) => skip(Obstacle::new(
            Reason::MachineUnreadable,
            format!("Machine {key} cannot be read: {}", invalid.error),
        )),
        Err(_) => Intake::Nothing,
    };
    let strategy = match &decision {
        Intake::Create(_) => Some(strategy(&intakes.sources)),
        Intake::Nothing | Intake::Skip { .. } => None,
    };
    let decision = match &strategy {
        Some(Err(obstacle)) => skip(obstacle.clone()),
        Some(Ok(_)) | None => decision,
    };
    let mut look_again = match decision {
        Intake::Nothing => {
            intakes.identity_changed(&key, None);
            None
        }
        Intake::Skip { obstacle, look_again } => {
            if intakes.identity_changed(&key, Some(obstacle.reason.as_str())) {
                intakes.reporter.warn(&reference(&guarded), &obstacle).await;
            }
            Some(recheck(look_again, intakes.sources.clock.now()))
        }
        Intake::Create(name) => match (&guarded.0, strategy) {
            (Ok(machine), Some(Ok(strategy)))
                if create(&intakes.sources, machine, &name, &strategy).await? =>
            {
                intakes.identity_changed(&key, None);
                None
            }
            // Somebody else has the name, and the cache does not know it yet.
            (Ok(_), _) => Some(CATCH_UP),
            (Err(_), _) => None,
        },
    };
    // After the trigger was dealt with, which must not wait for this.
    if let Ok(machine) = &guarded.0
        && let Err(error) = retention::prune(&intakes.sources, machine).await
    {
        tracing::warn!(machine = %key, error = %crate::report::chain(&error), "an old remediation could not be deleted; it is tried again");
        look_again = look_again.or(Some(RECHECK));
    }
    Ok(look_again.map_or_else(Action::await_change, Action::requeue))
}

/// For events; one that cannot be read is taken for one of OpenShift.
fn reference(guarded: &Guarded<Machine>) -> ObjectReference {
    match &guarded.0 {
        Ok(machine) => machine.reference(),
        Err(_) => guarded.object_ref(&()),
    }
}

/// What is to be done about the trigger of a Machine.
pub(crate) fn decide(sources: &Sources, machine: &Machine) -> Intake {
    let checks = lookup::health_checks(&sources.caches, machine);
    let (namespace, name, api) = (machine.namespace(), machine.name_any(), machine.api());
    let of_unknown = remediation_history::unreadable_remediation(
        sources,
        namespace.as_deref().unwrap_or_default(),
        Some(&name),
    );
    if let Some(obstacle) = of_unknown {
        return skip(obstacle);
    }
    let node = match sources.clusters.nodes_of_machine(machine) {
        Ok(nodes) => node_cluster::node_of(machine, &nodes),
        Err(obstacle) => Lookup::Unreadable(obstacle.detail),
    };
    let of_name = remediations_of(&sources.caches, namespace.as_deref().unwrap_or_default(), &name);
    let is_of = |one: &&PowerCycleRemediation| {
        machine_key(&sources.caches, one).is_some_and(|key| key.means(api, &name))
    };
    let remediations: Vec<Remediation> = readable(&of_name)
        .filter(is_of)
        .map(remediation_history::earlier)
        .collect();
    let is_taken =
        |name: &str| caches::find(&sources.caches.remediations, namespace.as_deref(), name).is_some();
    let cluster = ClusterKey::of(machine).map(|key| lookup::cluster(&sources.caches, &key));
    let machine = machine_facts(machine, cluster.as_ref());
    let triggered = Triggered {
        machine: &machine,
        node: &node,
        health_checks: &checks,
        remediations: &remediations,
    };
    intake::decide(triggered, is_taken, sources.clock.now())
}

fn skip(obstacle: Obstacle) -> Intake {
    Intake::Skip {
        obstacle,
        look_again: None,
    }
}

/// When a trigger that was not taken up is looked at again. It may be sooner that its Node recovers, of
/// which nobody is told here.
fn recheck(look_again: Option<Timestamp>, now: Timestamp) -> Duration {
    let until = look_again.and_then(|at| Duration::try_from(at.duration_since(now)).ok());
    until.map_or(RECHECK, |until| until.saturating_add(PAST).min(RECHECK))
}

/// What a remediation does that is made now; the default where there is no policy.
///
/// # Errors
/// The obstacle, when the policy does not say it in a way that can be followed: what is corrected later would not
/// reach a remediation that is there.
pub(crate) fn strategy(sources: &Sources) -> Result<StrategySpec, Obstacle> {
    let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
    match lookup::of(policy.as_deref(), "RemediationPolicy", POLICY_NAME) {
        Lookup::Absent => Ok(StrategySpec::default()),
        Lookup::Unreadable(detail) => Err(Obstacle::new(Reason::PolicyUnreadable, detail)),
        Lookup::Present(policy) => policy.spec.strategy_of_triggers().map(|_| policy.spec.triggers),
    }
}

/// The remediation that is made for the trigger of a Machine, with our finalizer from the first moment.
pub(crate) fn remediation(machine: &Machine, name: &str, strategy: &StrategySpec) -> PowerCycleRemediation {
    let owner = OwnerReference {
        api_version: machine.group_version(),
        kind: Machine::kind(&()).into_owned(),
        name: machine.name_any(),
        uid: machine.uid().unwrap_or_default(),
        controller: None,
        block_owner_deletion: None,
    };
    let origin = (
        keys::ORIGIN_ANNOTATION.to_owned(),
        keys::ORIGIN_EXTERNAL_REMEDIATION.to_owned(),
    );
    let spec = PowerCycleRemediationSpec {
        machine_name: Some(machine.name_any()),
        strategy: strategy.clone(),
        ..Default::default()
    };
    let mut remediation = PowerCycleRemediation::new(name, spec);
    remediation.metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: machine.namespace(),
        annotations: Some([origin].into()),
        finalizers: Some(vec![keys::FINALIZER.to_owned()]),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    remediation
}

/// Creates the remediation; answers whether it did. Its name is counted up, so that a second creation for the same
/// trigger is refused by the API server.
async fn create(
    sources: &Sources,
    machine: &Machine,
    name: &str,
    strategy: &StrategySpec,
) -> Result<bool, ShellError> {
    let namespace = machine.namespace().unwrap_or_default();
    let api = Api::<PowerCycleRemediation>::namespaced(sources.client.clone(), &namespace);
    let created = within(
        "creating a PowerCycleRemediation",
        api.create(&PostParams::default(), &remediation(machine, name, strategy)),
    )
    .await;
    match created {
        Ok(_) => {
            tracing::info!(machine = %format_args!("{namespace}/{}", machine.name_any()), remediation = name, "trigger taken up");
            Ok(true)
        }
        Err(error) if error.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// What to do after a failed look at a Machine.
#[allow(clippy::needless_pass_by_value)] // The signature is the Controller's.
pub(crate) fn error_policy(guarded: Arc<Guarded<Machine>>, error: &ShellError, _: Arc<Intakes>) -> Action {
    tracing::warn!(machine = %guarded.name_any(), error = %crate::report::chain(error), "intake failed; it is tried again");
    Action::requeue(Duration::from_secs(5))
}
