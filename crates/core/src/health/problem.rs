//! What can be wrong with a health check: the field, and what to do about it.

use thiserror::Error;

/// A field that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path} {problem}")]
pub struct RuleError {
    /// Path of the field.
    pub path: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl RuleError {
    /// Names what is wrong with a field.
    pub fn new(path: String, problem: Problem) -> Self {
        Self { path, problem }
    }
}

/// What can be wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Not a duration.
    #[error("is {0:?}, which is no duration. Write one such as 5m")]
    TimeoutMalformed(String),
    /// A negative duration.
    #[error("is negative. Write 0 or more")]
    TimeoutNegative,
    /// A time-out between 0 and 30 s.
    #[error("is shorter than 30 s. Write at least 30 s, or 0 to switch it off")]
    TimeoutTooShort,
    /// Neither an integer nor a percentage.
    #[error("is {0:?}. Write an integer such as 2 or a percentage such as 40%")]
    NotANumber(String),
    /// A text that is no percentage.
    #[error("is the text {0:?}. Write a percentage such as 40%, or a number without quotes")]
    NotAPercentage(String),
    /// Not of the form `[3-5]`.
    #[error("is {0:?}. Write a range such as [3-5]")]
    RangeMalformed(String),
    /// The end is before the beginning.
    #[error("ends at {to}, before it begins at {from}. Write the smaller number first")]
    RangeReversed {
        /// Where it begins.
        from: u32,
        /// Where it ends.
        to: u32,
    },
    /// An empty list that must not be.
    #[error("is empty. List at least one condition")]
    NoConditions,
    /// A list that is too long.
    #[error("lists {0} conditions. List at most 100")]
    TooManyConditions(usize),
    /// No type or no status.
    #[error("lacks its type or its status. Write both")]
    ConditionIncomplete,
    /// A Machine condition that must not be used.
    #[error("is {0}, which sums up others or follows from health checks. Name another type")]
    ConditionForbidden(String),
    /// A status that a Machine condition never has.
    #[error("is {0:?}. Write True, False or Unknown")]
    StatusUnknown(String),
    /// An empty selector where it must not be.
    #[error("is empty. Name the labels of the Machines that are meant")]
    SelectorEmpty,
    /// Not a label key.
    #[error("has {0:?}, which is no label key. Correct it")]
    LabelKeyInvalid(String),
    /// Not a label value.
    #[error("has {0:?}, which is no label value. Correct it")]
    LabelValueInvalid(String),
    /// No such operator.
    #[error("has the operator {0:?}. Write In, NotIn, Exists or DoesNotExist")]
    OperatorUnknown(String),
    /// `In` or `NotIn` without values.
    #[error("lists no values for {0:?}. List at least one, or write Exists or DoesNotExist")]
    ValuesMissing(String),
    /// `Exists` or `DoesNotExist` with values.
    #[error("lists values for {0:?}. Remove them, or write In or NotIn")]
    ValuesUnwanted(String),
    /// The object itself cannot be read.
    #[error("cannot be read: {0}. Correct the field that is named")]
    Unreadable(String),
    /// No Cluster is named.
    #[error("is empty. Name the Cluster of the Machines")]
    ClusterNameMissing,
    /// The selector names another Cluster.
    #[error("asks for the Cluster {0:?}. Name the one of spec.clusterName or none")]
    ClusterForeign(String),
}
