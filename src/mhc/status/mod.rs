//! Writes the status of a MachineHealthCheck, when it says something else than the one that stands, in the form of
//! the version that the server has. That of a check that cannot be read says which field it is.
//! Sources: openshift/api `machine/v1beta1/types_machinehealthcheck.go`; cluster-api
//! `api/core/v1beta1/machinehealthcheck_types.go`, `api/core/v1beta1/condition_types.go`, whose form is also that of
//! openshift/api, `api/core/v1beta2/machinehealthcheck_types.go`, `util/paused/paused.go`.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use kube::Resource as _;
use kube::api::{Api, Patch, PatchParams};
use remediator_api::guarded::Guarded;
use remediator_api::views::MachineHealthCheck;
use remediator_api::views::cluster_api::Version;
use remediator_core::checker::pass::{Outcome, Status};
use remediator_core::health::dialect::Dialect;
use remediator_core::machine_api::MachineApi;
use serde_json::{Map, Value, json};

use crate::api_call::{ShellError, within};
use crate::mhc::state::MhcController;

const REMEDIATION_ALLOWED: &str = "RemediationAllowed";

/// Most Machines that `status.targets` may name; beyond that it names none, and the numbers tell.
const MOST_TARGETS: usize = 10_000;

/// What is awaited, for the error that says that it took too long.
const WRITING: &str = "writing the status of a MachineHealthCheck";

