//! A part of a whole, as administrators write it: a count, or a percentage.

use std::fmt;
use std::str::FromStr;

/// How many of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// So many, however many there are. None where it is zero.
    Count(u32),
    /// From 0 to 100 of a hundred, rounded down, and not below what a caller says is few; none where it is zero.
    Percent(u32),
}

impl Share {
    /// Whether it is nothing of any whole.
    pub fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Percent(0))
    }

    /// How many of a whole that is. `few`: what a percentage is at least.
    pub fn of(self, whole: usize, few: usize) -> usize {
        match self {
            Self::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            Self::Percent(0) => 0,
            Self::Percent(percent) => {
                let percent = usize::try_from(percent.min(100)).unwrap_or(100);
                let part = whole.saturating_mul(percent).checked_div(100).unwrap_or(0);
                part.max(few)
            }
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(out, "{count}"),
            Self::Percent(percent) => write!(out, "{percent}%"),
        }
    }
}

/// The text is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither a count nor a percentage from 0% to 100%; write 3 or 10%")]
pub struct BadShare(String);

impl FromStr for Share {
    type Err = BadShare;

    fn from_str(text: &str) -> Result<Self, BadShare> {
        let bad = || BadShare(text.to_owned());
        let digits = |text: &str| {
            let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            all_digits.then(|| text.parse::<u32>().ok()).flatten()
        };
        match text.strip_suffix('%') {
            Some(percent) => {
                let percent = digits(percent).filter(|percent| *percent <= 100);
                percent.map(Self::Percent).ok_or_else(bad)
            }
            None => digits(text).map(Self::Count).ok_or_else(bad),
        }
    }
}
