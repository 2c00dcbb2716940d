//! Log lines: to standard error, as text or as JSON, and how much of them while the process runs.

use std::sync::Arc;

use remediator_api::log_level::LogLevel;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Directive;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt, reload};

use crate::daemon::log_level::SetLevel;

/// Our own crates. What others log may contain what was sent to a BMC, and is up to who starts the process.
const OURS: [&str; 4] = [
    "baremetal_remediator",
    "remediator_api",
    "remediator_bmc",
    "remediator_core",
];

/// How log lines look.
#[derive(Clone, Copy, Debug)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for log collectors.
    Json,
}

/// What is logged, and how.
pub(super) struct Log {
    /// One that can be read.
    pub(super) filter: String,
    pub(super) format: LogFormat,
}

impl LogFormat {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Begins to log. The answer changes how much.
pub(super) fn start(log: Log) -> SetLevel {
    let Log { filter, format } = log;
    let (layer, handle) = reload::Layer::new(at(&filter, None));
    let log = tracing_subscriber::registry().with(layer);
    let lines = fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.with(lines.with_ansi(false)).init(),
        LogFormat::Json => log.with(lines.json()).init(),
    }
    Arc::new(move |level| {
        if let Err(error) = handle.reload(at(&filter, level)) {
            tracing::warn!(%error, "the log level stays as it is");
        }
    })
}

/// The filter, and for our own crates this level.
fn at(filter: &str, level: Option<LogLevel>) -> EnvFilter {
    let filter = EnvFilter::new(filter);
    let Some(level) = level else {
        return filter;
    };
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let ours = OURS
        .iter()
        .filter_map(|name| format!("{name}={level}").parse::<Directive>().ok());
    ours.fold(filter, EnvFilter::add_directive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_changes_the_level_of_our_own_crates_and_no_other() {
        let filter = at("info,kube=warn,remediator_bmc=error", Some(LogLevel::Debug)).to_string();
        let parts: Vec<&str> = filter.split(',').collect();
        for part in [
            "info",
            "kube=warn",
            "remediator_bmc=debug",
            "baremetal_remediator=debug",
        ] {
            assert!(parts.contains(&part), "{part} is not in {filter}");
        }
        assert!(!parts.contains(&"remediator_bmc=error"), "{filter}");
        assert_eq!(at("info", None).to_string(), "info");
    }
}
