//! The few parts of Redfish resources that power control reads (DMTF DSP0268).
//!
//! Lenient: a property that is missing, null or of another type is `None`, because BMCs vary. Nothing is coerced.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

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
    pub(super) links: Option<Links>,
}

/// What else a `ComputerSystem` says of its host. Read apart from [`System`]: what is wrong with it must not keep the
/// power state from being read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Described {
    #[serde(rename = "Status", deserialize_with = "object")]
    pub(super) status: Option<Status>,
    #[serde(rename = "BootProgress", deserialize_with = "object")]
    pub(super) boot_progress: Option<BootProgress>,
    #[serde(rename = "LastResetTime", deserialize_with = "text")]
    pub(super) last_reset: Option<String>,
    #[serde(rename = "LogServices", deserialize_with = "object")]
    pub(super) logs: Option<Reference>,
}

/// `Status` of a resource.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    #[serde(rename = "Health", deserialize_with = "text")]
    pub(super) health: Option<String>,
    #[serde(rename = "State", deserialize_with = "text")]
    pub(super) state: Option<String>,
}

/// `ComputerSystem.BootProgress`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BootProgress {
    #[serde(rename = "LastState", deserialize_with = "text")]
    pub(super) last_state: Option<String>,
    #[serde(rename = "LastStateTime", deserialize_with = "text")]
    pub(super) since: Option<String>,
}

/// `LogService`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogService {
    #[serde(rename = "Entries", deserialize_with = "object")]
    pub(super) entries: Option<Reference>,
}

/// One page of a `LogEntryCollection`, whose members stand in it (DSP0266, "Resource collections").
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogPage {
    #[serde(rename = "Members", deserialize_with = "objects")]
    pub(super) entries: Parts<LogRecord>,
    /// On all pages.
    #[serde(rename = "Members@odata.count")]
    pub(super) count: Value,
}

/// `LogEntry`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct LogRecord {
    #[serde(rename = "@odata.id", deserialize_with = "text")]
    pub(super) id: Option<String>,
    #[serde(rename = "Created", deserialize_with = "text")]
    pub(super) created: Option<String>,
    #[serde(rename = "Severity", deserialize_with = "text")]
    pub(super) severity: Option<String>,
    #[serde(rename = "Message", deserialize_with = "text")]
    pub(super) message: Option<String>,
}

/// `Links` of a `ComputerSystem`, a `Chassis` or the `ServiceRoot`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Links {
    #[serde(rename = "Chassis", deserialize_with = "objects")]
    pub(super) chassis: Parts<Reference>,
    #[serde(rename = "ComputerSystems", deserialize_with = "objects")]
    pub(super) systems: Parts<Reference>,
    #[serde(rename = "Sessions", deserialize_with = "object")]
    pub(super) sessions: Option<Reference>,
}

/// `Chassis`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chassis {
    #[serde(rename = "PowerState", deserialize_with = "text")]
    pub(super) power_state: Option<String>,
    #[serde(rename = "Links", deserialize_with = "object")]
    pub(super) links: Option<Links>,
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

impl ResetAction {
    /// The reset types that stand in the system itself.
    pub(super) fn inline(&self) -> Option<&[String]> {
        self.offered.as_deref().filter(|offered| !offered.is_empty())
    }
}

/// `ActionInfo`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionInfo {
    #[serde(rename = "Parameters", deserialize_with = "objects")]
    pub(super) parameters: Parts<Parameter>,
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
    pub(super) members: Parts<Reference>,
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
    pub(super) links: Option<Links>,
}

impl Root {
    /// Whether the service says that it has sessions.
    pub(super) fn offers_sessions(&self) -> bool {
        let linked = self.links.as_ref().is_some_and(|links| links.sessions.is_some());
        linked || self.session_service.is_some()
    }
}

/// Reads a resource out of a body, or says what was found instead of a JSON object.
pub(super) fn decode<Resource: DeserializeOwned>(body: &[u8]) -> Result<Resource, &'static str> {
    let body = body.trim_ascii_start();
    match body.first() {
        None => Err("an empty body"),
        Some(b'<') => Err("an HTML or XML page"),
        Some(b'{') => serde_json::from_slice(body).map_err(|_| "broken JSON"),
        Some(_) => Err("something else than a JSON object"),
    }
}

type Parts<Part> = Option<Vec<Option<Part>>>;

pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_str().map(str::to_owned))
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let texts = |list: &Vec<Value>| {
        list.iter()
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect()
    };
    Ok(value.as_array().map(texts))
}

fn object<'de, D: Deserializer<'de>, Part: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Part>, D::Error> {
    Ok(part(Value::deserialize(deserializer)?))
}

fn objects<'de, D: Deserializer<'de>, Part: DeserializeOwned>(
    deserializer: D,
) -> Result<Parts<Part>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(values) => Some(values.into_iter().map(part).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    })
}

/// Only of an object: serde would also read a struct from a list, by position.
fn part<Part: DeserializeOwned>(value: Value) -> Option<Part> {
    if value.is_object() {
        serde_json::from_value(value).ok()
    } else {
        None
    }
}
