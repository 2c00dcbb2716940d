//! How many Machines may be unhealthy before nothing is remediated any more (the short circuit).
//!
//! Sources: machine-api-operator `isAllowedRemediation`, `getMaxUnhealthy`, `getIntOrPercentValue`;
//! cluster-api `isAllowedRemediation`, `getUnhealthyRange`; apimachinery `pkg/util/intstr/intstr.go`.

use std::fmt;

use super::dialect::{Dialect, Field};
use super::problem::{Problem, RuleError};

/// An integer or a text, as in Kubernetes' `IntOrString`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrText {
    /// A JSON number.
    Integer(i64),
    /// A JSON string.
    Text(String),
}

/// A number of Machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Negative in Cluster API only, where it is less than any number.
    Machines(i64),
    /// Hundredths of the Machines of the check, rounded down.
    Percent(i64),
}

/// The limit of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// `maxUnhealthy`, `unhealthyLessThanOrEqualTo`: not more than this.
    AtMost(Amount),
    /// `unhealthyRange`, `unhealthyInRange`: from so many to so many, both included.
    InRange {
        /// At least.
        from: u32,
        /// At most.
        to: u32,
    },
}

/// How many Machines a check selects, and how many of them are well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `status.expectedMachines`: those that it selects and does not skip.
    pub expected: u32,
    /// `status.currentHealthy`: those of them that are healthy.
    pub healthy: u32,
    /// Those of them about which nothing is known; they are not healthy.
    pub unknown: u32,
}

/// What a limit says to a number of unhealthy Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Whether unhealthy Machines are remediated: all of them, for [`Self::remediations`] is no cap.
    pub allowed: bool,
    /// `status.remediationsAllowed`: how many more may become unhealthy before the limit is exceeded.
    pub remediations: u32,
    /// For the condition `RemediationAllowed`, and the event when it is False.
    pub message: String,
}

/// Reason of the condition `RemediationAllowed` when it is False. Source: openshift/api and cluster-api.
pub const TOO_MANY_UNHEALTHY: &str = "TooManyUnhealthy";

impl Default for Limit {
    /// 100 %, which never forbids anything.
    fn default() -> Self {
        Self::AtMost(Amount::Percent(100))
    }
}

impl Limit {
    /// Reads the limit. A range, which OpenShift does not have, wins over the maximum; no limit is 100 %.
    pub(crate) fn read(
        dialect: Dialect,
        max_unhealthy: Option<&IntOrText>,
        unhealthy_range: Option<&str>,
    ) -> Result<Self, RuleError> {
        let range = match dialect {
            Dialect::OpenShift => None,
            Dialect::ClusterApiV1Beta1 => unhealthy_range,
            // Not a pointer in v1beta2: the empty text is no range.
            Dialect::ClusterApiV1Beta2 => unhealthy_range.filter(|range| !range.is_empty()),
        };
        match (range, max_unhealthy) {
            (Some(range), _) => read_range(range)
                .map_err(|problem| RuleError::new(dialect.path(Field::UnhealthyRange), problem)),
            (None, Some(max)) => Amount::read(dialect, max)
                .map(Self::AtMost)
                .map_err(|problem| RuleError::new(dialect.path(Field::MaxUnhealthy), problem)),
            (None, None) => Ok(Self::default()),
        }
    }

    /// Every Machine that is not healthy counts against the limit; to reach the lower end of a range only those
    /// count of which something is known, so that nothing is remediated because of what is not.
    pub(crate) fn allowance(&self, dialect: Dialect, counts: Counts) -> Allowance {
        let expected = counts.expected;
        let unhealthy = expected.saturating_sub(counts.healthy);
        let known = unhealthy.saturating_sub(counts.unknown);
        let (from, to) = match self {
            Self::AtMost(amount) => (0, amount.of(expected)),
            Self::InRange { from, to } => (*from, i128::from(*to)),
        };
        let allowed = known >= from && i128::from(unhealthy) <= to;
        let left = u32::try_from(to.saturating_sub(i128::from(unhealthy))).unwrap_or(u32::MAX);
        let field = dialect.path(match self {
            Self::AtMost(_) => Field::MaxUnhealthy,
            Self::InRange { .. } => Field::UnhealthyRange,
        });
        let (verdict, relation) = match (allowed, self) {
            (true, _) => ("is allowed", "is within"),
            (false, Self::AtMost(_)) => ("is not allowed", "exceeds"),
            (false, Self::InRange { .. }) => ("is not allowed", "is outside of"),
        };
        Allowance {
            allowed,
            remediations: if allowed { left } else { 0 },
            message: format!(
                "Remediation {verdict}: {unhealthy} of {expected} Machines unhealthy or not started {relation} \
                 {field} {self}"
            ),
        }
    }
}

impl Amount {
    /// Of so many Machines; negative means that not even none is few enough.
    fn of(self, expected: u32) -> i128 {
        match self {
            Self::Machines(number) => i128::from(number),
            Self::Percent(percent) => i128::from(percent)
                .saturating_mul(i128::from(expected))
                .div_euclid(100),
        }
    }

    fn read(dialect: Dialect, raw: &IntOrText) -> Result<Self, Problem> {
        // A negative number counts as 0 in OpenShift.
        let least = if dialect.is_cluster_api() { i64::MIN } else { 0 };
        let text = match raw {
            // Go reads it into 32 bits.
            IntOrText::Integer(number) => {
                return i32::try_from(*number)
                    .map(|number| Self::Machines(i64::from(number).max(least)))
                    .map_err(|_| Problem::NotANumber(number.to_string()));
            }
            IntOrText::Text(text) => text,
        };
        let percent = text.strip_suffix('%').map(str::parse::<i64>);
        match (percent, text.parse::<i64>()) {
            (Some(Ok(percent)), _) => Ok(Self::Percent(percent.max(least))),
            (None, Ok(number)) if !dialect.is_cluster_api() => Ok(Self::Machines(number.max(least))),
            _ if dialect.is_cluster_api() => Err(Problem::NotAPercentage(text.clone())),
            _ => Err(Problem::NotANumber(text.clone())),
        }
    }
}

/// Reads `[3-5]`, as the definition's pattern has it: digits only, no spaces, 32 bits.
fn read_range(text: &str) -> Result<Limit, Problem> {
    let malformed = || Problem::RangeMalformed(text.to_owned());
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<u32>().ok()).flatten()
    };
    let (from, to) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .and_then(|inner| inner.split_once('-'))
        .ok_or_else(malformed)?;
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from <= to => Ok(Limit::InRange { from, to }),
        (Some(from), Some(to)) => Err(Problem::RangeReversed { from, to }),
        (None, _) | (_, None) => Err(malformed()),
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(Amount::Machines(number)) => write!(formatter, "{number}"),
            Self::AtMost(Amount::Percent(percent)) => write!(formatter, "{percent}%"),
            Self::InRange { from, to } => write!(formatter, "[{from}-{to}]"),
        }
    }
}
