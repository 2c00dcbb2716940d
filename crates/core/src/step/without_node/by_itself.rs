//! What a Machine without a Node says against a power cycle by itself.

use crate::facts::{Machine, Obstacle};
use crate::phase::Reason;

/// Phases of a Machine whose host has been provisioned; in any other, or none, it may be on its way.
/// Sources: machine-api-operator `pkg/controller/machine/controller.go`; cluster-api
/// `internal/controllers/machine/machine_controller_phases.go`.
const PROVISIONED: [&str; 2] = ["Provisioned", "Running"];

/// What about it forbids to act: nothing says that its host has been provisioned, or it is of the control plane.
pub(super) fn obstacle(machine: &Machine) -> Option<Obstacle> {
    provisioning(machine).or_else(|| of_control_plane(machine))
}

/// What keeps a host from being power-cycled that may be being provisioned.
fn provisioning(machine: &Machine) -> Option<Obstacle> {
    let phase = machine.phase.as_deref();
    let detail = match phase {
        Some(phase) if PROVISIONED.contains(&phase) => return None,
        Some(phase) => format!("Machine {} is in phase {phase}", machine.name),
        None => format!("Machine {} has no status.phase", machine.name),
    };
    Some(Obstacle::new(Reason::MachineNotProvisioned, detail))
}

/// A Machine of the control plane that does not say so itself: there is no Node whose role would, but its owner
/// may (`ControlPlaneMachineSet`, `KubeadmControlPlane`, and what other providers call theirs).
fn of_control_plane(machine: &Machine) -> Option<Obstacle> {
    let owner = machine.controller_owner.as_ref()?;
    let kind = owner.split('/').next().unwrap_or_default();
    let detail = format!(
        "Machine {} is owned by {owner}, and quorum is not judged yet",
        machine.name
    );
    let refused = Obstacle::new(Reason::ControlPlaneRefused, detail);
    kind.contains("ControlPlane").then_some(refused)
}
