//! The only writer of conditions, events and log lines about remediations.

pub mod conditions;
mod events;

pub use events::Reporter;

/// An error and its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        line.push_str(": ");
        line.push_str(&source.to_string());
        cause = source.source();
    }
    line
}
