//! `run`: the daemon.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::cli::arguments::{LogFormat, RunArguments};
use crate::daemon::run::{self, Settings};

pub(super) fn run(arguments: &RunArguments) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&arguments.log_filter)
        .with_context(|| format!("--log-filter \"{}\" is not a log filter", arguments.log_filter))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match arguments.log_format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().init(),
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()?;
    let ended = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        // Of this process alone, not of the one that its container starts next.
        let process =
            getrandom::u32().context("the system gives no random number to tell this process from others")?;
        let identity = format!("{}_{process:08x}", arguments.pod_name);
        let settings = Settings {
            instance: arguments.pod_name.clone(),
            node: Some(arguments.node_name.clone()).filter(|name| !name.is_empty()),
            metrics_address: arguments.metrics_address.0,
            elected_as: arguments.leader_elect.then_some(identity),
            process,
        };
        run::run(settings, stop).await
    });
    // A name that is being resolved holds up a thread for as long as the resolver likes.
    runtime.shutdown_background();
    ended
}
