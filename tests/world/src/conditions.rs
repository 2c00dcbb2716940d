//! Waits for what an object says of itself in the conditions of its status, whether or not the rest of it can be
//! read.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use harness::await_condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, DynamicObject};
use remediator_api::PowerCycleRemediation;
use serde_json::Value;

/// Waits until the condition of a type is as wanted.
pub async fn until(
    api: Api<DynamicObject>,
    name: &str,
    kind: &str,
    within: Duration,
    wanted: impl Fn(&Condition) -> bool,
) -> Result<Condition> {
    settled(api, name, kind, within, |_, condition| wanted(condition)).await
}

/// The same of what is said of the object in its present form.
pub async fn until_current(
    api: Api<DynamicObject>,
    name: &str,
    kind: &str,
    within: Duration,
    wanted: impl Fn(&Condition) -> bool,
) -> Result<Condition> {
    settled(api, name, kind, within, |object, condition| {
        let generation = object.metadata.generation;
        generation.is_some() && condition.observed_generation == generation && wanted(condition)
    })
    .await
}

async fn settled(
    api: Api<DynamicObject>,
    name: &str,
    kind: &str,
    within: Duration,
    wanted: impl Fn(&DynamicObject, &Condition) -> bool,
) -> Result<Condition> {
    let find = |object: Option<&DynamicObject>| {
        let object = object?;
        let all = standing(object)?.as_array()?.iter().cloned();
        let mut read = all.filter_map(|one| serde_json::from_value::<Condition>(one).ok());
        read.find(|one| one.type_ == kind && wanted(object, one))
    };
    let is = |object: Option<&DynamicObject>| find(object).is_some();
    let wait = await_condition(api.clone(), name, is);
    let Ok(found) = tokio::time::timeout(within, wait).await else {
        let present = api.get_opt(name).await?;
        let stands = present.as_ref().and_then(standing).map(Value::to_string);
        bail!("{kind} of {name} is not as wanted after {within:?}; its conditions are {stands:?}");
    };
    find(found?.as_ref()).with_context(|| format!("{name} has no condition {kind} any more"))
}

/// What a remediation says of itself by now: status and reason of its condition of a type.
pub fn of(remediation: &PowerCycleRemediation, kind: &str) -> Option<(String, String)> {
    let conditions = &remediation.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((found.status.clone(), found.reason.clone()))
}

fn standing(object: &DynamicObject) -> Option<&Value> {
    object.data.pointer("/status/conditions")
}
