//! Values of the types that properties have.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::redfish::message::{Base, Message};

fn wrong_type(name: &str, value: &Value) -> Message {
    // A password of a wrong type is not repeated either.
    let shown = if name == "Password" {
        "***".to_owned()
    } else {
        shorten(&value.to_string())
    };
    Base::PropertyValueTypeError.message(&[&shown, name]).about(name)
}

/// Keeps what a client sent from filling the answer.
fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

/// A string.
pub(in crate::redfish) fn text(name: &str, value: &Value) -> Result<String, Message> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| wrong_type(name, value))
}

/// A boolean.
pub(in crate::redfish) fn flag(name: &str, value: &Value) -> Result<bool, Message> {
    value.as_bool().ok_or_else(|| wrong_type(name, value))
}

/// A whole number in a range.
pub(in crate::redfish) fn whole(
    name: &str,
    value: &Value,
    range: &RangeInclusive<u64>,
) -> Result<u64, Message> {
    if value.as_i64().is_none() && value.as_u64().is_none() {
        return Err(wrong_type(name, value));
    }
    value
        .as_u64()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            Base::PropertyValueOutOfRange
                .message(&[&shorten(&value.to_string()), name])
                .about(name)
        })
}
