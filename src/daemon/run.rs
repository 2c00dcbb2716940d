//! Starts everything and runs until told to stop.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::channel::mpsc;
use kube::client::ClientBuilder;
use kube::{Client, Config};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::bmc_access::BmcAccess;
use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::clock::Clock;
use crate::clusters::node_cluster::cluster_uid;
use crate::clusters::workload::{Change, WorkloadClusters};
use crate::daemon::controllers::{Parts, drive, drive_remediations};
use crate::daemon::log_level::{self, SetLevel};
use crate::daemon::{counting, prepare};
use crate::leadership::election::{self, Elected};
use crate::leadership::gate;
use crate::leadership::lead::Lead;
use crate::mhc::{Checker, MhcController};
use crate::readiness::{Findings, Readiness};
use crate::remediation::{Remediator, leftover_holds, leftover_taints, sessions};
use crate::report::condition_writer::ConditionWriter;
use crate::report::{Loops, Metrics, Probes, Reporter, Standing, serve_metrics};
use crate::requests::annotation::Intakes;
use crate::snapshot::{Sources, node_lease};
use crate::status_page::{self, StatusPage};
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::caches;
use crate::watch::change_events::{ChangeSender, MhcChange};
use crate::watch::lost_nodes::LostNodes;

/// How the daemon runs.
pub(crate) struct Settings {
    /// The name of this replica in events.
    pub(crate) instance: String,
    /// The Node on which it runs, if that is known.
    pub(crate) node: Option<String>,
    /// Where metrics are served, if anywhere.
    pub(crate) metrics_address: Option<SocketAddr>,
    /// Where the status page is served, if anywhere.
    pub(crate) status_address: Option<SocketAddr>,
    /// The holder of the Lease that this process wants to be; none where it leads without one.
    pub(crate) elected_as: Option<String>,
    /// Random number of this process.
    pub(crate) process: u32,
    /// The cluster, and the addresses of its API server as far as they are named.
    pub(crate) cluster: (Config, Vec<IpAddr>),
    /// Changes the log level.
    pub(crate) set_log_level: SetLevel,
}

/// What everything is made from.
struct Ground {
    client: Client,
    /// Addresses of the API server.
    api_server: Vec<IpAddr>,
    clock: Clock,
    lead: Lead,
    set_log_level: SetLevel,
}

/// How long the hand-over to another replica waits for BMCs to end sessions.
const HAND_OVER: Duration = Duration::from_millis(500);

/// What has to be ended in order.
type Started = (Parts, Arc<BmcAccess>);

/// What is to be begun once everything is listed.
struct Later {
    metrics: Metrics,
    mhc_changes: (ChangeSender, UnboundedReceiver<MhcChange>),
    left_in_workload: mpsc::UnboundedReceiver<Change>,
    all_again: mpsc::UnboundedSender<()>,
}

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// When it cannot start, a part of it ended that should not, or the lead was lost.
pub(crate) async fn run(settings: Settings, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    let (metrics, probes) = (Metrics::default(), Probes::default());
    let running = led(settings, (metrics, probes.clone()), stop);
    probes.watched("leadership", Box::pin(running)).await
}

/// Waits for the lead, and acts while it has it.
async fn led(
    settings: Settings,
    (metrics, probes): (Metrics, Probes),
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let (mut stop, mut tasks) = (std::pin::pin!(stop), Loops::new(probes.clone()));
    let served = (metrics.clone(), probes.clone());
    serve(settings.metrics_address, served, &mut tasks).await?;
    let page = Arc::new(StatusPage::new(settings.instance.clone(), probes.clone()));
    status_page::serve(settings.status_address, &page, &mut tasks).await?;
    let (config, api_server) = settings.cluster;
    let (clock, held) = (Clock::start(), Arc::new(OnceLock::new()));
    counting::of_replica(&metrics, &probes, &held);
    let mut elected = tokio::select! {
        () = &mut stop => return Ok(()),
        elected = election(settings.elected_as, &config, &clock, &probes) => elected?,
    };
    let lead = elected.as_ref().map(|elected| elected.lead.clone());
    let lead = lead
        .unwrap_or_else(Lead::alone)
        .of(settings.process, settings.node.as_deref());
    // It is led once in a process.
    let _ = held.set(lead.clone());
    probes.stands(Standing::Listing);
    let client = ClientBuilder::try_from(config)?.with_layer(&gate::layer(&lead));
    let ground = Ground {
        client: client.build(),
        api_server,
        clock,
        lead: lead.clone(),
        set_log_level: settings.set_log_level,
    };
    let mut started = None;
    let ended = tokio::select! {
        () = &mut stop => Ok(()),
        () = lead.handed_over() => {
            tracing::warn!(node = lead.node(), "handing over: the Node of this replica is to be power-cycled");
            Ok(())
        }
        // Nothing more is said to anybody: whoever leads now says it.
        why = kept(elected.as_mut()) => bail!("the lead is lost: {why}; the process starts anew"),
        ended = lead_on(ground, (settings.instance, metrics, probes, page), &mut tasks, &mut started) => ended,
    };
    tracing::info!("stopping");
    // First those who talk to BMCs, so that no conversation is begun after the last one was ended.
    tasks.shutdown().await;
    let mut endings = Box::pin(async {
        if let Some((parts, bmc)) = &started {
            sessions::end_all_sessions(&parts.remediator.memories, &bmc.bmcs).await;
        }
    });
    // A BMC that is slow does not keep the others waiting: the successor ends the sessions that are journalled, too.
    let all_ended = tokio::time::timeout(HAND_OVER, &mut endings).await;
    if let Some(elected) = &mut elected {
        elected.give_away().await;
    }
    if all_ended.is_err() {
        endings.await;
    }
    ended
}

