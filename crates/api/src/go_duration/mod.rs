//! Go's durations, such as `1h30m`, as `time.ParseDuration` reads them.
//!
//! `kube::core::Duration` panics at numbers beyond its range, takes an empty text for nothing and wants a unit behind
//! `0`; what somebody else wrote must neither end the process nor mean "at once".

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use kube::core::Duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Longest duration (ns). Source: Go `time.Duration`, an `int64` of nanoseconds.
const LONGEST: i128 = i64::MAX as i128;

/// Digits behind a point that are read; what a nanosecond is too long for does not count.
const FRACTION_DIGITS: usize = 15;

/// Reads a duration; `None` if it is none, or longer than one can be.
pub(crate) fn parse(text: &str) -> Option<SignedDuration> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        "0" => return Some(SignedDuration::ZERO),
        "" => return None,
        _ => {}
    }
    let (mut rest, mut total) = (unsigned, 0_i128);
    while !rest.is_empty() {
        let (nanoseconds, behind) = term(rest)?;
        total = total.checked_add(nanoseconds).filter(|total| *total <= LONGEST)?;
        rest = behind;
    }
    let length = SignedDuration::from_nanos(i64::try_from(total).ok()?);
    if text.starts_with('-') {
        length.checked_neg()
    } else {
        Some(length)
    }
}

/// One number with its unit, in nanoseconds, and what follows it.
fn term(text: &str) -> Option<(i128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(behind) => digits(behind),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|one: char| one == '.' || one.is_ascii_digit());
    let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let unit = unit(name)?;
    let mut nanoseconds = number(whole)?.checked_mul(unit)?;
    let fraction = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
    let mut scale = unit;
    for digit in fraction.chars() {
        // Exact as long as the scale is divisible, and what is left out is less than a nanosecond.
        nanoseconds = nanoseconds.checked_add(i128::from(digit.to_digit(10)?).checked_mul(scale)? / 10)?;
        scale /= 10;
    }
    Some((nanoseconds, rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|one: char| !one.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn number(digits: &str) -> Option<i128> {
    if digits.is_empty() {
        return Some(0);
    }
    digits.parse().ok().filter(|number| *number <= LONGEST)
}

/// Nanoseconds of a unit. Source: Go `time/format.go`, `unitMap`.
fn unit(name: &str) -> Option<i128> {
    Some(match name {
        "ns" => 1,
        // Micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A duration as it stands in an object of somebody else: what is none does not keep the rest from being read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DurationText(String);

impl DurationText {
    /// The duration, or the text that is none.
    pub fn read(&self) -> Result<SignedDuration, String> {
        parse(&self.0).ok_or_else(|| self.0.clone())
    }
}

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value.as_str().map(str::to_owned);
        Ok(Self(text.unwrap_or_else(|| value.to_string())))
    }
}

/// A duration of our own kinds for serde.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text)
        .and_then(|length| std::time::Duration::try_from(length).ok())
        .map(Duration::from)
        .ok_or_else(|| D::Error::custom("expected a duration such as 5m or 1h30m"))
}
