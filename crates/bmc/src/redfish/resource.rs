//! The few parts of Redfish resources that power control reads (DMTF DSP0268).
//!
//! Lenient: a property that is missing, null or of another type is `None`, because BMCs vary; what
//! cannot be understood must not be guessed either, so nothing is coerced.

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use remediator_core::power::PowerState;

    fn system(text: &str) -> Result<System, &'static str> {
        decode(text.as_bytes())
    }

    #[test]
    fn only_the_words_of_the_specification_are_states() {
        for (body, expected) in [
            (r#"{"PowerState":"Off"}"#, PowerState::Off),
            (r#"{"PowerState":"On"}"#, PowerState::On),
            (r#"{"PowerState":"PoweringOff"}"#, PowerState::PoweringOff),
            (r#"{"PowerState":"off"}"#, PowerState::Unknown),
            (r#"{"PowerState":"Off "}"#, PowerState::Unknown),
            (r#"{"PowerState":"Paused"}"#, PowerState::Unknown),
            (r#"{"PowerState":null}"#, PowerState::Unknown),
            (r#"{"PowerState":0}"#, PowerState::Unknown),
            (r#"{"PowerState":["Off"]}"#, PowerState::Unknown),
            (r#"{"Status":{"PowerState":"Off"}}"#, PowerState::Unknown),
            ("{}", PowerState::Unknown),
        ] {
            let read = system(body).unwrap();
            assert_eq!(
                PowerState::from_literal(read.power_state.as_deref()),
                expected,
                "{body}"
            );
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert_eq!(system("").unwrap_err(), "an empty body");
        assert_eq!(system(" <!DOCTYPE html>").unwrap_err(), "an HTML or XML page");
        assert_eq!(
            system(r#"["Off","Off","Off"]"#).unwrap_err(),
            "something else than a JSON object"
        );
        assert_eq!(system(r#"{"PowerState":"#).unwrap_err(), "broken JSON");
        // Two answers to one question are none.
        assert_eq!(
            system(r#"{"PowerState":"On","PowerState":"Off"}"#).unwrap_err(),
            "broken JSON"
        );
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{{\"Actions\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(system(&deep).unwrap_err(), "broken JSON");
        let ignored = format!("{{\"Oem\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(system(&ignored).is_ok_and(|read| read.power_state.is_none()) || system(&ignored).is_err());
    }

    #[test]
    fn wrong_types_cost_only_their_own_property() {
        let read = system(r#"{"UUID":7,"SerialNumber":"s","Actions":[],"PowerState":"On"}"#).unwrap();
        assert_eq!(
            (read.uuid, read.serial.as_deref(), read.actions.is_none()),
            (None, Some("s"), true)
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let keys = prop::sample::select(vec![
            "PowerState",
            "UUID",
            "Actions",
            "#ComputerSystem.Reset",
            "target",
            "@odata.type",
            "Members",
            "x",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|pairs| {
                    Value::Object(
                        pairs
                            .into_iter()
                            .map(|(key, value)| (key.to_owned(), value))
                            .collect(),
                    )
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn never_panics_on_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let object = bytes.trim_ascii_start().first() == Some(&b'{');
            prop_assert!(decode::<System>(&bytes).is_err() || object);
        }

        #[test]
        fn every_object_is_read(value in json()) {
            let bytes = value.to_string().into_bytes();
            prop_assert_eq!(decode::<System>(&bytes).is_ok(), value.is_object());
            prop_assert_eq!(decode::<Collection>(&bytes).is_ok(), value.is_object());
        }
    }
}
