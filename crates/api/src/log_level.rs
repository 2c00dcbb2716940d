//! How much the daemon logs, as administrators write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much is logged: what is named, and what is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LogLevel {
    /// What keeps the daemon from working.
    Error,
    /// What a person should look at.
    Warn,
    /// One line for each decision that matters.
    Info,
    /// What else may help to find a defect. No secret is in it.
    Debug,
}

impl LogLevel {
    /// The name as it stands in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Warn => "Warn",
            Self::Info => "Info",
            Self::Debug => "Debug",
        }
    }
}
