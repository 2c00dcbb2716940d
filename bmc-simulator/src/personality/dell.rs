//! iDRACs.

use std::time::Duration;

use super::family::{Family, all_but, root};
use crate::fault::{Fault, VendorError};
use crate::host::BootSequence;
use crate::redfish::{
    LastResetTime, LockoutBy, LockoutSpec, OemAction, RedfishSpec, ResetType, ServiceRootSpec, SessionsAt,
};

const PRODUCT: &str = "Integrated Dell Remote Access Controller";

/// What all of them do.
fn common(before: RedfishSpec) -> RedfishSpec {
    RedfishSpec {
        service_root: Some(root("Dell", PRODUCT, "Dell")),
        session_limit: 8,
        session_limit_error: Some(VendorError::Rac0218),
        session_timeout: Duration::from_mins(20),
        not_ready_error: Some(VendorError::Sys518),
        already_there_error: Some(VendorError::Psu501),
        lockout: LockoutSpec {
            threshold: 5,
            duration: Duration::from_mins(5),
            reset_after: Duration::from_mins(1),
            tries_prolong: false,
            by: LockoutBy::Address,
        },
        reset_types: all_but(&[ResetType::ForceOn]),
        oem_actions: vec![OemAction::DellFullPowerCycle],
        last_reset_time: LastResetTime::Zero,
        ..before
    }
}

fn idrac(model: &'static str, redfish: fn(RedfishSpec) -> RedfishSpec) -> Family {
    Family {
        system_id: "System.Embedded.1",
        redfish,
        faults: vec![Fault::AlreadyThere409.into()],
        bmc_boot: BootSequence {
            sporadic: Duration::from_mins(7),
            ..BootSequence::default()
        },
        ..Family::plain("Dell Inc.", model)
    }
}

pub(super) fn idrac8() -> Family {
    idrac("PowerEdge R730", |before| RedfishSpec {
        service_root: Some(ServiceRootSpec {
            product: Some(PRODUCT.to_owned()),
            redfish_version: Some("1.4.0".to_owned()),
            ..ServiceRootSpec::default()
        }),
        sessions_at: SessionsAt::Root,
        graceful_restart_forces: true,
        ..common(before)
    })
}

pub(super) fn idrac9() -> Family {
    idrac("PowerEdge R740", |before| RedfishSpec {
        reset_types: all_but(&[ResetType::ForceOn, ResetType::GracefulRestart]),
        ..common(before)
    })
}

pub(super) fn idrac10() -> Family {
    let within = Duration::from_mins(1);
    let mut family = idrac("PowerEdge R770", |before| RedfishSpec {
        reset_refuses_if_match: true,
        ..common(before)
    });
    family.faults.push(Fault::On409AfterOff { within }.into());
    family
}
