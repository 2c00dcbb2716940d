//! Starts everything and runs until told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use futures::channel::mpsc;
use remediator_bmc::Bmcs;
use remediator_core::phase::Phase;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::api_call;
use crate::bmc_access::BmcAccess;
use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::clock::Clock;
use crate::clusters::workload::WorkloadClusters;
use crate::daemon::controllers::{Parts, drive};
use crate::daemon::prepare;
use crate::mhc::{Checker, MhcController};
use crate::readiness::{Findings, Readiness};
use crate::remediation::{Remediator, leftover_taints, sessions};
use crate::report::condition_writer::ConditionWriter;
use crate::report::{Metrics, Number, Reporter, serve_metrics};
use crate::requests::annotation::Intakes;
use crate::snapshot::{Sources, node_lease, remediation_history};
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::caches;
use crate::watch::caches::{Caches, readable};
use crate::watch::lost_nodes::LostNodes;

/// Runs the daemon until it is told to stop. `instance`: the name of this replica in events; `metrics_address`: where
/// metrics are served, if anywhere.
///
/// # Errors
/// When it cannot start, or a part of it ended that should not.
pub(crate) async fn run(
    instance: String,
    metrics_address: Option<SocketAddr>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let (mut stop, mut tasks) = (std::pin::pin!(stop), JoinSet::new());
    let (parts, bmc) = tokio::select! {
        () = &mut stop => return Ok(()),
        started = Box::pin(start(instance, metrics_address, &mut tasks)) => started?,
    };
    let ended = tokio::select! {
        () = &mut stop => None,
        ended = tasks.join_next() => Some(name(ended)),
    };
    tracing::info!("stopping");
    // First those who talk to BMCs, so that no conversation is begun after the last one was ended.
    tasks.shutdown().await;
    sessions::end_all_sessions(&parts.remediator.memories, &bmc.bmcs).await;
    match ended {
        None => Ok(()),
        Some(ended) => bail!("the {ended} task ended; the process starts anew"),
    }
}

/// Starts everything in `tasks`.
async fn start(
    instance: String,
    metrics_address: Option<SocketAddr>,
    tasks: &mut JoinSet<&'static str>,
) -> anyhow::Result<(Parts, Arc<BmcAccess>)> {
    let metrics = Metrics::default();
    if let Some(address) = metrics_address {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot serve metrics on {address}; choose another --metrics-address")
        })?;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, "serving metrics");
        let metrics = metrics.clone();
        tasks.spawn(async move {
            serve_metrics(listener, metrics).await;
            "metrics"
        });
    }
    let (client, api_server) = api_call::client()
        .await
        .context("no usable cluster configuration")?;
    let supported = prepare::prepare(&client).await?;
    let clock = Clock::start();
    let lost_nodes = LostNodes::new(clock.clone());
    let cluster_api = ServedClusterApi::default();
    let served = prepare::what_is_served(&client, &cluster_api).await;
    let mhc_changes = tokio::sync::mpsc::unbounded_channel();
    let caches = caches::start(
        &client,
        (&cluster_api, served),
        tasks,
        lost_nodes.clone(),
        &mhc_changes.0,
    );
    let reporter = Reporter::new(client.clone(), instance, metrics.clone());
    let networks = ClusterNetworks::start(&client, api_server, tasks).await;
    let (tell, in_workload) = mpsc::unbounded();
    let (tell_too, left_in_workload) = mpsc::unbounded();
    let workload = WorkloadClusters::new(
        client.clone(),
        clock.clone(),
        vec![tell, tell_too],
        mhc_changes.0.clone(),
    );
    let sources = Arc::new(Sources::new(
        client.clone(),
        clock.clone(),
        caches.clone(),
        cluster_api,
        lost_nodes,
        supported,
        workload,
    ));
    let (ready, ()) = tokio::join!(caches.ready(), node_lease::learn(&sources));
    ready.context("a watch ended before it had listed everything")?;
    let bmc = Arc::new(BmcAccess::new(client, clock.clone(), caches.clone(), networks));
    count(&metrics, &caches, &bmc.bmcs);
    tracing::info!(out_of_service_taint = supported, "ready");
    let parts = parts(&sources, &bmc, &reporter);
    parts.remediator.admitted.watched_from(clock.now());
    drive(&parts, in_workload, mhc_changes, tasks);
    let leftover = leftover_taints::in_workload(Arc::clone(&parts.remediator), left_in_workload);
    tasks.spawn(async move {
        leftover.await;
        "leftover taint of a workload cluster"
    });
    Ok((parts, bmc))
}

fn name(ended: Option<Result<&'static str, tokio::task::JoinError>>) -> String {
    match ended {
        Some(Ok(name)) => name.to_owned(),
        Some(Err(error)) => error.to_string(),
        None => "last".to_owned(),
    }
}

pub(super) fn parts(sources: &Arc<Sources>, bmc: &Arc<BmcAccess>, reporter: &Reporter) -> Parts {
    let checker = Arc::new(Checker::default());
    let remediator = Remediator::new(Arc::clone(sources), Arc::clone(bmc), reporter.clone());
    let admitted = Arc::clone(&remediator.admitted);
    Parts {
        remediator: Arc::new(remediator),
        intakes: Arc::new(Intakes::new(Arc::clone(sources), reporter.clone())),
        health_checker: Arc::new(MhcController {
            sources: Arc::clone(sources),
            reporter: reporter.clone(),
            checker: Arc::clone(&checker),
        }),
        readiness: Arc::new(Readiness {
            sources: Arc::clone(sources),
            bmc: Arc::clone(bmc),
            reporter: reporter.clone(),
            conditions: ConditionWriter::new(sources.clock.clone()),
            findings: Findings::default(),
            checker,
            admitted,
        }),
    }
}

/// Has read what is counted elsewhere when somebody asks for the metrics.
fn count(metrics: &Metrics, caches: &Caches, bmcs: &Bmcs) {
    let name = ("quarantined_machines", "Machines in quarantine, by API");
    let machines = caches.clone();
    metrics.collect(name, Number::Gauge, "api", move || {
        remediation_history::quarantined(&machines)
    });
    let caches = caches.clone();
    let name = ("remediations", "Remediations, by phase");
    metrics.collect(name, Number::Gauge, "phase", move || {
        let mut counts: BTreeMap<&'static str, u64> =
            Phase::ALL.iter().map(|phase| (phase.as_str(), 0)).collect();
        for remediation in readable(&caches.remediations.all()) {
            let count = counts.entry(remediation.phase().as_str()).or_default();
            *count = count.saturating_add(1);
        }
        counts
    });
    let bmcs = bmcs.clone();
    let name = (
        "bmc_requests",
        "Readings, inspections and commands that BMCs were asked for, by what came of it",
    );
    metrics.collect(name, Number::Counter, "outcome", move || bmcs.outcomes());
}
