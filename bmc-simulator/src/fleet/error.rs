//! What is wrong with a fleet file, and where.

use serde_saphyr::{Location, Spanned};

use super::words;

/// A fleet file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct FleetError {
    line: u64,
    column: u64,
    reason: String,
}

impl FleetError {
    /// Counted from 1; 0 when it is not known.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// A file that is no YAML, or has something at `path` that does not belong there.
    pub(super) fn unreadable(path: &str, error: &serde_saphyr::Error) -> Self {
        let reason = error.without_snippet().to_string();
        let place = error.location();
        // The text ends with the place, which is told before it.
        let reason = match place {
            Some(place) => reason
                .replace(
                    &format!("at line {}, column {}", place.line(), place.column()),
                    "",
                )
                .trim_end_matches([' ', ':', ','])
                .to_owned(),
            None => reason,
        };
        let (path, reason) = words::in_plain_words(path, &reason);
        let field = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        Self::at(place.unwrap_or(Location::UNKNOWN), format!("{field}{reason}"))
    }

    /// A value that cannot be used.
    pub(super) fn of<T>(value: &Spanned<T>, field: &str, reason: &str) -> Self {
        Self::at(value.referenced, format!("{field}: {reason}"))
    }

    pub(super) fn at(place: Location, reason: String) -> Self {
        Self {
            line: place.line(),
            column: place.column(),
            reason,
        }
    }
}
