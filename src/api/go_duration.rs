//! Go's durations, such as `1h30m`, read without falling over.
//!
//! `kube::core::Duration` panics at numbers beyond its range. The API server refuses them by our schemas; an
//! object that was written around these must not end the process.

use kube::core::Duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// More digits than this stand before a point or unit of no duration that is meant.
const DIGITS: usize = 12;

/// Reads a duration; `None` if it is none.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut whole_parts = text.split(|one: char| !one.is_ascii_digit());
    // An empty text would be taken for nothing.
    if text.is_empty() || whole_parts.any(|digits| digits.len() > DIGITS) {
        return None;
    }
    text.parse().ok()
}

/// The same for serde.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| D::Error::custom("expected a duration such as 5m or 1h30m"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_and_what_is_none_is_refused() {
        for (text, seconds) in [
            ("5m", 300),
            ("1h30m", 5_400),
            ("30m1h", 5_400),
            ("0s", 0),
            ("1.5h", 5_400),
        ] {
            let read = parse(text).map(std::time::Duration::from);
            assert_eq!(read, Some(std::time::Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "m", "99999999999999999999h", "1h99999999999999999999s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_reason_to_fall_over(
            text in "([0-9]{0,30}(\\.[0-9]{0,30})?(h|m|s|ms|us|ns|-)?){0,3}",
            other in ".{0,20}",
        ) {
            let _ = (parse(&text), parse(&other));
        }
    }
}
