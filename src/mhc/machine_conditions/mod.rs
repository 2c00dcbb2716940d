//! Has Machines of Cluster API say by their condition `HealthCheckSucceeded` whether they have passed their health
//! checks: in both forms, each where the version that the server has keeps it.
//! Sources: cluster-api `api/core/v1beta1/machine_types.go`, `api/core/v1beta2/machine_types.go`.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::Version;
use remediator_core::checker::machine_health::{HEALTH_CHECK_SUCCEEDED, MachineHealth};
use remediator_core::health::dialect::Dialect;
use serde_json::{Value, json};

use crate::api_call::ShellError;
use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::requeue::Retry;
use crate::mhc::state::{CheckKey, MhcController};
use crate::mhc::status::{ConditionText, field, listed, stands};
use crate::snapshot::machines::merge_status;

/// For how long one pass writes conditions: a Node that dies does not wait for thousands of them.
const TURN: Duration = Duration::from_secs(2);

/// Writes the conditions for as long as one turn takes: then others are looked at first.
pub(super) async fn write_all(
    context: &MhcController,
    key: &CheckKey,
    (snapshot, unsaid): (&NamespaceSnapshot, &[MachineHealth]),
    now: Timestamp,
    retry: &mut Retry,
) {
    let begun = Instant::now();
    let (mut failed, mut tried) = (None, None);
    let before = context.checker.written_up_to(key, None);
    for said in going_on(unsaid, before.as_deref()) {
        if !context.checker.is_alone(key.api) {
            break;
        }
        if begun.elapsed() >= TURN {
            retry.go_on();
            context.checker.written_up_to(key, tried);
            break;
        }
        tried = Some(said.machine.clone());
        let Some(machine) = snapshot.machine(&said.machine) else {
            continue;
        };
        if let Err(error) = write(context, machine, said, now).await {
            let overtaken = error.is_overtaken();
            retry.failed(overtaken);
            failed = failed.or((!overtaken).then_some((machine, error)));
        }
    }
    if let Some((machine, error)) = failed {
        let (machine, error) = (machine.name_any(), crate::report::chain(&error));
        tracing::warn!(check = %key, %machine, %error, "conditions of Machines were not written; it is tried again");
    }
}

/// What is unsaid, beginning after the Machine at which the turn before was over: those whose writes are refused are
/// unsaid again, and must not be the only ones that have their turn.
fn going_on<'a>(
    unsaid: &'a [MachineHealth],
    before: Option<&str>,
) -> impl Iterator<Item = &'a MachineHealth> {
    let at = before.and_then(|before| unsaid.iter().position(|said| said.machine == before));
    let (done, next) = unsaid.split_at(at.map_or(0, |at| at.saturating_add(1)));
    next.iter().chain(done)
}

/// Whether a Machine says so already. One that cannot be read, or is of another API, is not written to.
pub(super) fn says(machine: Option<&Machine>, said: &MachineHealth, dialect: Dialect) -> bool {
    let Some(machine) = machine.and_then(|machine| machine.spec.cluster_api.as_ref()) else {
        return true;
    };
    let Some(present) = &machine.health_check else {
        return false;
    };
    let (status, reason, message) = said.condition(dialect);
    let is_why = said.failure.is_none() || (present.reason == reason && present.message == message);
    present.status == status && is_why
}

/// Writes it on a Machine as it is now, and not on another of its name.
async fn write(
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
    let (status, reason, message) = said.condition(dialect);
    ConditionText {
        kind: HEALTH_CHECK_SUCCEEDED,
        status,
        reason,
        message: message.to_owned(),
    }
}
