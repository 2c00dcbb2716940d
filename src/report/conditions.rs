//! Conditions of a remediation, computed from its journal.
//!
//! `Processing` and `Succeeded` follow the contract of medik8s remediators, so that a
//! NodeHealthCheck understands us. Source: medik8s/common `pkg/conditions`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::core::journal::Journal;
use crate::core::phase::Phase;

/// Whether we are working on it.
pub const PROCESSING: &str = "Processing";
/// Whether the Node came back from a proven reboot.
pub const SUCCEEDED: &str = "Succeeded";
/// Whether the host is, or in the course of this remediation was, proven off.
pub const POWER_OFF_PROVEN: &str = "PowerOffProven";
/// Whether the workloads of the Node were released.
pub const WORKLOADS_RELEASED: &str = "WorkloadsReleased";

/// The conditions that a journal amounts to. A condition whose status stays keeps its transition time.
pub fn of(
    journal: &Journal,
    earlier: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let released = journal.release.as_ref();
    let withdrawn = released.is_some_and(|release| release.withdrawn.is_some());
    let finished = released.is_some_and(|release| release.finished.is_some());
    let statuses = [
        (
            PROCESSING,
            if journal.phase.is_final() { "False" } else { "True" },
        ),
        (SUCCEEDED, succeeded(journal.phase)),
        (
            POWER_OFF_PROVEN,
            if journal.evidence.is_some() && !withdrawn {
                "True"
            } else {
                "False"
            },
        ),
        (
            WORKLOADS_RELEASED,
            if finished && !withdrawn { "True" } else { "False" },
        ),
    ];
    let make = |(kind, status): (&str, &str)| {
        let kept = earlier
            .iter()
            .find(|condition| condition.type_ == kind && condition.status == status);
        Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: if journal.reason.is_empty() {
                "Accepted".to_owned()
            } else {
                journal.reason.clone()
            },
            message: journal.message.clone(),
            last_transition_time: kept.map_or(Time(now), |condition| condition.last_transition_time.clone()),
            observed_generation: generation,
        }
    };
    statuses.into_iter().map(make).collect()
}

fn succeeded(phase: Phase) -> &'static str {
    match phase {
        Phase::Succeeded => "True",
        Phase::Failed | Phase::Cancelled => "False",
        Phase::Pending
        | Phase::Holding
        | Phase::PoweringOff
        | Phase::Fencing
        | Phase::PoweringOn
        | Phase::Booting => "Unknown",
    }
}
