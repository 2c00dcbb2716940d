//! What is wrong with a fleet file, and where.

use serde_saphyr::{Location, Spanned};

use super::MOST_HOSTS;

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
        let path = as_written(path);
        let expected = expected(&path, &reason);
        let field = if matches!(path.as_str(), "" | "." | "?") {
            String::new()
        } else {
            format!("{path}: ")
        };
        Self::at(
            place.unwrap_or(Location::UNKNOWN),
            format!("{field}{reason}{expected}"),
        )
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

/// What to write where serde says only what is wrong.
fn expected(path: &str, reason: &str) -> String {
    if reason.starts_with("missing field") {
        return ": add it".to_owned();
    }
    let count = path.rsplit('.').next() == Some("count");
    match reason {
        "invalid u16" if count => format!(": write a whole number from 1 to {MOST_HOSTS}"),
        "invalid u16" => ": write a whole number from 0 to 65535".to_owned(),
        "invalid u32" | "invalid u64" => ": write a whole number, 0 or more".to_owned(),
        "invalid socket address syntax" => ": write ADDRESS:PORT, such as 127.0.0.1:8000".to_owned(),
        "invalid IP address syntax" => ": write an address, such as 127.1.0.1".to_owned(),
        _ => String::new(),
    }
}

/// A path without the `value` of what knows its own place, which no file has.
fn as_written(path: &str) -> String {
    let path = path.replace(".value[", "[").replace(".value.", ".");
    match path.strip_suffix(".value") {
        Some(rest) if !rest.ends_with("json-set") => rest.to_owned(),
        Some(_) | None => path,
    }
}
