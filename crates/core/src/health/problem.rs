//! What can be wrong with a health check: the field, and what to do about it.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path} {problem}")]
pub(crate) struct RuleError {
    pub(crate) path: String,
    pub(crate) problem: Problem,
}

impl RuleError {
    pub(super) fn new(path: impl Into<String>, problem: Problem) -> Self {
        Self {
            path: path.into(),
            problem,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Problem {
    #[error("is {0:?}, which is no duration. Write one such as 5m")]
    TimeoutMalformed(String),
    #[error("is negative. Write 0 or more")]
    TimeoutNegative,
    #[error("is shorter than 30 s. Write at least 30 s, or 0 to switch it off")]
    TimeoutTooShort,
    #[error("is {0:?}. Write an integer such as 2 or a percentage such as 40%")]
    NotANumber(String),
    #[error("is the text {0:?}. Write a percentage such as 40%, or a number without quotes")]
    NotAPercentage(String),
    #[error("is {0:?}. Write a range such as [3-5]")]
    RangeMalformed(String),
    #[error("ends at {to}, before it begins at {from}. Write the smaller number first")]
    RangeReversed { from: u32, to: u32 },
    #[error("is empty. List at least one condition")]
    NoConditions,
    #[error("lists {0} conditions. List at most 100")]
    TooManyConditions(usize),
    #[error("lacks its type or its status. Write both")]
    ConditionIncomplete,
    #[error("is {0}, which sums up others or follows from health checks. Name another type")]
    ConditionForbidden(String),
    #[error("is {0:?}. Write True, False or Unknown")]
    StatusUnknown(String),
    #[error("is empty. Name the labels of the Machines that are meant")]
    SelectorEmpty,
    #[error("has {0:?}, which is no label key. Correct it")]
    LabelKeyInvalid(String),
    #[error("has {0:?}, which is no label value. Correct it")]
    LabelValueInvalid(String),
    #[error("has the operator {0:?}. Write In, NotIn, Exists or DoesNotExist")]
    OperatorUnknown(String),
    #[error("lists no values for {0:?}. List at least one, or write Exists or DoesNotExist")]
    ValuesMissing(String),
    #[error("lists values for {0:?}. Remove them, or write In or NotIn")]
    ValuesUnwanted(String),
    #[error("cannot be read: {0}. Correct the field that is named")]
    Unreadable(String),
    #[error("is empty. Name the Cluster of the Machines")]
    ClusterNameMissing,
    #[error("asks for the Cluster {0:?}. Name the one of spec.clusterName or none")]
    ClusterForeign(String),
}
