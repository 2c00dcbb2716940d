//! Actions of vendors that take the mains from a machine: what its standard reset cannot.

mod advertise;
mod bios;

pub(super) use advertise::{in_chassis, in_system};
pub(super) use bios::{bios, plan as plan_bios, settings};

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::Base;
use super::{Call, body, reply, reset};
use crate::host::Acting;
use crate::journal::Via;
use crate::per_machine::Slot;
use crate::power::{Command, Outcome};

/// A vendor's way to take the mains from a machine and its BMC and give them back. The machine then does as
/// its power restore policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OemAction {
    /// HPE: `Systems/{id}/Actions/Oem/Hpe/HpeComputerSystemExt.SystemReset` with `AuxCycle`, or with
    /// `ColdBoot`, which is a power cycle (NVIDIA/libredfish `hpe.rs` and `tests/mockups/hpe`).
    HpeSystemReset,
    /// Supermicro: `Systems/{id}/Actions/Oem/OemSystemExtensions.Reset` with `ACCycle` (NVIDIA/libredfish
    /// `supermicro.rs`).
    SupermicroReset,
    /// Lenovo: `Systems/{id}/Actions/Oem/LenovoComputerSystem.SystemReset` with `ACPowerCycle`
    /// (NVIDIA/libredfish `lenovo.rs`).
    LenovoSystemReset,
    /// NVIDIA: `Chassis/{id}/Actions/Oem/NvidiaChassis.AuxPowerReset` with `AuxPowerCycle`
    /// (NVIDIA/libredfish `nvidia_gbx00.rs`).
    NvidiaAuxPowerReset,
    /// Dell: the attribute `PowerCycleRequest` in `Systems/{id}/Bios/Settings` set to `FullPowerCycle`, and
    /// then any reset: the mains go when the machine begins to boot (NVIDIA/libredfish `dell.rs`).
    DellFullPowerCycle,
}

/// What such an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    PowerCycle,
    AcCycle,
}

impl OemAction {
    /// Reads what is behind `Systems/{id}/Actions/Oem/`.
    pub(super) fn of_system(segments: &[&str]) -> Option<Self> {
        match segments {
            ["Hpe", "HpeComputerSystemExt.SystemReset"] => Some(Self::HpeSystemReset),
            ["OemSystemExtensions.Reset"] => Some(Self::SupermicroReset),
            ["LenovoComputerSystem.SystemReset"] => Some(Self::LenovoSystemReset),
            _ => None,
        }
    }

    /// Reads what is behind `Chassis/{id}/Actions/Oem/`.
    pub(super) fn of_chassis(segments: &[&str]) -> Option<Self> {
        match segments {
            ["NvidiaChassis.AuxPowerReset"] => Some(Self::NvidiaAuxPowerReset),
            _ => None,
        }
    }

    /// Name of the action, as the object that advertises it has it.
    fn name(self) -> &'static str {
        match self {
            Self::HpeSystemReset => "HpeComputerSystemExt.SystemReset",
            Self::SupermicroReset => "OemSystemExtensions.Reset",
            Self::LenovoSystemReset => "LenovoComputerSystem.SystemReset",
            Self::NvidiaAuxPowerReset => "NvidiaChassis.AuxPowerReset",
            Self::DellFullPowerCycle => "PowerCycleRequest",
        }
    }

    /// Values of its parameter `ResetType`.
    fn values(self) -> &'static [(&'static str, Effect)] {
        match self {
            Self::HpeSystemReset => &[("ColdBoot", Effect::PowerCycle), ("AuxCycle", Effect::AcCycle)],
            Self::SupermicroReset => &[("ACCycle", Effect::AcCycle)],
            Self::LenovoSystemReset => &[("ACPowerCycle", Effect::AcCycle)],
            Self::NvidiaAuxPowerReset => &[("AuxPowerCycle", Effect::AcCycle)],
            Self::DellFullPowerCycle => &[],
        }
    }
}

/// Whether a BMC has this action.
pub(super) fn has(acting: &Acting<'_>, action: OemAction) -> bool {
    acting.state.redfish.spec.oem_actions.contains(&action)
}

/// The machine that an action with this id in its path is about.
fn target(acting: &Acting<'_>, action: OemAction, id: &str) -> Option<Slot> {
    let identities = &acting.core.identities;
    match action {
        OemAction::HpeSystemReset
        | OemAction::SupermicroReset
        | OemAction::LenovoSystemReset
        | OemAction::DellFullPowerCycle => identities.find(id),
        OemAction::NvidiaAuxPowerReset => identities.enclosures.find(id).map(|_| Slot::FIRST),
    }
    .filter(|_| has(acting, action))
}

/// POST of such an action.
pub(super) async fn post(
    call: &Call<'_>,
    (action, id): (OemAction, &str),
    via: &Via,
    body: Body,
) -> Response<Body> {
    if call.core.act(|acting| target(acting, action, id)).is_none() {
        return reply::not_found(call.path());
    }
    let object = match body::json_object(&call.parts.headers, body).await {
        Ok(object) => object,
        Err(refusal) => return *refusal,
    };
    let wanted = object.get("ResetType").and_then(Value::as_str);
    let effect = action.values().iter().find(|(value, _)| Some(*value) == wanted);
    let Some((_, effect)) = effect else {
        let message = Base::ActionParameterNotSupported.message(&["ResetType", action.name()]);
        return reply::error(StatusCode::BAD_REQUEST, message.about("ResetType"));
    };
    call.core.act(|acting| match target(acting, action, id) {
        Some(slot) => execute(call, acting, (slot, *effect), via),
        None => reply::not_found(call.path()),
    })
}

fn execute(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    (slot, effect): (Slot, Effect),
    via: &Via,
) -> Response<Body> {
    let outcome = match effect {
        Effect::PowerCycle => {
            let now = acting.now;
            acting.power_mut(slot).command(Command::PowerCycle, now)
        }
        Effect::AcCycle => {
            acting.begin_ac_cycle();
            Outcome::Started
        }
    };
    let system = acting.core.identities.real(slot).id.clone();
    let about = (system.as_str(), Command::PowerCycle, outcome);
    let mut response = reply::no_content();
    reset::log_accepted(call, acting, about, via, &mut response);
    response
}
