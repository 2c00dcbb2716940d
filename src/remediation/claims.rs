//! At most one remediation at a time for one Machine, one Node and one BMC.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{about, begun, is_told_to_stop};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::facts::{Obstacle, Seen};
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};

use crate::bmc_access::host::ResolvedHost;
use crate::remediation::Remediator;
use crate::snapshot::others;
use crate::watch::lookup;
use crate::watch::machine_key::machine_key;

/// Who has what, by remediation UID. Decides between remediations that the caches cannot tell apart
/// yet; what has begun is found in the caches, also after a restart.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    holders: Mutex<BTreeMap<String, String>>,
}

impl Claims {
    /// Takes all of `keys`, or none and names the holder of one. What was taken before and is not among them is
    /// given back: two who hold each a part of what both want would else wait for each other for ever. A holder that
    /// is not at work any more has lost its claims.
    fn take(&self, keys: &[String], uid: &str, at_work: impl Fn(&str) -> bool) -> Result<(), String> {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.retain(|_, holder| holder != uid && at_work(holder));
        if let Some(holder) = keys.iter().find_map(|key| holders.get(key)) {
            return Err(holder.clone());
        }
        holders.extend(keys.iter().map(|key| (key.clone(), uid.to_owned())));
        Ok(())
    }

    /// Gives everything back.
    pub(crate) fn release(&self, uid: &str) {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.retain(|_, holder| holder != uid);
    }
}

/// Claims Machine, Node and BMC for a remediation that has not begun. One that may not go on holds nothing: another
/// that it waits for may want what it holds.
///
/// # Errors
/// The obstacle: another remediation is at work on one of them, or one that cannot be read may be; or one has failed
/// there while this one waited for it.
pub(crate) fn claim(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    host: &ResolvedHost,
) -> Result<(), Obstacle> {
    let uid = remediation.uid().unwrap_or_default();
    let claimed = claim_as(context, remediation, host, &uid);
    if claimed.is_err() {
        context.claims.release(&uid);
    }
    claimed
}

fn claim_as(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    host: &ResolvedHost,
    uid: &str,
) -> Result<(), Obstacle> {
    let key = machine_key(&context.sources.caches, remediation);
    let machine = key.as_ref().map(|key| key.name.clone());
    let namespace = remediation.namespace().unwrap_or_default();
    if let Some(obstacle) = others::unreadable_remediation(&context.sources, &namespace, machine.as_deref()) {
        return Err(obstacle);
    }
    let mut keys = vec![bmc_key(&host.host.bmc)];
    let named = about(remediation).node;
    keys.extend(named.map(|node| node_key(None, &node)));
    if let Some(key) = &key {
        keys.push(key_of_machine(&namespace, &key.name));
        if let Seen::Present(machine) = lookup::machine(&context.sources.caches, key) {
            let cluster = ClusterKey::of(&machine);
            keys.extend(machine.node_name().map(|node| node_key(cluster.as_ref(), node)));
        }
    }
    let readable = context.sources.caches.readable_remediations();
    let others: Vec<&PowerCycleRemediation> = readable
        .iter()
        .filter(|other| other.uid().as_deref() != Some(uid) && !phase(other).is_final())
        .collect();
    let shares_one =
        |other: &PowerCycleRemediation| keys_of_begun(other).iter().any(|key| keys.contains(key));
    if let Some(created) = &remediation.metadata.creation_timestamp
        && begun(remediation).is_none()
    {
        let mut ended = readable.iter().filter(|other| has_failed_since(other, created.0));
        if let Some(other) = ended.find(|other| shares_one(other)) {
            return Err(failed_meanwhile(&other.name_any()));
        }
    }
    let first = others
        .iter()
        .find(|other| goes_before(other, remediation) && shares_one(other));
    if let Some(other) = first {
        return Err(at_work(&other.name_any()));
    }
    let is_at_work = |holder: &str| others.iter().any(|other| other.uid().as_deref() == Some(holder));
    context.claims.take(&keys, uid, is_at_work).map_err(|holder| {
        let other = others
            .iter()
            .find(|other| other.uid().as_deref() == Some(&holder));
        at_work(&other.map(|other| other.name_any()).unwrap_or_default())
    })
}

