//! Durations as people write them (`2s`, `1m 30s`, `500ms`), on the command line and in JSON.

use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serializer};

/// Reads a duration such as `2s`, `1m 30s`, `500ms` or ISO 8601 `PT2S`.
///
/// # Errors
/// One sentence when the text is no duration or is negative.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration = text
        .parse()
        .map_err(|_| format!("`{text}` is not a duration: write for example 2s, 500ms or 1m 30s"))?;
    Duration::try_from(parsed).map_err(|_| format!("`{text}` is negative: write a duration of zero or more"))
}

/// Writes a duration the way [`parse_duration`] reads it.
pub fn format_duration(duration: Duration) -> String {
    SignedDuration::try_from(duration).map_or_else(|_| "inf".to_owned(), |signed| format!("{signed:#}"))
}

pub(crate) mod micros {
    //! `#[serde(with)]` for an instant, as whole microseconds since the simulation began.
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(value.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

pub(crate) mod text {
    //! `#[serde(with)]` for [`Duration`].
    use super::{Deserialize, Deserializer, Duration, Serializer, format_duration, parse_duration};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(*value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{format_duration, parse_duration};
    use std::time::Duration;

    #[test]
    fn round_trips_and_refuses() {
        for text in ["0s", "2s", "500ms", "1m 30s"] {
            let parsed = parse_duration(text).unwrap();
            assert_eq!(parse_duration(&format_duration(parsed)), Ok(parsed), "{text}");
        }
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert!(parse_duration("soon").is_err());
        assert!(parse_duration("-1s").is_err());
    }
}