/// Waits for the lead, where there is to be one.
async fn election(
    holder: Option<String>,
    config: &Config,
    clock: &Clock,
    probes: &Probes,
) -> anyhow::Result<Option<Elected>> {
    let Some(holder) = holder else {
        return Ok(None);
    };
    // This one writes before anybody leads.
    let client = Client::try_from(config.clone())?;
    let elected = election::elected(client, clock.clone(), holder, probes).await;
    Ok(Some(elected))
}

/// Why the lead was lost; never, without an election.
async fn kept(elected: Option<&mut Elected>) -> String {
    match elected {
        Some(elected) => elected.keep().await,
        None => std::future::pending().await,
    }
}

/// Starts everything, and waits for what ends of it.
async fn lead_on(
    ground: Ground,
    (instance, metrics, probes, page): (String, Metrics, Probes, Arc<StatusPage>),
    tasks: &mut Loops,
    started: &mut Option<Started>,
) -> anyhow::Result<()> {
    let (begun, later) = Box::pin(start(ground, instance, metrics, tasks)).await?;
    let started = started.insert(begun);
    page.leads(&started.0.readiness);
    Box::pin(go_on(&started.0, later, tasks)).await?;
    probes.stands(Standing::Leading);
    let caches = started.0.remediator.sources.caches.clone();
    tokio::select! {
        ended = tasks.ended() => bail!("the {ended} task ended; the process starts anew"),
        label = caches.domain_label.is_another(&caches) => {
            tracing::warn!(label, "beginning anew: the policy names another label for failure domains");
            Ok(())
        }
    }
}

/// Serves metrics and answers probes, if that is asked for.
async fn serve(
    address: Option<SocketAddr>,
    (metrics, probes): (Metrics, Probes),
    tasks: &mut Loops,
) -> anyhow::Result<()> {
    let Some(address) = address else {
        return Ok(());
    };
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot serve metrics on {address}; choose another --metrics-address"))?;
    let address = listener.local_addr().unwrap_or(address);
    tracing::info!(%address, "serving metrics");
    tasks.spawn("metrics", serve_metrics(listener, metrics, probes));
    Ok(())
}

/// Starts in `tasks` what is watched, and brings hosts back that are off: that waits for nothing but the list of
/// remediations.
async fn start(
    Ground {
        client,
        api_server,
        clock,
        lead,
        set_log_level,
    }: Ground,
    instance: String,
    metrics: Metrics,
    tasks: &mut Loops,
) -> anyhow::Result<(Started, Later)> {
    let supported = prepare::prepare(&client).await?;
    let lost_nodes = LostNodes::new(clock.clone());
    let cluster_api = ServedClusterApi::default();
    let served = prepare::what_is_served(&client, &cluster_api).await;
    let domain_label = prepare::domain_label(&client).await;
    let mhc_changes = tokio::sync::mpsc::unbounded_channel();
    let caches = caches::start(
        &client,
        (&cluster_api, served),
        (&metrics, tasks),
        (lost_nodes.clone(), domain_label.clone()),
        &mhc_changes.0,
    );
    tasks.spawn("log level", log_level::follow(caches.clone(), set_log_level));
    let reporter = Reporter::new(client.clone(), instance, metrics.clone());
    let networks = ClusterNetworks::start(&client, api_server, tasks).await;
    let (tell, in_workload) = mpsc::unbounded();
    let (tell_too, left_in_workload) = mpsc::unbounded();
    let workload = WorkloadClusters::new(
        client.clone(),
        (clock.clone(), domain_label),
        lead.clone(),
        vec![tell, tell_too],
        mhc_changes.0.clone(),
    );
    let sources = Arc::new(Sources::new(
        client.clone(),
        (clock.clone(), lead),
        caches.clone(),
        cluster_api,
        lost_nodes,
        supported,
        workload,
    ));
    let listed = caches.remediations.wait_until_ready().await;
    listed.context("a watch ended before it had listed the remediations")?;
    let bmc = Arc::new(BmcAccess::new(client, clock, caches, networks));
    let parts = parts(&sources, &bmc, &reporter);
    let (all_again, again) = mpsc::unbounded();
    drive_remediations(&parts, in_workload, again, tasks);
    let later = Later {
        metrics,
        mhc_changes,
        left_in_workload,
        all_again,
    };
    Ok(((parts, bmc), later))
}

/// Starts everything else, which may begin something: once all is listed that it is decided on.
async fn go_on(parts: &Parts, later: Later, tasks: &mut Loops) -> anyhow::Result<()> {
    let (remediator, sources) = (&parts.remediator, &parts.remediator.sources);
    let uid = cluster_uid(&sources.client);
    let (ready, (), uid) = tokio::join!(sources.caches.ready(), node_lease::learn(sources), uid);
    // It is read once.
    let _ = uid.map(|uid| sources.clusters.uid.set(uid));
    ready.context("a watch ended before it had listed everything")?;
    counting::of_leader(&later.metrics, parts);
    let supported = sources.clusters.out_of_service_supported;
    tracing::info!(out_of_service_taint = supported, "ready");
    remediator.admitted.watched_from(sources.clock.now());
    remediator.all_is_listed();
    // The task that hears this lives as long as the process.
    let _ = later.all_again.unbounded_send(());
    drive(parts, later.mhc_changes, tasks);
    let leftover = leftover_taints::in_workload(Arc::clone(remediator), later.left_in_workload);
    tasks.spawn("leftover taint of a workload cluster", leftover);
    let holds = leftover_holds::give_back(Arc::clone(&parts.remediator));
    tasks.spawn("holds of deleted remediations", holds);
    Ok(())
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
