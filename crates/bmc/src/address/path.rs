//! Paths of Redfish resources, from addresses and from the BMC itself.

use std::fmt;

use http::uri::PathAndQuery;

/// Longest path, in bytes. DSP0266 names no limit; real ones are below 200.
const MAX_PATH: usize = 1024;

/// An absolute path on the BMC's own origin, safe to be written into a request line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourcePath(PathAndQuery);

/// Why a text is no path of a resource; reads as the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// Relative, or an URL of another place.
    #[error("does not begin with a single /")]
    NotAbsolute,
    /// More than 1024 bytes.
    #[error("is longer than 1024 characters")]
    TooLong,
    /// Control characters, backslashes, fragments, non-ASCII.
    #[error("holds characters that a path cannot hold")]
    Characters,
    /// `.` or `..`, encoded or not.
    #[error("holds . or .. segments")]
    Dots,
}

impl ResourcePath {
    /// # Errors
    /// [`BadPath`] when it is anything but a plain absolute path, with or without a query.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        if text.len() > MAX_PATH {
            return Err(BadPath::TooLong);
        }
        if !text.starts_with('/') || text.starts_with("//") {
            return Err(BadPath::NotAbsolute);
        }
        let illegal = |character: char| !character.is_ascii_graphic() || r#"\#"<>^`{|}"#.contains(character);
        if text.contains(illegal) {
            return Err(BadPath::Characters);
        }
        let path = text.split('?').next().unwrap_or(text);
        let path = path.replace("%2e", ".").replace("%2E", ".");
        if path.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err(BadPath::Dots);
        }
        text.parse().map(Self).map_err(|_| BadPath::Characters)
    }

    /// For paths that we wrote ourselves.
    pub(crate) fn fixed(text: &'static str) -> Self {
        Self(PathAndQuery::from_static(text))
    }

    /// The path, with its query.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn to_uri(&self) -> http::Uri {
        http::Uri::from(self.0.clone())
    }
}

impl fmt::Display for ResourcePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
