//! What about a Machine itself forbids to power-cycle its host.

use super::{Candidate, Ineligible, Rule};
use crate::facts::{Lookup, Machine};
use crate::phase::Reason;

/// Phases of a Machine whose host has been provisioned; in any other, or none, it may be on its way.
/// Sources: machine-api-operator `pkg/controller/machine/controller.go`; cluster-api
/// `internal/controllers/machine/machine_controller_phases.go`.
const PROVISIONED: [&str; 2] = ["Provisioned", "Running"];

/// The Machine that is meant; none where the request names a Node and that Node has none.
pub(super) fn meant<'a>(candidate: &Candidate<'a>) -> Result<Option<&'a Machine>, Ineligible> {
    let (uid, node) = (candidate.machine_uid, candidate.named_node);
    match (&candidate.machine, uid) {
        (Lookup::Present(machine), Some(uid)) if uid != machine.uid => {
            let detail = format!("Machine {} has UID {} now", machine.name, machine.uid);
            Err(Rule::SameMachine.because(Reason::MachineReplaced, detail))
        }
        (Lookup::Present(machine), _) => Ok(Some(machine)),
        (Lookup::Absent, None) if node.is_some() => Ok(None),
        (Lookup::Absent, uid) => {
            let rule = uid.map_or(Rule::MachineKnown, |_| Rule::SameMachine);
            Err(rule.because(Reason::MachineNotFound, "the Machine does not exist"))
        }
        (Lookup::Unreadable(detail), _) => {
            Err(Rule::MachineKnown.because(Reason::MachineUnreadable, detail.clone()))
        }
    }
}

/// Everything that a Machine says against it, whatever becomes of its Node. machine-api-operator marks Machines in
/// deletion, and cluster-api-provider-baremetal answers the same trigger; for a Failed one it asks nobody.
/// Sources: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`;
/// cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`.
pub(super) fn obstacles(machine: &Machine) -> impl Iterator<Item = Ineligible> {
    let name = &machine.name;
    let deleting = machine.state.deleting.then(|| {
        let detail = format!("Machine {name} is being deleted");
        Rule::MachineStays.because(Reason::MachineDeleting, detail)
    });
    let failed = machine.state.failed.then(|| {
        let detail = format!("Machine {name} is in phase Failed");
        Rule::MachineIsOurs.because(Reason::MachineFailed, detail)
    });
    let elsewhere = machine.authoritative_elsewhere.as_ref().map(|api| {
        let detail = format!("status.authoritativeAPI of Machine {name} is {api}");
        Rule::MachineIsOurs.because(Reason::MachineNotAuthoritative, detail)
    });
    let foreign = machine.foreign_mark.as_ref().map(|mark| {
        let detail = format!("Machine {name} carries {mark}");
        Rule::MachineIsOurs.because(Reason::AnotherRemediatorActive, detail)
    });
    let paused = machine.pause.as_ref().map(|pause| {
        let detail = format!("Machine {name} {pause}");
        Rule::NotPaused.because(Reason::MachinePaused, detail)
    });
    [deleting, failed, elsewhere, foreign, paused]
        .into_iter()
        .flatten()
}

/// A Machine of the control plane that does not say so itself: there is no Node whose role would, but its owner
/// may (`ControlPlaneMachineSet`, `KubeadmControlPlane`, and what other providers call theirs).
pub(super) fn owned_by_control_plane(machine: &Machine) -> Option<Ineligible> {
    let owner = machine.controller_owner.as_ref()?;
    let kind = owner.split('/').next().unwrap_or_default();
    kind.contains("ControlPlane").then(|| {
        let detail = format!("Machine {} is owned by {owner}, and it has no Node", machine.name);
        Rule::ControlPlane.because(Reason::ControlPlaneRefused, detail)
    })
}

/// What keeps a host from being power-cycled that may be being provisioned.
pub(super) fn not_provisioned(machine: &Machine) -> Option<Ineligible> {
    let detail = match machine.phase.as_deref() {
        Some(phase) if PROVISIONED.contains(&phase) => return None,
        Some(phase) => format!("Machine {} is in phase {phase}", machine.name),
        None => format!("Machine {} has no status.phase", machine.name),
    };
    Some(Rule::Provisioned.because(Reason::MachineNotProvisioned, detail))
}

/// Who else answers the trigger annotation of a Machine: two actors on one trigger fight.
/// Source: cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`.
pub(super) fn trigger_of_another(machine: &Machine) -> Option<Ineligible> {
    let other = machine.trigger_answered_by.as_ref()?;
    let detail = format!(
        "{other} answers the trigger annotation of Machine {} by itself, because spec.providerSpec.value of that is \
         its own",
        machine.name
    );
    Some(Rule::TriggerIsOurs.because(Reason::TriggerAnsweredElsewhere, detail))
}
