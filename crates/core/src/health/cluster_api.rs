//! The order of checks of `cluster.x-k8s.io`.
//! Sources: cluster-api v1.10.4 `internal/controllers/machinehealthcheck/machinehealthcheck_targets.go` for
//! v1beta1; ae7ff047db `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go` for v1beta2.

use jiff::Timestamp;

use super::dialect::Dialect;
use super::judgement::{Findings, Known, known, nothing_wrong};
use super::rules::Rules;
use super::target::{ClusterState, MachineState, Readiness, Target};
use super::verdict::{Skip, UnhealthyReason, Unknown, Verdict, Wait};
use crate::facts::Lookup;

/// Judges by the annotations of the Machine, then what v1beta1 judges early, then, if the Cluster is far
/// enough, by conditions and Node.
pub(super) fn judge(
    rules: &Rules,
    cluster: &Lookup<ClusterState>,
    target: &Target,
    machine: &MachineState,
    now: Timestamp,
) -> Verdict {
    if let Some(skip) = skip(machine) {
        return Verdict::Skipped(skip);
    }
    let (cluster, node) = match surroundings(cluster, target) {
        Ok(surroundings) => surroundings,
        Err(unknown) => return unknown,
    };
    let mut found = Findings::default();
    asked_for(&mut found, target, machine);
    match rules.dialect {
        Dialect::OpenShift | Dialect::ClusterApiV1Beta1 => judged_early(&mut found, target, machine, node),
        Dialect::ClusterApiV1Beta2 => {}
    }
    if !found.wrong.is_empty() {
        return found.verdict(|| nothing_wrong(target, machine));
    }
    if let Some(verdict) = not_judged_yet(cluster, target, machine, node) {
        return verdict;
    }
    found.conditions(
        (
            UnhealthyReason::UnhealthyMachine,
            &format!("Machine {}", target.name),
        ),
        &rules.machine_conditions,
        &machine.conditions,
        now,
    );
    match node {
        Known::Unset => found.startup(rules, target, Some(start(cluster, machine)), now),
        Known::Gone(name) => gone(&mut found, name),
        Known::Present(name, listed) => found.conditions(
            (UnhealthyReason::UnhealthyNode, &format!("Node {name}")),
            &rules.node_conditions,
            listed,
            now,
        ),
    }
    if rules.dialect == Dialect::ClusterApiV1Beta2 {
        merge(&mut found);
    }
    found.verdict(|| nothing_wrong(target, machine))
}

fn skip(machine: &MachineState) -> Option<Skip> {
    if machine.paused {
        Some(Skip::Paused)
    } else if machine.skip_remediation {
        Some(Skip::SkipRemediation)
    } else {
        None
    }
}

/// The Cluster, and the Node if it is looked for: before the control plane is initialized there is nothing to
/// ask.
fn surroundings<'a>(
    cluster: &'a Lookup<ClusterState>,
    target: &'a Target,
) -> Result<(&'a ClusterState, Known<'a>), Verdict> {
    let cluster = match cluster {
        Lookup::Present(cluster) => cluster,
        Lookup::Absent => return Err(unknown("the Cluster does not exist")),
        Lookup::Unreadable(detail) => return Err(unknown(detail)),
    };
    match cluster.control_plane {
        Readiness::No => Ok((cluster, Known::Unset)),
        Readiness::Yes { .. } => known(&target.node).map(|node| (cluster, node)),
    }
}

fn unknown(detail: &str) -> Verdict {
    Verdict::Unknown(Unknown::Cluster(detail.to_owned()))
}

fn asked_for(found: &mut Findings, target: &Target, machine: &MachineState) {
    if machine.remediate {
        let message = format!(
            "Machine {} carries cluster.x-k8s.io/remediate-machine",
            target.name
        );
        found.wrong(UnhealthyReason::RemediateAnnotation, message);
    }
}

/// What v1beta1 judges before it asks how far the Cluster is.
fn judged_early(found: &mut Findings, target: &Target, machine: &MachineState, node: Known<'_>) {
    let fields = [
        ("failureReason", &machine.failure_reason),
        ("failureMessage", &machine.failure_message),
    ];
    for (field, text) in fields {
        if let Some(text) = text {
            let message = format!("status.{field} of Machine {} is {text:?}", target.name);
            found.wrong(UnhealthyReason::MachineHasFailure, message);
        }
    }
    match node {
        Known::Gone(name) => gone(found, name),
        Known::Unset | Known::Present(..) => {}
    }
}

fn gone(found: &mut Findings, node: &str) {
    let message = format!("Node {node} does not exist any more");
    found.wrong(UnhealthyReason::NodeGone, message);
}

/// No Machine is to blame while its Cluster is not far enough; the first control-plane Machines have to be
/// judged, for without them it never will be.
fn not_judged_yet(
    cluster: &ClusterState,
    target: &Target,
    machine: &MachineState,
    node: Known<'_>,
) -> Option<Verdict> {
    let why = if cluster.control_plane == Readiness::No && !machine.control_plane {
        Wait::ControlPlaneNotInitialized
    } else if cluster.infrastructure == Readiness::No {
        let has_node = match node {
            Known::Present(..) => true,
            Known::Unset | Known::Gone(_) => false,
        };
        Wait::InfrastructureNotReady {
            counts_as_healthy: has_node && nothing_wrong(target, machine) == Verdict::Healthy,
        }
    } else {
        return None;
    };
    Some(Verdict::Waiting { why, until: None })
}

/// From when on a Machine should be getting a Node: the latest of four times.
fn start(cluster: &ClusterState, machine: &MachineState) -> Timestamp {
    [
        cluster.control_plane,
        cluster.infrastructure,
        machine.infrastructure,
    ]
    .into_iter()
    .filter_map(Readiness::since)
    .fold(machine.created, Timestamp::max)
}

/// v1beta2 tells everything that is wrong; what is wrong with the Machine itself comes first and names the
/// reason.
fn merge(found: &mut Findings) {
    let messages: Vec<&str> = found
        .wrong
        .iter()
        .map(|(_, message, _)| message.as_str())
        .collect();
    let all = messages.join("; ");
    if let Some((_, message, _)) = found.wrong.first_mut() {
        *message = all;
    }
}
