//! How often BMCs are checked, as administrators write it.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use kube::core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::go_duration;

/// Checks of BMCs in the background.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadinessRules {
    /// In which time each host's BMC is checked once, as a Go duration such as `6h`, from `10s` to `168h`;
    /// `off` or `0` for never. A BMC in which something was found is checked sooner again.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self == 'off' || duration(self) == duration('0s') || (duration(self) >= duration('10s') && duration(self) <= duration('168h'))", "message": "must be off, or between 10s and 168h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = OFF_OR_GO_DURATION))]
    pub interval: CheckInterval,
}

/// `off`, or Go's duration syntax without signs.
const OFF_OR_GO_DURATION: &str = r"^(off|0|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$";

/// The time in which each host's BMC is checked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CheckInterval {
    /// Never.
    Off,
    /// Once in this time, which is positive.
    Every(SignedDuration),
}

impl CheckInterval {
    const SHORTEST: SignedDuration = SignedDuration::from_secs(10);
    const LONGEST: SignedDuration = SignedDuration::from_hours(168);

    /// The time, if there is one.
    pub fn every(self) -> Option<SignedDuration> {
        match self {
            Self::Off => None,
            Self::Every(interval) => Some(interval),
        }
    }
}

/// The text is no interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no interval: write off, or a duration from 10s to 168h such as 6h")]
pub struct BadInterval(String);

impl Default for CheckInterval {
    fn default() -> Self {
        Self::Every(SignedDuration::from_hours(6))
    }
}

impl FromStr for CheckInterval {
    type Err = BadInterval;

    fn from_str(text: &str) -> Result<Self, BadInterval> {
        let bad = || BadInterval(text.chars().take(32).collect());
        if matches!(text, "off" | "0") {
            return Ok(Self::Off);
        }
        let interval = go_duration::parse(text).ok_or_else(bad)?;
        if interval.is_zero() {
            Ok(Self::Off)
        } else if (Self::SHORTEST..=Self::LONGEST).contains(&interval) {
            Ok(Self::Every(interval))
        } else {
            Err(bad())
        }
    }
}

impl TryFrom<String> for CheckInterval {
    type Error = BadInterval;

    fn try_from(text: String) -> Result<Self, BadInterval> {
        text.parse()
    }
}

impl fmt::Display for CheckInterval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str("off"),
            Self::Every(interval) => write!(formatter, "{}", Duration::from(interval.unsigned_abs())),
        }
    }
}

impl From<CheckInterval> for String {
    fn from(interval: CheckInterval) -> Self {
        interval.to_string()
    }
}

#[cfg(test)]
mod tests;
