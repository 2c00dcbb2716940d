//! The status of a MachineHealthCheck of Cluster API, in the form of the version that the server has.
//! Sources: cluster-api `api/core/v1beta1/machinehealthcheck_types.go`,
//! `api/core/v1beta2/machinehealthcheck_types.go`, `util/paused/paused.go`.

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::REMEDIATION_ALLOWED;
use crate::api::views::MachineHealthCheck;
use crate::api::views::cluster_api::{Kind, Version};
use crate::controller::{Context, ShellError, within};
use crate::core::checker::pass::{Outcome, Status};
use crate::core::health::dialect::Dialect;

/// The condition of whatever can be paused.
const PAUSED: &str = "Paused";

/// Most Machines that `status.targets` may name; beyond that it names none, and the numbers tell.
const MOST_TARGETS: usize = 10_000;

/// Writes the status.
///
/// # Errors
/// A conflict when the check was written to since; and when the server refuses.
pub(super) async fn write(
    context: &Context,
    check: &MachineHealthCheck,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<(), ShellError> {
    let api = context.cluster_api.api(
        &context.client,
        Kind::MachineHealthCheck,
        check.namespace().as_deref(),
    );
    // The passes end with the API.
    let Some(checks) = api else { return Ok(()) };
    // Else its watch will soon be begun anew, which wakes the checker.
    if version_of(check) != Some(checks.version) {
        return Ok(());
    }
    let present = check
        .status
        .as_ref()
        .and_then(|status| status.cluster_api.as_ref());
    let present = present.unwrap_or(&Value::Null);
    let Some(status) = changed((checks.version, check.metadata.generation), present, outcome, now) else {
        return Ok(());
    };
    let change = json!({
        "metadata": {"uid": check.uid(), "resourceVersion": check.resource_version()}, "status": status,
    });
    let (name, parameters, patch) = (check.name_any(), PatchParams::default(), Patch::Merge(&change));
    within(
        "writing the status of a MachineHealthCheck",
        checks.api.patch_status(&name, &parameters, &patch),
    )
    .await?;
    Ok(())
}

/// The version in which a check was read: what stands in its status has the form of that one.
fn version_of(check: &MachineHealthCheck) -> Option<Version> {
    match check.spec.cluster_api.as_ref()?.dialect {
        Dialect::OpenShift => None,
        Dialect::ClusterApiV1Beta1 => Some(Version::V1Beta1),
        Dialect::ClusterApiV1Beta2 => Some(Version::V1Beta2),
    }
}

/// The part of the status that is to be written; `None` if it stands there already.
fn changed(
    (version, generation): (Version, Option<i64>),
    present: &Value,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<Value> {
    let mut status = Map::new();
    let mut conditions = Vec::new();
    if let Some(wanted) = &outcome.status {
        count(&mut status, wanted);
        if let Some(generation) = generation {
            status.insert("observedGeneration".to_owned(), generation.into());
        }
        conditions.push(Stated::allowed(wanted));
    }
    let written = match version {
        Version::V1Beta1 => {
            let listed = listed(field(present, "conditions"), &conditions, now, Stated::of_v1beta1);
            status.insert("conditions".to_owned(), listed);
            status
        }
        Version::V1Beta2 => {
            let before = field(field(field(present, "deprecated"), "v1beta1"), "conditions");
            let deprecated = listed(before, &conditions, now, Stated::of_v1beta1);
            status.insert(
                "deprecated".to_owned(),
                json!({"v1beta1": {"conditions": deprecated}}),
            );
            conditions.push(Stated::paused(outcome.paused));
            let form = |one: &Stated, since: &Value| one.of_v1beta2(since, generation);
            let listed = listed(field(present, "conditions"), &conditions, now, form);
            status.insert("conditions".to_owned(), listed);
            status
        }
    };
    let written = Value::Object(written);
    (!stands(&written, present)).then_some(written)
}

fn count(status: &mut Map<String, Value>, wanted: &Status) {
    let Some(counts) = wanted.counts else { return };
    for (field, number) in [
        ("expectedMachines", counts.expected),
        ("currentHealthy", counts.healthy),
        ("remediationsAllowed", counts.remediations),
    ] {
        // The field of the definition has 31 bits.
        let number = number.min(i32::MAX.unsigned_abs());
        status.insert(field.to_owned(), number.into());
    }
    let named = Some(&wanted.targets).filter(|targets| targets.len() <= MOST_TARGETS);
    status.insert("targets".to_owned(), json!(named.cloned().unwrap_or_default()));
}

/// A condition, before it has a version's form.
struct Stated {
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Stated {
    fn allowed(wanted: &Status) -> Self {
        let (status, reason, message) = match &wanted.allowed {
            Ok(()) => ("True", REMEDIATION_ALLOWED, String::new()),
            Err(denied) => ("False", denied.reason, denied.message.clone()),
        };
        Self {
            kind: REMEDIATION_ALLOWED,
            status,
            reason,
            message,
        }
    }

    fn paused(by: Option<&str>) -> Self {
        let (status, reason) = if by.is_some() {
            ("True", "Paused")
        } else {
            ("False", "NotPaused")
        };
        Self {
            kind: PAUSED,
            status,
            reason,
            message: by.unwrap_or_default().to_owned(),
        }
    }

    /// A condition of v1beta1 says why only where it is not True, and how bad that is.
    fn of_v1beta1(&self, since: &Value) -> Value {
        if self.status == "True" {
            return json!({"type": self.kind, "status": self.status, "lastTransitionTime": since});
        }
        json!({
            "type": self.kind, "status": self.status, "severity": "Warning", "lastTransitionTime": since,
            "reason": self.reason, "message": self.message,
        })
    }

    fn of_v1beta2(&self, since: &Value, generation: Option<i64>) -> Value {
        json!({
            "type": self.kind, "status": self.status, "lastTransitionTime": since,
            "reason": self.reason, "message": self.message, "observedGeneration": generation.unwrap_or_default(),
        })
    }
}

/// The conditions of others as they are, and ours in their places or behind them. One whose status stays keeps
/// its time.
fn listed(
    present: &Value,
    wanted: &[Stated],
    now: Timestamp,
    form: impl Fn(&Stated, &Value) -> Value,
) -> Value {
    let mut all = present.as_array().cloned().unwrap_or_default();
    for one in wanted {
        let place = all
            .iter()
            .position(|condition| *field(condition, "type") == one.kind);
        let before = place.and_then(|place| all.get(place));
        let since = before
            .filter(|before| *field(before, "status") == one.status)
            .map(|before| field(before, "lastTransitionTime").clone())
            .filter(Value::is_string);
        // The time of a condition has whole seconds.
        let seconds = || {
            Timestamp::from_second(now.as_second())
                .unwrap_or(now)
                .to_string()
                .into()
        };
        let condition = form(one, &since.unwrap_or_else(seconds));
        match place.and_then(|place| all.get_mut(place)) {
            Some(before) => *before = condition,
            None => all.push(condition),
        }
    }
    Value::Array(all)
}

/// A field of an object; null where there is none.
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

/// Whether everything that is to be written stands there already. What is empty may be left out.
fn stands(written: &Value, present: &Value) -> bool {
    match (written, present) {
        (Value::Object(written), present) => written
            .iter()
            .all(|(field, value)| stands(value, self::field(present, field))),
        (Value::Array(written), Value::Null) => written.is_empty(),
        (Value::Array(written), Value::Array(present)) => {
            written.len() == present.len()
                && written.iter().zip(present).all(|(one, other)| stands(one, other))
        }
        (Value::String(written), Value::Null) => written.is_empty(),
        (written, present) => written == present,
    }
}

#[cfg(test)]
mod tests;
