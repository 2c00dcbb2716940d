//! Conditions of our own objects: written where they say something new, and none twice because the cache has not
//! seen it yet.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use kube::api::{Api, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::api_call::{ShellError, within};
use crate::clock::Clock;
use crate::report::conditions;
use crate::report::conditions::Statement;

/// Writes conditions. By the UID of the object it knows its resourceVersion after the write, and what was written.
#[derive(Debug)]
pub(crate) struct ConditionWriter {
    clock: Clock,
    by_uid: Mutex<BTreeMap<String, (u64, Vec<Condition>)>>,
}

impl ConditionWriter {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            by_uid: Mutex::default(),
        }
    }

    /// Notes what an object says since a write.
    pub(crate) fn note(&self, written: &ObjectMeta, conditions: Vec<Condition>) {
        let mut by_uid = self.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(uid), Some(version)) = (&written.uid, version(written)) {
            by_uid.insert(uid.clone(), (version, conditions));
        }
    }

    /// What an object says: what was written if the cached object is older, else what the cache says.
    pub(crate) fn newest(&self, cached: &ObjectMeta, present: &[Condition]) -> Vec<Condition> {
        let mut by_uid = self.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        let uid = cached.uid.as_deref().unwrap_or_default();
        if let Some((written, conditions)) = by_uid.get(uid)
            && version(cached).is_some_and(|cached| cached < *written)
        {
            return conditions.clone();
        }
        by_uid.remove(uid);
        present.to_vec()
    }

    /// Writes the conditions of an object when they say something new; answers whether they do. An object that is gone
    /// has none.
    pub(crate) async fn write<K>(
        &self,
        api: &Api<K>,
        object: &ObjectMeta,
        present: &[Condition],
        statements: &[Statement],
    ) -> Result<bool, ShellError>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        self.write_with(api, object, (present, None), statements).await
    }

    /// The same with what else is to be said in the status.
    pub(crate) async fn write_with<K>(
        &self,
        api: &Api<K>,
        object: &ObjectMeta,
        (present, more): (&[Condition], Option<Map<String, Value>>),
        statements: &[Statement],
    ) -> Result<bool, ShellError>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let present = self.newest(object, present);
        let stated = conditions::state(statements, &present, self.clock.now());
        if stated.is_none() && more.is_none() {
            return Ok(false);
        }
        let says_new = stated.is_some();
        let conditions = stated.unwrap_or(present);
        let mut status = more.unwrap_or_default();
        status.insert("observedGeneration".to_owned(), json!(object.generation));
        status.insert("conditions".to_owned(), json!(conditions));
        let change = json!({ "status": status });
        let (name, parameters) = (object.name.clone().unwrap_or_default(), PatchParams::default());
        let patch = Patch::Merge(&change);
        let patched = api.patch_status(&name, &parameters, &patch);
        match within("writing a condition", patched).await {
            Ok(written) => {
                self.note(written.meta(), conditions);
                Ok(says_new)
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// resourceVersions of one kind are ordered (Kubernetes KEP-5504).
fn version(object: &ObjectMeta) -> Option<u64> {
    object.resource_version.as_ref()?.parse().ok()
}
