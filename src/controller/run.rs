//! Starts everything and runs until told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use futures::channel::mpsc;
use kube::ResourceExt as _;
use kube::runtime::Controller;
use kube::runtime::reflector::{ObjectRef, ReflectHandle};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::about::machine_name;
use super::caches::{self, Caches, Changes, Guarded, MachineStores};
use super::clock::Clock;
use super::cluster_networks::ClusterNetworks;
use super::concerned::{active, of_cluster, of_machine, of_namespace, of_node, of_workload, triggered};
use super::context::Context;
use super::lost_nodes::LostNodes;
use super::served::ServedClusterApi;
use super::workload::{Change, WorkloadClusters};
use super::{acceptance, api_call, farewell, leftover, node_lease, prepare, readiness, reconcile};
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{BMCEndpoint, PowerCycleRemediation, RemediationPolicy};
use crate::core::phase::Phase;
use crate::intake::annotation::{self, Intakes};
use crate::intake::health_check;
use crate::intake::health_check::wake::{Waker, Wakes, Woke};
use crate::report::{Metrics, Reporter, serve_metrics};

/// What the process is told.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Name of this replica, for events.
    pub instance: String,
    /// Where metrics are served; nowhere without.
    pub metrics: Option<SocketAddr>,
}

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// When it cannot start, or a part of it ended that should not.
pub async fn run(options: RunOptions, stop: impl Future<Output = ()> + Send) -> anyhow::Result<()> {
    let metrics = Metrics::default();
    let mut tasks = JoinSet::new();
    if let Some(address) = options.metrics {
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
    let mut stop = std::pin::pin!(stop);
    let supported = tokio::select! {
        () = &mut stop => return Ok(()),
        supported = prepare::prepare(&client) => supported?,
    };
    let clock = Clock::start();
    let lost_nodes = LostNodes::new(clock.clone());
    let cluster_api = ServedClusterApi::default();
    let served = tokio::select! {
        () = &mut stop => return Ok(()),
        served = prepare::what_is_served(&client, &cluster_api) => served,
    };
    let (waker, woken) = tokio::sync::mpsc::unbounded_channel();
    let on_node = {
        let lost_nodes = lost_nodes.clone();
        move |event: &_| lost_nodes.note(event)
    };
    let listeners = (on_node, Wakes::new(&waker));
    let (caches, changes) = caches::start(&client, (&cluster_api, served), &mut tasks, listeners)?;
    let reporter = Reporter::new(client.clone(), options.instance, metrics.clone());
    let networks = tokio::select! {
        () = &mut stop => return Ok(()),
        networks = ClusterNetworks::start(&client, api_server, &mut tasks) => networks,
    };
    let (tell, in_workload) = mpsc::unbounded();
    let (tell_too, left_in_workload) = mpsc::unbounded();
    let workload = WorkloadClusters::new(client.clone(), clock.clone(), vec![tell, tell_too]);
    let caches = (caches, lost_nodes, networks);
    let clusters = (cluster_api, workload);
    let context = Arc::new(Context::new(client, clock, caches, clusters, reporter, supported));
    tokio::select! {
        () = &mut stop => return Ok(()),
        (ready, ()) = async { tokio::join!(context.caches.ready(), node_lease::learn(&context)) } => ready.context("a watch ended before it had listed everything")?,
    }
    count(&metrics, &context);
    tracing::info!(out_of_service_taint = supported, "ready");
    drive(&context, changes, in_workload, (waker, woken), &mut tasks);
    let leftover = leftover::in_workload(Arc::clone(&context), left_in_workload);
    tasks.spawn(async move {
        leftover.await;
        "leftover taint of a workload cluster"
    });
    let ended = tokio::select! {
        () = &mut stop => None,
        ended = tasks.join_next() => Some(name(ended)),
    };
    tracing::info!("stopping");
    // First those who talk to BMCs, so that no talk is begun after the last one was ended.
    tasks.shutdown().await;
    farewell::end_talks(&context.memories, &context.bmcs).await;
    match ended {
        None => Ok(()),
        Some(ended) => bail!("the {ended} task ended; the process starts anew"),
    }
}

fn name(ended: Option<Result<&'static str, tokio::task::JoinError>>) -> String {
    match ended {
        Some(Ok(name)) => name.to_owned(),
        Some(Err(error)) => error.to_string(),
        None => "last".to_owned(),
    }
}

/// Starts the controllers of remediations, and of triggers on the Machines of each API; and what sets such
/// triggers.
fn drive(
    context: &Arc<Context>,
    changes: Changes,
    workload: mpsc::UnboundedReceiver<Change>,
    wakes: (Waker, UnboundedReceiver<Woke>),
    tasks: &mut JoinSet<&'static str>,
) {
    sweep(context, changes.returning, tasks);
    let (stance_taken, policy_again) = mpsc::unbounded();
    health_check::run(context, wakes, stance_taken, tasks);
    judge(
        context,
        Judged {
            endpoints: changes.new_endpoints,
            policies: changes.new_policies,
            policy_again,
        },
        tasks,
    );
    let caches = context.caches.clone();
    let in_workload = workload.flat_map({
        let caches = caches.clone();
        move |change| futures::stream::iter(of_workload(&caches, &change))
    });
    let in_clusters = changes.clusters.flat_map({
        let concerned = of_cluster(&caches);
        move |cluster| futures::stream::iter(concerned(cluster))
    });
    let remediations = Controller::for_shared_stream(changes.remediations, caches.remediations.clone())
        .watches_shared_stream(changes.openshift.machines, of_machine(&caches))
        .watches_shared_stream(changes.cluster_api.machines, of_machine(&caches))
        .watches_shared_stream(changes.nodes, of_node(&caches))
        .watches_shared_stream(
            changes.openshift.health_checks,
            of_namespace::<MachineHealthCheck>(&caches),
        )
        .watches_shared_stream(
            changes.cluster_api.health_checks,
            of_namespace::<MachineHealthCheck>(&caches),
        )
        .watches_shared_stream(changes.endpoints, of_namespace::<BMCEndpoint>(&caches))
        .watches_shared_stream(changes.policies, {
            let caches = caches.clone();
            move |_| active(&caches, |_| true)
        })
        .reconcile_on(futures::stream::select(in_workload, in_clusters))
        .run(reconcile::reconcile, reconcile::error_policy, Arc::clone(context));
    tasks.spawn(async move {
        remediations.for_each(|_| std::future::ready(())).await;
        "remediation"
    });
    let intakes = Arc::new(Intakes::new(Arc::clone(context)));
    for (stores, triggers, vouching, finished) in [
        (
            caches.openshift.clone(),
            changes.openshift.triggers,
            changes.openshift.vouching,
            changes.openshift.finished,
        ),
        (
            caches.cluster_api.clone(),
            changes.cluster_api.triggers,
            changes.cluster_api.vouching,
            changes.cluster_api.finished,
        ),
    ] {
        take_in(&caches, stores, (triggers, vouching, finished), &intakes, tasks);
    }
}

/// Changes that the intake of one API's Machines looks at.
type IntakeChanges = (
    ReflectHandle<Guarded<Machine>>,
    ReflectHandle<Guarded<MachineHealthCheck>>,
    ReflectHandle<Guarded<PowerCycleRemediation>>,
);

/// Starts the intake of triggers on the Machines of one API.
fn take_in(
    caches: &Caches,
    stores: MachineStores,
    (triggers, vouching, finished): IntakeChanges,
    intakes: &Arc<Intakes>,
    tasks: &mut JoinSet<&'static str>,
) {
    let caches = caches.clone();
    let triggers = Controller::for_shared_stream(triggers, stores.machines.clone())
        .watches_shared_stream(finished, {
            move |remediation: Arc<Guarded<PowerCycleRemediation>>| {
                let namespace = remediation.namespace().unwrap_or_default();
                let readable = remediation.0.as_ref().ok();
                let machine = readable.and_then(|remediation| machine_name(&caches, remediation));
                machine.map(|machine| ObjectRef::<Guarded<Machine>>::new(&machine).within(&namespace))
            }
        })
        .watches_shared_stream(vouching, {
            move |check: Arc<Guarded<MachineHealthCheck>>| triggered(&stores, check.namespace().as_deref())
        })
        .run(
            annotation::reconcile,
            annotation::error_policy,
            Arc::clone(intakes),
        );
    tasks.spawn(async move {
        triggers.for_each(|_| std::future::ready(())).await;
        "intake"
    });
}

/// Has read what is counted elsewhere when somebody asks for the metrics.
fn count(metrics: &Metrics, context: &Arc<Context>) {
    let caches = context.caches.clone();
    metrics.gauge_of("remediations", "Remediations, by phase", "phase", move || {
        let mut counts: BTreeMap<&'static str, u64> =
            Phase::ALL.iter().map(|phase| (phase.as_str(), 0)).collect();
        for remediation in caches.readable_remediations().iter() {
            let status = remediation.status.as_ref();
            let phase = status.map(|status| status.journal.phase).unwrap_or_default();
            let count = counts.entry(phase.as_str()).or_default();
            *count = count.saturating_add(1);
        }
        counts
    });
    let bmcs = context.bmcs.clone();
    metrics.counter_of(
        "bmc_requests",
        "Readings, inspections and commands that BMCs were asked for, by what came of it",
        "outcome",
        move || bmcs.outcomes(),
    );
}

/// Starts those that say whether endpoints and the policy can be used, and whether BMCs are ready.
fn judge(context: &Arc<Context>, changes: Judged, tasks: &mut JoinSet<&'static str>) {
    let (endpoints, policies) = (context.caches.endpoints.clone(), context.caches.policies.clone());
    let (one, one_again) = mpsc::unbounded();
    let (all, all_again) = mpsc::unbounded();
    let endpoints = Controller::for_shared_stream(changes.endpoints, endpoints)
        .reconcile_on(one_again)
        .reconcile_all_on(all_again)
        .run(
            acceptance::endpoint,
            acceptance::error_policy,
            Arc::clone(context),
        );
    let checks = readiness::run(Arc::clone(context), readiness::Tell { one, all });
    tasks.spawn(async move {
        checks.await;
        "readiness"
    });
    tasks.spawn(async move {
        endpoints.for_each(|_| std::future::ready(())).await;
        "BMCEndpoint"
    });
    let policies = Controller::for_shared_stream(changes.policies, policies)
        .reconcile_all_on(changes.policy_again)
        .run(acceptance::policy, acceptance::error_policy, Arc::clone(context));
    tasks.spawn(async move {
        policies.for_each(|_| std::future::ready(())).await;
        "RemediationPolicy"
    });
}

/// Changes of what is judged before it is needed.
struct Judged {
    endpoints: ReflectHandle<Guarded<BMCEndpoint>>,
    policies: ReflectHandle<Guarded<RemediationPolicy>>,
    /// There is something else to say on the policy.
    policy_again: mpsc::UnboundedReceiver<()>,
}

/// Starts the one that removes leftover taints.
fn sweep(context: &Arc<Context>, returning: ReflectHandle<Guarded<Node>>, tasks: &mut JoinSet<&'static str>) {
    let nodes = Controller::for_shared_stream(returning, context.caches.nodes.clone()).run(
        leftover::reconcile,
        leftover::error_policy,
        Arc::clone(context),
    );
    tasks.spawn(async move {
        nodes.for_each(|_| std::future::ready(())).await;
        "leftover taint"
    });
}
