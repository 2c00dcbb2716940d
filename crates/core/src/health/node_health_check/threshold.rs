//! How many Nodes have to be healthy for anything new to be remediated.
//!
//! Sources: `api/v1alpha1/validation.go`, `ValidateMinHealthyMaxUnhealthy`;
//! `internal/controller/nodehealthcheck_controller.go`, `getMinHealthy`; the pattern of both fields in
//! `api/v1alpha1/nodehealthcheck_types.go`; apimachinery `pkg/util/intstr/intstr.go`,
//! `GetScaledValueFromIntOrPercent`.

use std::fmt;

use crate::health::limit::{Allowance, Counts, IntOrText};
use crate::health::problem::{Problem, RuleError};

const MIN_HEALTHY: &str = "spec.minHealthy";
const MAX_UNHEALTHY: &str = "spec.maxUnhealthy";

/// A number of the Nodes of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// So many.
    Nodes(u32),
    /// So many hundredths of all, at most 100, rounded up: unlike with MachineHealthChecks.
    Percent(u32),
}

/// The threshold of one check: exactly one of two fields, and no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// `minHealthy`: at least so many are healthy.
    MinHealthy(Share),
    /// `maxUnhealthy`: all but so many are healthy.
    MaxUnhealthy(Share),
}

impl Threshold {
    /// Reads the threshold.
    ///
    /// # Errors
    /// When neither or both fields are there, or the one that is cannot be followed.
    pub fn read(
        min_healthy: Option<&IntOrText>,
        max_unhealthy: Option<&IntOrText>,
    ) -> Result<Self, RuleError> {
        let field =
            |path: &str, raw| Share::read(raw).map_err(|problem| RuleError::new(path.to_owned(), problem));
        match (min_healthy, max_unhealthy) {
            (Some(min), None) => field(MIN_HEALTHY, min).map(Self::MinHealthy),
            (None, Some(max)) => field(MAX_UNHEALTHY, max).map(Self::MaxUnhealthy),
            (None, None) => Err(RuleError::new(MIN_HEALTHY.to_owned(), Problem::ThresholdMissing)),
            (Some(_), Some(_)) => Err(RuleError::new(MIN_HEALTHY.to_owned(), Problem::ThresholdTwice)),
        }
    }

    /// How many of `selected` Nodes have to be healthy.
    ///
    /// # Errors
    /// When `maxUnhealthy` is more than there are: nothing is remediated then either.
    pub fn needed(self, selected: u32) -> Result<u32, RuleError> {
        match self {
            Self::MinHealthy(share) => Ok(share.of(selected)),
            Self::MaxUnhealthy(share) => selected
                .checked_sub(share.of(selected))
                .ok_or_else(|| RuleError::new(MAX_UNHEALTHY.to_owned(), Problem::MoreThanSelected(selected))),
        }
    }

    /// Asks the threshold. [`Allowance::remediations`] is how many more may become unhealthy.
    ///
    /// # Errors
    /// As of [`Self::needed`].
    pub fn allowance(self, counts: Counts) -> Result<Allowance, RuleError> {
        let Counts {
            expected, healthy, ..
        } = counts;
        let needed = self.needed(expected)?;
        let allowed = healthy >= needed;
        let verdict = if allowed { "is allowed" } else { "is not allowed" };
        Ok(Allowance {
            allowed,
            remediations: healthy.saturating_sub(needed),
            message: format!(
                "Remediation {verdict}: {healthy} of {expected} Nodes are healthy, and {self} asks for {needed}"
            ),
        })
    }
}

impl Share {
    fn of(self, selected: u32) -> u32 {
        match self {
            Self::Nodes(number) => number,
            Self::Percent(percent) => {
                let hundredths = u64::from(percent).saturating_mul(u64::from(selected));
                u32::try_from(hundredths.div_ceil(100)).unwrap_or(u32::MAX)
            }
        }
    }

    /// As code and definition have it: an integer, or digits with a percent sign.
    fn read(raw: &IntOrText) -> Result<Self, Problem> {
        let text = match raw {
            IntOrText::Integer(number) if number.is_negative() => return Err(Problem::Negative),
            IntOrText::Integer(number) => {
                // Go reads it into 32 bits with a sign.
                let read = i32::try_from(*number)
                    .ok()
                    .and_then(|number| u32::try_from(number).ok());
                return read
                    .map(Self::Nodes)
                    .ok_or_else(|| Problem::NotANumber(number.to_string()));
            }
            IntOrText::Text(text) => text,
        };
        let not_a_percentage = || Problem::NotAPercentage(text.clone());
        let digits = text.strip_suffix('%').ok_or_else(not_a_percentage)?;
        let is_plain = (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let percent = digits.parse().ok().filter(|percent| is_plain && *percent <= 100);
        percent.map(Self::Percent).ok_or_else(not_a_percentage)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, share) = match self {
            Self::MinHealthy(share) => (MIN_HEALTHY, share),
            Self::MaxUnhealthy(share) => (MAX_UNHEALTHY, share),
        };
        match share {
            Share::Nodes(number) => write!(formatter, "{path} {number}"),
            Share::Percent(percent) => write!(formatter, "{path} {percent}%"),
        }
    }
}
