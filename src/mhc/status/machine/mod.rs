//! The condition `HealthCheckSucceeded` of Machines of Cluster API, in both forms, each where the version that the
//! server has keeps it. Sources: cluster-api `api/core/v1beta1/machine_types.go`, `api/core/v1beta2/machine_types.go`.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::Version;
use remediator_core::checker::succeeded::{HEALTH_CHECK_SUCCEEDED, MachineHealth};
use remediator_core::health::dialect::Dialect;
use serde_json::{Value, json};

use crate::api_call::ShellError;
use crate::mhc::state::MhcController;
use crate::mhc::status::conditions::{ConditionText, field, listed, stands};
use crate::snapshot::machines::merge_status;

/// For how long one pass writes conditions. Where thousands are owed, as when the daemon becomes active, a Node
/// that dies meanwhile does not wait for them.
const TURN: Duration = Duration::from_secs(2);

/// Until when a pass writes conditions.
pub(crate) struct Turn(Instant);

impl Turn {
    pub(crate) fn begin() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.elapsed() >= TURN
    }
}

/// Whether a Machine says so already. One that cannot be read, or is of another API, is not written to.
pub(crate) fn says(machine: Option<&Machine>, said: &MachineHealth, dialect: Dialect) -> bool {
    let Some(machine) = machine.and_then(|machine| machine.spec.cluster_api.as_ref()) else {
        return true;
    };
    let Some(present) = &machine.health_check else {
        return false;
    };
    let is_why = said.failure.is_none()
        || (present.reason == said.reason(dialect) && present.message == said.message());
    present.status == said.status() && is_why
}

/// Writes it on a Machine as it is now, and not on another of its name.
///
/// # Errors
/// A conflict when it is another, or is written to meanwhile; and when the server refuses.
pub(crate) async fn write(
    context: &MhcController,
    machine: &Machine,
    said: &MachineHealth,
    now: Timestamp,
) -> Result<(), ShellError> {
    merge_status(&context.sources, machine, |version, live| {
        let present = field(&live.data, "status");
        changed((version, live.metadata.generation), present, said, now)
    })
    .await
}

/// The part of the status that is to be written; `None` if it stands there already.
fn changed(
    (version, generation): (Version, Option<i64>),
    present: &Value,
    said: &MachineHealth,
    now: Timestamp,
) -> Option<Value> {
    let older = |present: &Value| {
        let stated = stated(said, Dialect::ClusterApiV1Beta1);
        listed(present, &[stated], now, ConditionText::of_v1beta1)
    };
    let newer = |present: &Value| {
        let form = |one: &ConditionText, since: &Value| one.of_v1beta2(since, generation);
        let stated = stated(said, Dialect::ClusterApiV1Beta2);
        listed(present, &[stated], now, form)
    };
    let conditions = field(present, "conditions");
    let status = match version {
        Version::V1Beta1 => {
            let beside = field(field(present, "v1beta2"), "conditions");
            json!({"conditions": older(conditions), "v1beta2": {"conditions": newer(beside)}})
        }
        Version::V1Beta2 => {
            let beside = field(field(field(present, "deprecated"), "v1beta1"), "conditions");
            json!({"conditions": newer(conditions), "deprecated": {"v1beta1": {"conditions": older(beside)}}})
        }
    };
    (!stands(&status, present)).then_some(status)
}

fn stated(said: &MachineHealth, dialect: Dialect) -> ConditionText {
    ConditionText {
        kind: HEALTH_CHECK_SUCCEEDED,
        status: said.status(),
        reason: said.reason(dialect),
        message: said.message().to_owned(),
    }
}

#[cfg(test)]
mod tests;
