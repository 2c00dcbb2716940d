//! `run`: the daemon.

mod checked;
mod logging;

use anyhow::{Context as _, anyhow};
use tokio::signal::unix::{SignalKind, signal};

use self::checked::Checked;
use crate::api_call;
use crate::cli::arguments::RunArguments;
use crate::cli::usage::WrongUsage;
use crate::daemon::run::{self, Settings};

pub(super) fn run(arguments: &RunArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()?;
    let (checked, mut wrong) = checked::check(arguments);
    // Whoever is told that something is wrong is told of all of it.
    let cluster = runtime.block_on(api_call::config());
    if let Err(error) = &cluster {
        wrong.push(format!(
            "the cluster: {error:#}; set KUBECONFIG, or run in a Pod with a ServiceAccount"
        ));
    }
    let (Some(checked), Ok(cluster)) = (checked.filter(|_| wrong.is_empty()), cluster) else {
        return Err(WrongUsage(anyhow!(checked::listed(&wrong))).into());
    };
    let Checked {
        leader_elect,
        metrics_address,
        status_address,
        log,
    } = checked;
    let set_log_level = logging::start(log);
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
            metrics_address,
            status_address,
            elected_as: leader_elect.then_some(identity),
            process,
            cluster,
            set_log_level,
        };
        run::run(settings, stop).await
    });
    // A name that is being resolved holds up a thread for as long as the resolver likes.
    runtime.shutdown_background();
    ended
}
