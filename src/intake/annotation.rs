//! The trigger annotation on a Machine becomes a PowerCycleRemediation, or an event says why not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt as _};

use super::retention;
use crate::api::views::Machine;
use crate::api::{PowerCycleRemediation, PowerCycleRemediationSpec, keys};
use crate::controller::caches::{self, Guarded};
use crate::controller::{Context, ShellError, gather, within};
use crate::core::facts::Obstacle;
use crate::core::intake::{self, Intake, Remediation};
use crate::core::phase::Reason;

/// How often a trigger that was not taken up is looked at again, besides every change.
const RECHECK: Duration = Duration::from_mins(1);

/// Pause before a creation that was refused is decided anew: the cache lags behind by less.
const CATCH_UP: Duration = Duration::from_secs(1);

/// What intake shares with itself: the reason last told for each Machine, so that it is told once.
pub(crate) struct Intakes {
    pub(crate) context: Arc<Context>,
    told: Mutex<BTreeMap<String, &'static str>>,
}

impl Intakes {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self {
            context,
            told: Mutex::default(),
        }
    }

    /// Whether a reason is news for a Machine.
    fn is_news(&self, machine: &str, reason: Option<&'static str>) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match reason {
            Some(reason) => told.insert(machine.to_owned(), reason) != Some(reason),
            None => told.remove(machine).is_some(),
        }
    }
}

/// Looks at one Machine.
pub(crate) async fn reconcile(
    guarded: Arc<Guarded<Machine>>,
    intakes: Arc<Intakes>,
) -> Result<Action, ShellError> {
    let key = format!(
        "{}/{}",
        guarded.namespace().unwrap_or_default(),
        guarded.name_any()
    );
    let decision = match &guarded.0 {
        Ok(machine) if machine.is_triggered() => decide(&intakes.context, machine),
        Ok(_) => Intake::Nothing,
        Err(invalid) if guarded.annotations().contains_key(keys::TRIGGER_ANNOTATION) => {
            Intake::Skip(Obstacle::new(
                Reason::MachineUnreadable,
                format!("Machine {key} cannot be read: {}", invalid.error),
            ))
        }
        Err(_) => Intake::Nothing,
    };
    let action = match decision {
        Intake::Nothing => {
            intakes.is_news(&key, None);
            Action::await_change()
        }
        Intake::Skip(obstacle) => {
            if intakes.is_news(&key, Some(obstacle.reason.as_str())) {
                intakes
                    .context
                    .reporter
                    .warn(&guarded.object_ref(&()), &obstacle)
                    .await;
            }
            Action::requeue(RECHECK)
        }
        Intake::Create(name) => match &guarded.0 {
            Ok(machine) => take_up(&intakes, machine, &key, &name).await?,
            Err(_) => Action::await_change(),
        },
    };
    // After the trigger was dealt with, which must not wait for this.
    if let Ok(machine) = &guarded.0
        && let Err(error) = retention::prune(&intakes.context, machine).await
    {
        tracing::warn!(machine = %key, error = %crate::report::chain(&error), "an old remediation could not be deleted; it is tried again");
        return Ok(Action::requeue(RECHECK));
    }
    Ok(action)
}

fn decide(context: &Context, machine: &Machine) -> Intake {
    let checks = gather::health_checks(context, machine);
    let (namespace, name) = (machine.namespace(), machine.name_any());
    let of_unknown = gather::unreadable_remediation(context, namespace.as_deref().unwrap_or_default(), &name);
    if let Some(obstacle) = of_unknown {
        return Intake::Skip(obstacle);
    }
    let readable = context.caches.readable_remediations();
    let of_machine = readable
        .iter()
        .filter(|one| one.namespace() == namespace && gather::machine_name(one) == name);
    let remediations: Vec<Remediation> = of_machine
        .map(|one| {
            let journal = one
                .status
                .as_ref()
                .map(|status| status.journal.clone())
                .unwrap_or_default();
            Remediation {
                name: one.name_any(),
                phase: journal.phase,
                trigger_cleared: journal.trigger_cleared,
            }
        })
        .collect();
    intake::decide(&machine.facts(), &checks, &remediations)
}

/// Takes a trigger up, or says that the name of the remediation is taken.
async fn take_up(intakes: &Intakes, machine: &Machine, key: &str, name: &str) -> Result<Action, ShellError> {
    let context = &intakes.context;
    if create(context, machine, name).await? {
        intakes.is_news(key, None);
        return Ok(Action::await_change());
    }
    let namespace = machine.namespace();
    let holder = caches::find(&context.caches.remediations, namespace.as_deref(), name);
    let Some(obstacle) = holder.and_then(|holder| foreign(&holder, &machine.name_any())) else {
        // Made for this Machine, and not in the cache yet when it was decided.
        return Ok(Action::requeue(CATCH_UP));
    };
    if intakes.is_news(key, Some(obstacle.reason.as_str())) {
        context.reporter.warn(&machine.object_ref(&()), &obstacle).await;
    }
    Ok(Action::requeue(RECHECK))
}

/// What is wrong with the holder of a name that a remediation of this Machine needs; `None` when it is a
/// remediation of this Machine.
fn foreign(holder: &Guarded<PowerCycleRemediation>, machine: &str) -> Option<Obstacle> {
    let whose = match &holder.0 {
        Ok(remediation) => match gather::machine_name(remediation) {
            other if other == machine => return None,
            other => format!("is about Machine {other}"),
        },
        Err(invalid) => format!("cannot be read ({})", invalid.error),
    };
    let detail = format!(
        "the trigger of Machine {machine} is not taken up: PowerCycleRemediation {} has the name of its next \
         remediation and {whose}",
        holder.name_any()
    );
    Some(Obstacle::new(Reason::RemediationNameTaken, detail))
}

/// Creates the remediation, with our finalizer from the first moment; answers whether it did. Its name is
/// counted up, so that a second creation for the same trigger is refused by the API server.
async fn create(context: &Context, machine: &Machine, name: &str) -> Result<bool, ShellError> {
    let namespace = machine.namespace().unwrap_or_default();
    let owner = OwnerReference {
        api_version: Machine::api_version(&()).into_owned(),
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
        ..Default::default()
    };
    let mut remediation = PowerCycleRemediation::new(name, spec);
    remediation.metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.clone()),
        annotations: Some([origin].into()),
        finalizers: Some(vec![keys::FINALIZER.to_owned()]),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    let api = Api::<PowerCycleRemediation>::namespaced(context.client.clone(), &namespace);
    let created = within(
        "creating a PowerCycleRemediation",
        api.create(&PostParams::default(), &remediation),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn noted(spec: &Value) -> Option<String> {
        let holder = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": "worker-1"}, "spec": spec,
        });
        foreign(&serde_json::from_value(holder).unwrap(), "worker").map(|obstacle| obstacle.detail)
    }

    #[test]
    fn the_holder_of_a_name_is_named_unless_it_is_of_the_same_machine() {
        assert_eq!(noted(&json!({"machineName": "worker"})), None);
        // Made by hand for the Machine of its own name, as the README says.
        let by_hand = noted(&json!({})).unwrap();
        assert!(
            by_hand.contains("worker-1 has the name") && by_hand.contains("about Machine worker-1"),
            "{by_hand}"
        );
        let unreadable = noted(&json!({"machineName": 7})).unwrap();
        assert!(
            unreadable.contains("cannot be read (spec.machineName"),
            "{unreadable}"
        );
    }
}
