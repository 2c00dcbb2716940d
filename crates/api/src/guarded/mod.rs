//! Objects as the API server has them: one that cannot be read keeps its metadata and says which field is wrong, and
//! does not keep others from being seen.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::keys;

/// An object, or what is wrong with it.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, Unreadable>);

/// An object that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable {
    /// The field and what is wrong with it.
    pub error: String,
    /// Its metadata, as far as that can be read.
    pub metadata: ObjectMeta,
    /// Its conditions, as far as they can be read. Ours among them say why it cannot be.
    pub conditions: Vec<Condition>,
    /// Of a health check with the strategy: the object as it stands there, for we may have to write its status.
    pub object: Value,
}

impl Unreadable {
    /// Of an object as the API server sent it, without its metadata.
    pub fn new(error: String, metadata: ObjectMeta, object: &Value) -> Self {
        let conditions = object.pointer("/status/conditions");
        let conditions = conditions.map(Vec::<Condition>::deserialize);
        let kept = has_strategy(&metadata).then(|| object.clone());
        Self {
            error,
            conditions: conditions.and_then(Result::ok).unwrap_or_default(),
            object: kept.unwrap_or_default(),
            metadata,
        }
    }

    /// Whether this version says nothing else than another.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let mut same = self.clone();
        same.metadata
            .resource_version
            .clone_from(&other.metadata.resource_version);
        same == *other
    }

    /// Whether it carries the strategy and no template, which would win over it, so that it is for us.
    pub fn asks_for_power_cycles(&self) -> bool {
        let templates = ["/spec/remediationTemplate", "/spec/remediation/templateRef"];
        let is_there = |pointer: &str| self.object.pointer(pointer).is_some_and(|it| !it.is_null());
        has_strategy(&self.metadata) && !templates.into_iter().any(is_there)
    }
}

/// Whether a health check asks for power cycles by annotation.
pub(crate) fn has_strategy(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    let strategy = annotations.and_then(|all| all.get(keys::STRATEGY_ANNOTATION));
    strategy.is_some_and(|strategy| strategy == keys::STRATEGY_EXTERNAL_BAREMETAL)
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A Node is mostly what is not read of it, so it is not built as a whole.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(object) = serde_json::from_str(text.get()) {
            return Ok(Self(Ok(object)));
        }
        // Once more, to name the field.
        let value: Value = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self(serde_path_to_error::deserialize(&value).map_err(|error| {
            let metadata = value.get("metadata").map(ObjectMeta::deserialize);
            let metadata = metadata.and_then(Result::ok).unwrap_or_default();
            Unreadable::new(error.to_string(), metadata, &value)
        })))
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(unreadable) => &mut unreadable.metadata,
        }
    }
}