/// Writes what a pass came to by a patch that only fits the check as it was read.
pub(super) async fn write(
    context: &MhcController,
    api: MachineApi,
    check: &Guarded<MachineHealthCheck>,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<(), ShellError> {
    let (client, metadata) = (&context.sources.client, check.meta());
    let (Some(name), Some(namespace), Some(uid)) = (&metadata.name, &metadata.namespace, &metadata.uid)
    else {
        return Ok(());
    };
    let patch = |dialect| {
        let status = changed((dialect, metadata.generation), &present(check)?, outcome, now)?;
        Some(Patch::Merge(json!({
            "metadata": {"uid": uid, "resourceVersion": metadata.resource_version}, "status": status,
        })))
    };
    let parameters = PatchParams::default();
    match api {
        MachineApi::OpenShift => {
            let checks = Api::<Guarded<MachineHealthCheck>>::namespaced(client.clone(), namespace);
            if let Some(patch) = patch(Dialect::OpenShift) {
                within(WRITING, checks.patch_status(name, &parameters, &patch)).await?;
            }
        }
        MachineApi::ClusterApi => {
            let served = &context.sources.cluster_api;
            // The passes end with the API. After a change of the version its watch begins anew, which enqueues the
            // checks.
            let Some(checks) = served.api::<MachineHealthCheck>(client, Some(namespace)) else {
                return Ok(());
            };
            if let Some(patch) = dialect_as_read(check, checks.version).and_then(patch) {
                within(WRITING, checks.api.patch_status(name, &parameters, &patch)).await?;
            }
        }
    }
    Ok(())
}

/// The status that stands; none of a check that cannot be read and is not for us, as far as that can be read.
fn present(check: &Guarded<MachineHealthCheck>) -> Option<Value> {
    let check = match &check.0 {
        Ok(check) => check,
        Err(unreadable) => {
            let is_ours = unreadable.asks_for_power_cycles();
            return is_ours.then(|| field(&unreadable.object, "status").clone());
        }
    };
    let status = check.status.clone().unwrap_or_default();
    Some(match check.spec.cluster_api {
        Some(_) => status.cluster_api.unwrap_or_default(),
        None => serde_json::to_value(status).unwrap_or_default(),
    })
}

/// The dialect of this version, if a check was read in it: what stands in its status has the form of that one.
fn dialect_as_read(check: &Guarded<MachineHealthCheck>, version: Version) -> Option<Dialect> {
    let dialect = match version {
        Version::V1Beta1 => Dialect::ClusterApiV1Beta1,
        Version::V1Beta2 => Dialect::ClusterApiV1Beta2,
    };
    let is_so = match &check.0 {
        Ok(check) => check.spec.cluster_api.as_ref()?.dialect == dialect,
        Err(unreadable) => *field(&unreadable.object, "apiVersion") == version.group_version(),
    };
    is_so.then_some(dialect)
}

/// The part of the status that is to be written; `None` if it stands there already.
fn changed(
    (dialect, generation): (Dialect, Option<i64>),
    present: &Value,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<Value> {
    let mut status = Map::new();
    let mut conditions = Vec::new();
    if let Some(wanted) = &outcome.status {
        count(&mut status, dialect, wanted);
        if let Some(generation) = generation.filter(|_| dialect.is_cluster_api()) {
            status.insert("observedGeneration".to_owned(), generation.into());
        }
        conditions.push(ConditionText::allowed(wanted));
    }
    let before = field(present, "conditions");
    let conditions = match dialect {
        // The conditions of OpenShift have the form of Cluster API's older version.
        Dialect::OpenShift | Dialect::ClusterApiV1Beta1 => {
            listed(before, &conditions, now, ConditionText::of_v1beta1)
        }
        Dialect::ClusterApiV1Beta2 => {
            let older = field(field(field(present, "deprecated"), "v1beta1"), "conditions");
            let older = listed(older, &conditions, now, ConditionText::of_v1beta1);
            status.insert("deprecated".to_owned(), json!({"v1beta1": {"conditions": older}}));
            conditions.push(ConditionText::paused(outcome.paused));
            let form = |one: &ConditionText, since: &Value| one.of_v1beta2(since, generation);
            listed(before, &conditions, now, form)
        }
    };
    status.insert("conditions".to_owned(), conditions);
    let status = Value::Object(status);
    (!stands(&status, present)).then_some(status)
}

fn count(status: &mut Map<String, Value>, dialect: Dialect, wanted: &Status) {
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
    if dialect.is_cluster_api() {
        let named = Some(&wanted.targets).filter(|targets| targets.len() <= MOST_TARGETS);
        status.insert("targets".to_owned(), json!(named.cloned().unwrap_or_default()));
    }
}

pub(super) struct ConditionText {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl ConditionText {
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
        let is_paused = by.is_some();
        Self {
            kind: "Paused",
            status: if is_paused { "True" } else { "False" },
            reason: if is_paused { "Paused" } else { "NotPaused" },
            message: by.unwrap_or_default().to_owned(),
        }
    }

    /// A condition of v1beta1 says why only where it is not True, and how bad that is.
    pub(super) fn of_v1beta1(&self, since: &Value) -> Value {
        if self.status == "True" {
            return json!({"type": self.kind, "status": self.status, "lastTransitionTime": since});
        }
        json!({
            "type": self.kind, "status": self.status, "severity": "Warning", "lastTransitionTime": since,
            "reason": self.reason, "message": self.message,
        })
    }

    pub(super) fn of_v1beta2(&self, since: &Value, generation: Option<i64>) -> Value {
        json!({
            "type": self.kind, "status": self.status, "lastTransitionTime": since,
            "reason": self.reason, "message": self.message, "observedGeneration": generation.unwrap_or_default(),
        })
    }
}

/// The conditions of others as they are, and ours in their places or behind them. One whose status stays keeps its time.
pub(super) fn listed(
    present: &Value,
    wanted: &[ConditionText],
    now: Timestamp,
    form: impl Fn(&ConditionText, &Value) -> Value,
) -> Value {
    let mut all = present.as_array().cloned().unwrap_or_default();
    for one in wanted {
        let before = all
            .iter_mut()
            .find(|condition| *field(condition, "type") == one.kind);
        let same = before
            .as_deref()
            .filter(|before| *field(before, "status") == one.status);
        let since = same.map(|before| field(before, "lastTransitionTime").clone());
        // The time of a condition has whole seconds.
        let seconds = || now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
        let condition = form(one, &since.filter(Value::is_string).unwrap_or_else(seconds));
        match before {
            Some(before) => *before = condition,
            None => all.push(condition),
        }
    }
    Value::Array(all)
}

/// A field of an object; null where there is none.
pub(super) fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

/// Whether everything that is to be written stands there already. What is empty may be left out.
pub(super) fn stands(written: &Value, present: &Value) -> bool {
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