/// Another remediation that is at work where this one has failed and is to be escalated: what it does may
/// still help.
pub(crate) fn another_at_work(context: &Remediator, remediation: &PowerCycleRemediation) -> Option<Obstacle> {
    let journal = &remediation.status.as_ref()?.journal;
    journal.open_escalation()?;
    let keys = keys_of_begun(remediation);
    let shares_one = |other: &PowerCycleRemediation| {
        let of_other = keys_of_begun(other);
        of_other.iter().any(|key| keys.contains(key))
    };
    let readable = context.sources.caches.readable_remediations();
    let other = readable.iter().find(|other| {
        let is_other = other.uid() != remediation.uid() && !phase(other).is_final();
        is_other && (has_begun(other) || is_between_attempts(other)) && shares_one(other)
    })?;
    Some(at_work(&other.name_any()))
}

fn at_work(other: &str) -> Obstacle {
    let detail = format!("PowerCycleRemediation {other} is at work on the same Machine, Node or BMC");
    Obstacle::new(Reason::AnotherRemediationActive, detail)
}

/// Requests for one host are one: what has failed is not begun anew for one that waited meanwhile.
fn failed_meanwhile(other: &str) -> Obstacle {
    let detail = format!(
        "PowerCycleRemediation {other} of the same Machine, Node or BMC has failed while this one waited for it"
    );
    Obstacle::new(Reason::Quarantined, detail)
}

/// Whether a remediation has failed after this time at what it had begun, and was not merely taken back.
fn has_failed_since(remediation: &PowerCycleRemediation, time: Timestamp) -> bool {
    let Some(journal) = remediation.status.as_ref().map(|status| &status.journal) else {
        return false;
    };
    // A NodeHealthCheck whose time is over asks the next of its ladder, which may be ours again.
    let is_told_to_stop = is_told_to_stop(remediation) || remediation.metadata.deletion_timestamp.is_some();
    let is_taken_back = is_told_to_stop || journal.withdrawn.is_some();
    journal.phase == Phase::Failed
        && journal.attempt > 0
        && !is_taken_back
        && journal.phase_started.is_some_and(|failed| failed >= time)
}

/// Whether it acts, or may still have to give a host its power back.
fn has_begun(remediation: &PowerCycleRemediation) -> bool {
    let journal = remediation.status.as_ref().map(|status| &status.journal);
    phase(remediation) != Phase::Pending || journal.is_some_and(Journal::may_have_left_off)
}

/// Whether it has made an attempt and waits to make the next.
fn is_between_attempts(remediation: &PowerCycleRemediation) -> bool {
    let journal = remediation.status.as_ref().map(|status| &status.journal);
    phase(remediation) == Phase::Pending && journal.is_some_and(|journal| journal.attempt > 0)
}

/// Whether another remediation that is not over is to be waited for. Of two between attempts the elder goes on, or
/// they would wait for each other.
fn goes_before(other: &PowerCycleRemediation, own: &PowerCycleRemediation) -> bool {
    let age = |one: &PowerCycleRemediation| {
        let created = one.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, one.uid())
    };
    let own_is_first = has_begun(own) || is_between_attempts(own) && age(own) < age(other);
    has_begun(other) || is_between_attempts(other) && !own_is_first
}

fn phase(remediation: &PowerCycleRemediation) -> Phase {
    let status = remediation.status.as_ref();
    status.map(|status| status.journal.phase).unwrap_or_default()
}

fn keys_of_begun(remediation: &PowerCycleRemediation) -> Vec<String> {
    let namespace = remediation.namespace().unwrap_or_default();
    let about = about(remediation);
    let named = about.node.map(|node| node_key(None, &node));
    let mut keys: Vec<String> = named.into_iter().collect();
    keys.extend(about.machine.map(|machine| key_of_machine(&namespace, &machine)));
    let subject = remediation
        .status
        .as_ref()
        .and_then(|status| status.journal.subject.as_ref());
    if let Some(subject) = subject {
        let cluster = subject.cluster.clone().map(|name| ClusterKey {
            namespace: namespace.clone(),
            name,
        });
        keys.extend(subject.node_name().map(|node| node_key(cluster.as_ref(), node)));
        keys.push(bmc_key(&subject.bmc));
        let machine = subject.machine.as_deref();
        keys.extend(machine.map(|machine| key_of_machine(&namespace, machine)));
    }
    keys
}

/// Whatever API it is of: two Machines of one name in a namespace are told apart by nobody who reads.
fn key_of_machine(namespace: &str, name: &str) -> String {
    format!("Machine {namespace}/{name}")
}

fn node_key(cluster: Option<&ClusterKey>, name: &str) -> String {
    match cluster {
        None => format!("Node {name}"),
        Some(cluster) => format!("Node {name} of Cluster {cluster}"),
    }
}

