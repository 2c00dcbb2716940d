//! The order of checks of `machine.openshift.io/v1beta1`.
//! Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`,
//! `needsRemediation` and `healthCheckTargets`.

use jiff::Timestamp;

use super::judgement::{Findings, Known, known, nothing_wrong};
use super::rules::Rules;
use super::target::{MachineState, Target};
use super::verdict::{UnhealthyReason, Verdict};

/// Judges by phase, then Node, then conditions. Annotations of the Machine do not exempt it.
pub(super) fn judge(rules: &Rules, target: &Target, machine: &MachineState, now: Timestamp) -> Verdict {
    let node = match known(&target.node) {
        Ok(node) => node,
        Err(unknown) => return unknown,
    };
    let mut found = Findings::default();
    if machine.failed {
        let message = format!("Machine {} is in phase Failed", target.name);
        found.wrong(UnhealthyReason::PhaseFailed, message);
        return found.verdict(|| nothing_wrong(target, machine));
    }
    match node {
        // Counted from the last change of the status, so that a busy status goes on extending it.
        Known::Unset => found.startup(rules, target, machine.last_updated, now),
        Known::Gone(name) => {
            found.wrong(
                UnhealthyReason::NodeGone,
                format!("Node {name} does not exist any more"),
            );
        }
        Known::Present(name, listed) => {
            let object = format!("Node {name}");
            let kind = (UnhealthyReason::UnhealthyNode, object.as_str());
            found.conditions(kind, &rules.node_conditions, listed, now);
        }
    }
    found.verdict(|| nothing_wrong(target, machine))
}
