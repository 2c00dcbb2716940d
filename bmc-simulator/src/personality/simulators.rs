//! Other simulators.

use std::time::Duration;

use super::family::Family;
use crate::fault::Fault;
use crate::power::Delay;

pub(super) fn sushy() -> Family {
    let change = Delay::Uniform {
        from: Duration::from_secs(1),
        to: Duration::from_secs(11),
    };
    Family {
        faults: vec![
            Fault::NoSessionService.into(),
            Fault::Tls12Only.into(),
            Fault::LoseOnWhilePoweringOff.into(),
        ],
        off_and_on: Some((change, change)),
        ..Family::plain("Sushy Emulator", "fake")
    }
}

pub(super) fn mockup() -> Family {
    Family {
        faults: vec![Fault::AcceptAndIgnore.into()],
        ..Family::plain("Contoso", "3500")
    }
}
