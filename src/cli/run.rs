//! `run`: the daemon.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::cli::arguments::{LogFormat, RunArguments};
use crate::daemon::run;

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
        run::run(arguments.pod_name.clone(), arguments.metrics_address.0, stop).await
    });
    // A name that is being resolved holds up a thread for as long as the resolver likes.
    runtime.shutdown_background();
    ended
}
