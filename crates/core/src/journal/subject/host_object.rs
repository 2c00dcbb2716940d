//! The object that describes a host.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The object that describes a host, in the namespace of whatever uses it. It is written as `kind/name`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(try_from = "String", into = "String")]
pub enum HostObject {
    /// A BMCEndpoint of this name.
    Endpoint(String),
    /// A BareMetalHost of this name.
    BareMetalHost(String),
}

const ENDPOINT: &str = "BMCEndpoint";
const BARE_METAL_HOST: &str = "BareMetalHost";

impl HostObject {
    /// Whether it has a place where an administrator states the system UUID of the host: a BareMetalHost has none.
    pub fn can_state_uuid(&self) -> bool {
        match self {
            Self::Endpoint(_) => true,
            Self::BareMetalHost(_) => false,
        }
    }
}

impl fmt::Display for HostObject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(name) => write!(out, "{ENDPOINT}/{name}"),
            Self::BareMetalHost(name) => write!(out, "{BARE_METAL_HOST}/{name}"),
        }
    }
}

/// Neither a BMCEndpoint nor a BareMetalHost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} describes no host; expected BMCEndpoint/name or BareMetalHost/name")]
pub struct NoHostObject(String);

impl TryFrom<String> for HostObject {
    type Error = NoHostObject;

    fn try_from(text: String) -> Result<Self, NoHostObject> {
        match text.split_once('/') {
            Some((ENDPOINT, name)) if !name.is_empty() => Ok(Self::Endpoint(name.to_owned())),
            Some((BARE_METAL_HOST, name)) if !name.is_empty() => Ok(Self::BareMetalHost(name.to_owned())),
            _ => Err(NoHostObject(text)),
        }
    }
}

impl From<HostObject> for String {
    fn from(host: HostObject) -> Self {
        host.to_string()
    }
}

impl JsonSchema for HostObject {
    fn schema_name() -> Cow<'static, str> {
        "HostObject".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_else_is() {
        for host in [
            HostObject::Endpoint("a".into()),
            HostObject::BareMetalHost("b-1".into()),
        ] {
            assert_eq!(HostObject::try_from(host.to_string()), Ok(host));
        }
        for text in ["", "a", "BMCEndpoint/", "Machine/a", "bmcendpoint/a"] {
            let told = HostObject::try_from(text.to_owned()).unwrap_err().to_string();
            assert!(
                told.contains("expected BMCEndpoint/name or BareMetalHost/name"),
                "{told}"
            );
        }
    }
}
