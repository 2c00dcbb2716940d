//! The few parts of Redfish resources that power control reads (DMTF DSP0268).
//!
//! Lenient: a property that is missing, null or of another type is `None`, because BMCs vary; what
//! cannot be understood must not be guessed either, so nothing is coerced.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// `ComputerSystem`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct System {
    #[serde(rename = "@odata.type", deserialize_with = "text")]
    pub(super) kind: Option<String>,
    #[serde(rename = "PowerState", deserialize_with = "text")]
    pub(super) power_state: Option<String>,
    #[serde(rename = "UUID", deserialize_with = "text")]
    pub(super) uuid: Option<String>,
    #[serde(rename = "SerialNumber", deserialize_with = "text")]
    pub(super) serial: Option<String>,
    #[serde(rename = "Actions", deserialize_with = "object")]
    pub(super) actions: Option<Actions>,
    #[serde(rename = "Links", deserialize_with = "object")]
    pub(super) links: Option<SystemLinks>,
}

/// `ComputerSystem.Links`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SystemLinks {
    #[serde(rename = "Chassis", deserialize_with = "objects")]
    pub(super) chassis: Option<Vec<Option<Reference>>>,
}

/// `Chassis`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chassis {
    #[serde(rename = "PowerState", deserialize_with = "text")]
    pub(super) power_state: Option<String>,
    #[serde(rename = "Links", deserialize_with = "object")]
    pub(super) links: Option<ChassisLinks>,
}

/// `Chassis.Links`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChassisLinks {
    #[serde(rename = "ComputerSystems", deserialize_with = "objects")]
    pub(super) systems: Option<Vec<Option<Reference>>>,
}

/// `ComputerSystem.Actions`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Actions {
    #[serde(rename = "#ComputerSystem.Reset", deserialize_with = "object")]
    pub(super) reset: Option<ResetAction>,
}

/// The `#ComputerSystem.Reset` action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResetAction {
    #[serde(deserialize_with = "text")]
    pub(super) target: Option<String>,
    #[serde(rename = "ResetType@Redfish.AllowableValues", deserialize_with = "texts")]
    pub(super) offered: Option<Vec<String>>,
    #[serde(rename = "@Redfish.ActionInfo", deserialize_with = "text")]
    pub(super) action_info: Option<String>,
}

/// `ActionInfo`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionInfo {
    #[serde(rename = "Parameters", deserialize_with = "objects")]
    pub(super) parameters: Option<Vec<Option<Parameter>>>,
}

/// One parameter of an action.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameter {
    #[serde(rename = "Name", deserialize_with = "text")]
    pub(super) name: Option<String>,
    #[serde(rename = "AllowableValues", deserialize_with = "texts")]
    pub(super) offered: Option<Vec<String>>,
}

/// A collection of resources.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Collection {
    /// A member that cannot be read stays in the list as `None`: it counts.
    #[serde(rename = "Members", deserialize_with = "objects")]
    pub(super) members: Option<Vec<Option<Reference>>>,
    /// How many there are, on all pages.
    #[serde(rename = "Members@odata.count")]
    count: Value,
    #[serde(rename = "Members@odata.nextLink")]
    next: Value,
}

impl Collection {
    /// Whether it says that it has members which are not listed here.
    pub(super) fn goes_on(&self) -> bool {
        let listed = self.members.as_ref().map_or(0, Vec::len);
        let more = |count: u64| usize::try_from(count).is_ok_and(|count| count > listed);
        !self.next.is_null() || self.count.as_u64().is_some_and(more)
    }
}

/// A link to a resource.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    #[serde(rename = "@odata.id", deserialize_with = "text")]
    pub(super) id: Option<String>,
}

/// `ServiceRoot`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Root {
    #[serde(rename = "Systems", deserialize_with = "object")]
    pub(super) systems: Option<Reference>,
    #[serde(rename = "SessionService", deserialize_with = "object")]
    pub(super) session_service: Option<Reference>,
    #[serde(rename = "Links", deserialize_with = "object")]
    pub(super) links: Option<RootLinks>,
}

/// `ServiceRoot.Links`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RootLinks {
    #[serde(rename = "Sessions", deserialize_with = "object")]
    pub(super) sessions: Option<Reference>,
}

impl Root {
    /// Whether the service says that it has sessions.
    pub(super) fn offers_sessions(&self) -> bool {
        let linked = self.links.as_ref().is_some_and(|links| links.sessions.is_some());
        linked || self.session_service.is_some()
    }
}

/// Reads a resource out of a body.
///
/// # Errors
/// Says what was found instead of a JSON object.
pub(super) fn decode<Resource: DeserializeOwned>(body: &[u8]) -> Result<Resource, &'static str> {
    let body = body.trim_ascii_start();
    match body.first() {
        None => Err("an empty body"),
        Some(b'<') => Err("an HTML or XML page"),
        // serde would also read a struct from a list, by position.
        Some(b'{') => serde_json::from_slice(body).map_err(|_| "broken JSON"),
        Some(_) => Err("something else than a JSON object"),
    }
}

pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(values) => Some(
            values
                .iter()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    })
}

fn of_map<Part: DeserializeOwned>(map: Map<String, Value>) -> Option<Part> {
    serde_json::from_value(Value::Object(map)).ok()
}

fn object<'de, D: Deserializer<'de>, Part: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Part>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(map) => of_map(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    })
}

type Parts<Part> = Option<Vec<Option<Part>>>;

fn objects<'de, D: Deserializer<'de>, Part: DeserializeOwned>(
    deserializer: D,
) -> Result<Parts<Part>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(values) => Some(
            values
                .into_iter()
                .map(|value| match value {
                    Value::Object(map) => of_map(map),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                        None
                    }
                })
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    })
}
