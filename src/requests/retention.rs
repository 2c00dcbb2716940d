//! What the intake made and is over is the history of a Machine. The newest are kept; older ones go,
//! one at a time, because nobody else would ever delete them.

use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Preconditions};
use remediator_api::target_ref::about;
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::facts::Origin;

use crate::api_call::{ShellError, within};
use crate::snapshot::{Sources, cached};
use crate::watch::caches::Guarded;

/// Finished remediations that are kept for each Machine: so many that powered its host off, and so many
/// that did not. The newest says whether the Machine is in quarantine, and what number the next one gets.
const KEPT: usize = 3;

/// A finished remediation that the intake made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finished {
    name: String,
    uid: String,
    resource_version: String,
    /// By which the intake counts them.
    number: u32,
    /// Whether it powered its host off: its evidence is not pushed out by those that only looked.
    acted: bool,
    /// Whether something is still to be done about its host, or what its Node carried is saved here only.
    owes: bool,
}

/// Deletes the oldest surplus remediation of a Machine, if there is one. That it goes is a change that
/// brings the next look, and with it the next one.
///
/// # Errors
/// When the server refuses; nothing depends on it.
pub(crate) async fn prune(sources: &Sources, machine: &Machine) -> Result<(), ShellError> {
    let carries_taint_of = |uid: &str| {
        // Also on a Node that cannot be read.
        let of = |node: &Guarded<Node>| {
            let tainted_by = node.annotations().get(keys::TAINTED_BY_ANNOTATION);
            tainted_by.is_some_and(|by| by == uid)
        };
        // A cluster that cannot be asked may have such a Node.
        let nodes = sources.clusters.nodes_of_machine(machine);
        nodes.map_or(true, |nodes| nodes.nodes.find(of).is_some())
    };
    let Some(surplus) = surplus(finished_of(sources, machine), carries_taint_of) else {
        return Ok(());
    };
    let namespace = machine.namespace().unwrap_or_default();
    let api = Api::<PowerCycleRemediation>::namespaced(sources.client.clone(), &namespace);
    let exactly = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(surplus.uid),
            resource_version: Some(surplus.resource_version),
        }),
        ..DeleteParams::default()
    };
    let name = surplus.name;
    match within("deleting an old remediation", api.delete(&name, &exactly)).await {
        Ok(_) => {
            tracing::info!(remediation = %format_args!("{namespace}/{name}"), "deleted; newer finished ones are kept");
            Ok(())
        }
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The oldest that may go: more than enough newer ones of its sort are there, and it owes nothing.
fn surplus(mut finished: Vec<Finished>, carries_taint_of: impl Fn(&str) -> bool) -> Option<Finished> {
    finished.sort_by_key(|one| std::cmp::Reverse(one.number));
    let (acted, looked): (Vec<Finished>, Vec<Finished>) = finished.into_iter().partition(|one| one.acted);
    let surplus = acted.into_iter().skip(KEPT).chain(looked.into_iter().skip(KEPT));
    surplus
        .filter(|one| !one.owes && !carries_taint_of(&one.uid))
        .min_by_key(|one| one.number)
}

fn finished_of(sources: &Sources, machine: &Machine) -> Vec<Finished> {
    let (namespace, name) = (machine.namespace(), machine.name_any());
    let readable = sources.caches.readable_remediations();
    let of_machine = readable
        .iter()
        // Most are of other Machines, and this is asked at every change of every Machine.
        .filter(|one| {
            one.metadata
                .name
                .as_deref()
                .is_some_and(|other| other.starts_with(&name))
        })
        .filter(|one| one.namespace() == namespace && about(one).machine.as_ref() == Some(&name));
    of_machine.filter_map(|one| finished(one, &name)).collect()
}

/// A remediation as it matters here; `None` for one that is none of our business: not made by the
/// intake, at work, or being deleted.
fn finished(remediation: &PowerCycleRemediation, machine: &str) -> Option<Finished> {
    let journal = &remediation.status.as_ref()?.journal;
    let is_over = journal.phase.is_final() && remediation.metadata.deletion_timestamp.is_none();
    if cached::origin(remediation) != Origin::Annotation || !is_over {
        return None;
    }
    let name = remediation.name_any();
    // A name that was cut short for its length has no number here: such remediations are all kept.
    let number = name.strip_prefix(machine)?.strip_prefix('-')?.parse().ok()?;
    let uid = remediation.uid()?;
    let saved_node = journal
        .release
        .as_ref()
        .and_then(|release| release.saved_node.as_ref());
    let owes = journal.may_have_left_off()
        || saved_node.is_some()
        || journal.held_node_lease().is_some()
        || journal.open_escalation().is_some();
    Some(Finished {
        name,
        uid,
        resource_version: remediation.resource_version()?,
        number,
        acted: journal.attempt > 0,
        owes,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn remediation(name: &str, change: impl FnOnce(&mut Value)) -> PowerCycleRemediation {
        let mut remediation = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {
                "name": name, "uid": format!("uid-of-{name}"), "resourceVersion": "7",
                "annotations": {keys::ORIGIN_ANNOTATION: keys::ORIGIN_EXTERNAL_REMEDIATION},
            },
            "spec": {"machineName": "worker-7"}, "status": {"phase": "Succeeded"},
        });
        change(&mut remediation);
        serde_json::from_value(remediation).unwrap()
    }

    fn judged(name: &str, change: impl FnOnce(&mut Value)) -> Option<Finished> {
        finished(&remediation(name, change), "worker-7")
    }

    fn finished_one(number: u32, acted: bool, owes: bool) -> Finished {
        Finished {
            name: format!("worker-7-{number}"),
            uid: format!("uid-of-worker-7-{number}"),
            resource_version: String::new(),
            number,
            acted,
            owes,
        }
    }

    /// The number of the one that goes. In `owing` stand those that still owe something.
    fn goes(numbers: &[u32], owing: &[u32]) -> Option<u32> {
        let finished = |number: &u32| finished_one(*number, true, owing.contains(number));
        surplus(numbers.iter().map(finished).collect(), |_| false).map(|one| one.number)
    }

    #[test]
    fn those_that_only_looked_push_out_none_that_acted() {
        let history = |acted: &[u32]| {
            let finished = |number: u32| finished_one(number, acted.contains(&number), false);
            surplus((1..=7).map(finished).collect(), |_| false).map(|one| one.number)
        };
        assert_eq!(history(&[1]), Some(2));
        assert_eq!(history(&[1, 2, 3, 4]), Some(1));
        assert_eq!(history(&[5, 6, 7]), Some(1));
    }

    #[test]
    fn one_whose_taint_stands_on_a_node_stays() {
        let finished = (1..=5).map(|number| finished_one(number, true, false)).collect();
        let goes = surplus(finished, |uid| uid == "uid-of-worker-7-1");
        assert_eq!(goes.map(|one| one.number), Some(2));
    }

    #[test]
    fn the_oldest_goes_when_more_than_three_newer_ones_are_there() {
        assert_eq!(goes(&[], &[]), None);
        assert_eq!(goes(&[1, 2, 3], &[]), None);
        assert_eq!(goes(&[3, 1, 4, 2], &[]), Some(1));
        // Numbers and not texts, and gaps do not matter.
        assert_eq!(goes(&[10, 9, 11, 100, 12], &[]), Some(9));
    }

    #[test]
    fn one_that_owes_something_stays_and_another_goes_instead() {
        assert_eq!(goes(&[1, 2, 3, 4, 5], &[1]), Some(2));
        assert_eq!(goes(&[1, 2, 3, 4, 5], &[1, 2]), None);
        assert_eq!(
            goes(&[1, 2, 3, 4], &[4]),
            Some(1),
            "one that owes is kept as one of three"
        );
    }

    #[test]
    fn only_what_the_intake_made_and_is_over_counts() {
        let ours = judged("worker-7-12", |_| {}).unwrap();
        assert_eq!((ours.number, ours.owes), (12, false));
        assert_eq!(
            (ours.uid.as_str(), ours.resource_version.as_str()),
            ("uid-of-worker-7-12", "7")
        );
        for phase in ["Failed", "Cancelled"] {
            assert!(judged("worker-7-1", |one| one["status"]["phase"] = json!(phase)).is_some());
        }

        for phase in [
            "Pending",
            "Holding",
            "PoweringOff",
            "Fencing",
            "PoweringOn",
            "Booting",
        ] {
            assert_eq!(
                judged("worker-7-1", |one| one["status"]["phase"] = json!(phase)),
                None
            );
        }
        assert_eq!(judged("worker-7-1", |one| one["status"] = Value::Null), None);
        assert_eq!(
            judged("worker-7-1", |one| one["metadata"]["annotations"] = json!({})),
            None
        );
        let deleting = |one: &mut Value| one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(judged("worker-7-1", deleting), None);
        for name in [
            "worker-7",
            "worker-7-by-hand",
            "worker-7-",
            "worker-71",
            "worker-8-1",
        ] {
            assert_eq!(judged(name, |_| {}), None, "{name}");
        }
    }

    #[test]
    fn a_host_left_off_and_a_saved_node_are_owed() {
        let owes = |name: &str, status: Value| {
            let judged = judged(name, |one| one["status"] = status);
            judged.map(|one| one.owes)
        };
        let at = "2026-01-01T00:00:00Z";
        let intent = |verb: &str| {
            let intent = json!({"verb": verb, "sends": 1, "journalled": at, "notAfter": at, "epoch": 1});
            json!({"phase": "Failed", "intent": intent})
        };
        let release = |saved: Value| {
            let release = json!({"by": "NodeDeletion", "decided": at, "bootID": "b", "savedNode": saved});
            json!({"phase": "Failed", "release": release})
        };

        assert_eq!(owes("worker-7-1", intent("PowerOff")), Some(true));
        assert_eq!(owes("worker-7-1", intent("PowerOn")), Some(false));
        assert_eq!(
            owes("worker-7-1", release(json!({"labels": {"a": "b"}}))),
            Some(true)
        );
        assert_eq!(owes("worker-7-1", release(Value::Null)), Some(false));
        assert_eq!(owes("worker-7-5", json!({"phase": "Failed"})), Some(false));
    }
}