fn bmc_key(address: &str) -> String {
    format!("BMC {address}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Claims, PowerCycleRemediation, goes_before, has_failed_since};

    fn remediation(created: &str, status: &serde_json::Value) -> PowerCycleRemediation {
        serde_json::from_value(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": "one", "uid": created, "creationTimestamp": created}, "spec": {}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn who_is_between_attempts_is_waited_for_as_who_makes_one_is_also_after_a_restart() {
        let status = |phase: &str, attempt: u32| {
            json!({
                "phase": phase, "phaseStarted": "2026-01-01T01:00:00Z", "attempt": attempt, "reason": "RetryBackoff",
                "message": "",
            })
        };
        let (elder, younger) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
        for (other, own, expected) in [
            (("Pending", 0), ("Pending", 0), false),
            (("Pending", 1), ("Pending", 0), true),
            (("PoweringOff", 1), ("Pending", 0), true),
            (("Pending", 0), ("Pending", 1), false),
            (("PoweringOff", 1), ("Pending", 1), true),
        ] {
            let of = |(phase, attempt): (&str, u32), created| remediation(created, &status(phase, attempt));
            for (one, another) in [(elder, younger), (younger, elder)] {
                let found = goes_before(&of(other, one), &of(own, another));
                assert_eq!(found, expected, "{other:?} {own:?}");
            }
        }
        let between = |created| remediation(created, &status("Pending", 1));
        assert!(goes_before(&between(elder), &between(younger)));
        assert!(!goes_before(&between(younger), &between(elder)));
        let unwatched = remediation(elder, &serde_json::Value::Null);
        assert!(!goes_before(&unwatched, &unwatched));
    }

    #[test]
    fn a_failure_counts_for_those_who_waited_and_not_for_who_asks_after_it() {
        let (before, at, later) = (
            "2026-01-01T00:59:59Z",
            "2026-01-01T01:00:00Z",
            "2026-01-01T01:00:01Z",
        );
        let taken_back = |reason| reason != "PowerOffNotConfirmed" && reason != "Earlier version";
        for (phase, reason, attempt, created, expected) in [
            ("Failed", "PowerOffNotConfirmed", 1, before, true),
            ("Failed", "PowerOffNotConfirmed", 1, at, true),
            ("Failed", "PowerOffNotConfirmed", 1, later, false),
            ("Failed", "PendingDeadlineExceeded", 0, before, false),
            ("Failed", "RemediationInterruptedByNHC", 1, before, false),
            ("Failed", "TriggerWithdrawn", 1, before, false),
            // An earlier version did not write down that it was taken back: that stops whoever waits.
            ("Failed", "Earlier version", 1, before, true),
            ("Succeeded", "Succeeded", 1, before, false),
            ("Cancelled", "Recovered", 0, before, false),
            ("Booting", "PowerOnRequested", 1, before, false),
        ] {
            let other: PowerCycleRemediation = serde_json::from_value(json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
                "metadata": {"name": "first"}, "spec": {},
                "status": {
                    "phase": phase, "phaseStarted": at, "attempt": attempt, "reason": reason, "message": "",
                    "withdrawn": taken_back(reason).then_some(at),
                },
            }))
            .unwrap();
            let found = has_failed_since(&other, created.parse().unwrap());
            assert_eq!(found, expected, "{phase} {reason} {created}");
        }
    }

    #[test]
    fn what_one_holds_another_cannot_take_until_it_is_not_at_work_any_more() {
        let claims = Claims::default();
        let keys = ["Machine a/1".to_owned(), "Node 1".to_owned()];
        let same_node = ["Machine b/1".to_owned(), "Node 1".to_owned()];

        assert_eq!(claims.take(&keys, "one", |_| true), Ok(()));
        assert_eq!(claims.take(&same_node, "two", |_| true), Err("one".to_owned()));
        assert_eq!(
            claims.take(&same_node[..1], "three", |_| true),
            Ok(()),
            "none was taken"
        );
        claims.release("three");
        let other = ["Machine c/1".to_owned(), "Node 2".to_owned()];
        assert_eq!(claims.take(&other, "four", |_| true), Ok(()));
        assert_eq!(claims.take(&keys, "four", |_| true), Err("one".to_owned()));
        assert_eq!(
            claims.take(&other, "five", |_| true),
            Ok(()),
            "four wants them no more"
        );
        assert_eq!(claims.take(&same_node, "two", |holder| holder != "one"), Ok(()));
        assert_eq!(claims.take(&keys, "one", |_| true), Err("two".to_owned()));
    }
}
