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

/// What is for people alone keeps nobody from reading the power state.
#[test]
fn a_description_that_cannot_be_read_leaves_the_power_state() {
    for (body, health) in [
        (
            r#"{"PowerState":"On","Status":{"Health":"Critical"}}"#,
            Some("Critical"),
        ),
        (
            r#"{"PowerState":"On","Status":{"Health":7},"BootProgress":[]}"#,
            None,
        ),
        (
            r#"{"PowerState":"On","Status":{},"Status":{"Health":"OK"}}"#,
            None,
        ),
        (r#"{"PowerState":"On","LastResetTime":0,"LastResetTime":1}"#, None),
    ] {
        let described: Described = decode(body.as_bytes()).unwrap_or_default();
        let found = described.status.and_then(|status| status.health);
        assert_eq!(found.as_deref(), health, "{body}");
        assert_eq!(system(body).unwrap().power_state.as_deref(), Some("On"), "{body}");
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
