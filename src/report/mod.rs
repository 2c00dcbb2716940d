//! The only writer of conditions, events and metrics, and of log lines about remediations.

pub(crate) mod condition_writer;
pub mod conditions;
mod events;
mod health_checks;
mod holds;
pub(crate) mod listener;
mod metrics;
mod metrics_server;
mod probes;
mod progress;
mod readiness;
mod recorder;

pub use events::Reporter;
pub use metrics::{Metrics, Number};
pub use metrics_server::serve as serve_metrics;
pub use probes::{Loops, Probes, Standing};
pub use readiness::{HostCheck, ReadinessState};

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
