//! The trigger annotation on a Machine becomes a PowerCycleRemediation, or an event says why not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, PostParams};
use kube::{Resource, ResourceExt as _};
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::strategy_spec::StrategySpec;
use remediator_api::views::Machine;
use remediator_api::{PowerCycleRemediation, PowerCycleRemediationSpec, keys};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::intake::{self, Intake};
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, within};
use crate::report::Reporter;
use crate::requests::{pruning, quarantine};
use crate::snapshot::{Sources, cached, remediation_history};
use crate::watch::caches::Guarded;
use crate::watch::indexed_store::ObjectKey;
use crate::watch::work_queue::Action;
use crate::watch::{caches, lookup};

/// How often a trigger that was not taken up is looked at again, besides every change.
const RECHECK: Duration = Duration::from_mins(1);

/// The clock counts whole milliseconds, timers may end in the midst of one.
const PAST: Duration = Duration::from_millis(2);

/// Pause before a creation that was refused is decided anew: the cache lags behind by less.
const CATCH_UP: Duration = Duration::from_secs(1);

/// What takes up triggers.
pub(crate) struct Intakes {
    pub(crate) sources: Arc<Sources>,
    reporter: Reporter,
    /// The reason of the last event on each Machine, so that there is one event for as long as it lasts.
    reasons: Mutex<BTreeMap<String, &'static str>>,
}

impl Intakes {
    pub(crate) fn new(sources: Arc<Sources>, reporter: Reporter) -> Self {
        Self {
            sources,
            reporter,
            reasons: Mutex::default(),
        }
    }

    /// Forgets a Machine that is gone: one that is made anew by its name gets all events.
    pub(crate) fn forget(&self, namespace: &str, name: &str) {
        self.note(&key(namespace, name), None);
    }

    /// The Machines whose triggers are not taken up.
    pub(crate) fn refused(&self) -> Vec<ObjectKey> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let names = reasons.keys().filter_map(|key| key.split_once('/'));
        let references = names.map(|(namespace, name)| ObjectKey::new(Some(namespace), name));
        references.collect()
    }

    /// Notes why the trigger of a Machine is not taken up; answers whether that was another reason before.
    fn note(&self, machine: &str, reason: Option<&'static str>) -> bool {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        match reason {
            Some(reason) => reasons.insert(machine.to_owned(), reason) != Some(reason),
            None => reasons.remove(machine).is_some(),
        }
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

pub(crate) async fn reconcile(
    guarded: Arc<Guarded<Machine>>,
    intakes: Arc<Intakes>,
) -> Result<Action, ShellError> {
    let key = key(&guarded.namespace().unwrap_or_default(), &guarded.name_any());
    let mut decision = match &guarded.0 {
        Ok(machine) if machine.is_triggered() => decide(&intakes.sources, machine),
        Ok(_) => Intake::Nothing,
        Err(invalid) if guarded.annotations().contains_key(keys::TRIGGER_ANNOTATION) => {
            let detail = format!("Machine {key} cannot be read: {}", invalid.error);
            Intake::skip(Obstacle::new(Reason::MachineUnreadable, detail))
        }
        Err(_) => Intake::Nothing,
    };
    let mut look_again = None;
    if let (Intake::Create(name), Ok(machine)) = (&decision, &guarded.0) {
        match strategy(&intakes.sources) {
            Err(obstacle) => decision = Intake::skip(obstacle),
            Ok(strategy) if create(&intakes.sources, machine, name, &strategy).await? => {
                decision = Intake::Nothing;
            }
            // Somebody else has the name, and the cache does not know it yet.
            Ok(_) => look_again = Some(CATCH_UP),
        }
    }
    let tells = matches!(&decision, Intake::Skip { obstacle, .. } if obstacle.reason == Reason::Quarantined);
    match decision {
        Intake::Create(_) => {}
        Intake::Nothing => {
            intakes.note(&key, None);
        }
        Intake::Skip {
            obstacle,
            look_again: at,
        } => {
            if intakes.note(&key, Some(obstacle.reason.as_str())) {
                intakes.reporter.warn(&reference(&guarded), &obstacle).await;
            }
            look_again = Some(recheck(at, intakes.sources.clock.now()));
        }
    }
    // After the trigger was dealt with, which must not wait for this.
    if let Ok(machine) = &guarded.0 {
        if let Err(error) = pruning::prune(&intakes.sources, machine).await {
            tracing::warn!(machine = %key, error = %crate::report::chain(&error), "an old remediation could not be deleted; it is tried again");
            look_again = look_again.or(Some(RECHECK));
        }
        match quarantine::tell(&intakes.sources, machine).await {
            Ok(Some(begun)) if !tells => intakes.reporter.warn(&reference(&guarded), &begun).await,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(machine = %key, error = %crate::report::chain(&error), "the quarantine could not be told on its Machine; it is tried again");
                look_again = look_again.or(Some(RECHECK));
            }
        }
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
    let name = machine.name_any();
    let namespace = machine.namespace().unwrap_or_default();
    let unreadable = remediation_history::unreadable_remediation(sources, &namespace, Some(&name));
    if let Some(obstacle) = unreadable {
        return Intake::skip(obstacle);
    }
    let objects = cached::of_machine(
        sources,
        machine,
        None,
        lookup::health_checks(&sources.caches, machine),
    );
    let remediations = remediation_history::of_machine(sources, machine);
    let is_taken = |name: &str| caches::find(&sources.caches.remediations, Some(&namespace), name).is_some();
    let checks = objects.health_checks.as_slice();
    let around = (&objects.node, checks, &objects.control_plane, &objects.policy);
    let now = sources.clock.now();
    objects.machine.present().map_or(Intake::Nothing, |machine| {
        intake::decide(machine, around, &remediations, is_taken, now)
    })
}

/// When a trigger that was not taken up is looked at again: that its Node recovers does not enqueue the Machine.
fn recheck(look_again: Option<Timestamp>, now: Timestamp) -> Duration {
    let until = look_again.and_then(|at| Duration::try_from(at.duration_since(now)).ok());
    until.map_or(RECHECK, |until| until.saturating_add(PAST).min(RECHECK))
}

/// What a remediation does that is made now; the default where there is no policy. One that cannot be followed is an
/// obstacle, for what is corrected later would not reach a remediation that is there.
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
        ..OwnerReference::default()
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
    let (parameters, remediation) = (PostParams::default(), remediation(machine, name, strategy));
    let created = api.create(&parameters, &remediation);
    match within("creating a PowerCycleRemediation", created).await {
        Ok(_) => {
            tracing::info!(machine = %format_args!("{namespace}/{}", machine.name_any()), remediation = name, "trigger taken up");
            Ok(true)
        }
        Err(error) if error.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

#[allow(clippy::needless_pass_by_value)] // The signature is the queue's.
pub(crate) fn error_policy(guarded: Arc<Guarded<Machine>>, error: &ShellError, _: Arc<Intakes>) -> Action {
    tracing::warn!(machine = %guarded.name_any(), error = %crate::report::chain(error), "intake failed; it is tried again");
    Action::requeue(Duration::from_secs(5))
}
