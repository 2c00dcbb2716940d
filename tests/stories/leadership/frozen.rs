//! invariant 7: a leader is frozen when a call to the API server is done and not answered, so that what it does next is
//! unsent, be it a power command, a journal entry or a taint. Another one leads; then the first goes on with its answer.
//!
//! The calls are learnt by a run without that. Each pair of replicas sees one host, and has a Lease of its own.
#![allow(clippy::indexing_slicing, reason = "there is one host")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::Event;
use futures::future::join_all;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use harness::process::{ChildDaemon, Signal};
use harness::{Cluster, Cursor};
use remediator_core::journal::Verb;
use remediator_core::phase::Phase;
use tokio::sync::{Semaphore, watch};
use world::fault::calls::naming;
use world::fault::stage::Stage;
use world::front::api::{ApiFront, Only};
use world::front::{Call, Gate};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, daemon, install, record, truth};

use super::{DAEMON, LONG, leads};

static SETTING: Setting = Setting::shared("frozen leaders").taking(120);
/// Pairs of replicas at once.
const AT_ONCE: usize = 4;

/// What the successor does, from its first write of a remediation on.
#[derive(Default)]
struct Successor {
    writes: watch::Sender<Option<Instant>>,
}

impl Gate for Successor {
    async fn pass<A: Send>(&self, call: &Call, made: impl Future<Output = A> + Send) -> Option<A> {
        if changes_something(&call.name) {
            self.writes.send_if_modified(|first| {
                let is_first = first.is_none();
                first.get_or_insert_with(Instant::now);
                is_first
            });
        }
        Some(made.await)
    }
}

fn changes_something(call: &str) -> bool {
    let name = call.rsplit('/').next().unwrap_or(call);
    !name.starts_with("get-") && !name.contains("leases")
}

/// A host, and two replicas that see nothing else.
struct Pair {
    world: World,
    stage: Arc<Stage>,
    successor: Arc<Successor>,
    first: ChildDaemon,
    second: ChildDaemon,
    _fronts: [ApiFront; 2],
}

impl Pair {
    async fn start(cluster: &Cluster) -> Result<Self> {
        let namespace = cluster.namespace("frozen").await?;
        let prefix = cluster.unique("frozen");
        let world = World::named(cluster, namespace.clone(), prefix, vec![HostOptions::default()]).await?;
        world.health_check().await?;
        install::allow_leader_election_in(&world.client, &namespace).await?;
        let only = Only {
            namespace: namespace.clone(),
            node: Some(world.hosts[0].name.clone()),
        };
        let (stage, successor) = (Arc::new(Stage::default()), Arc::new(Successor::default()));
        let fronts = [
            ApiFront::start(cluster, Arc::clone(&stage), naming, Some(only.clone())).await?,
            ApiFront::start(cluster, Arc::clone(&successor), naming, Some(only)).await?,
        ];
        let first = fronts[0].start_replica(DAEMON, "first", &namespace)?;
        leads(&first, LONG).await?;
        let second = fronts[1].start_replica(DAEMON, "second", &namespace)?;
        second.wait_for_line("standing by", LONG).await?;
        Ok(Self {
            world,
            stage,
            successor,
            first,
            second,
            _fronts: fronts,
        })
    }

    fn host(&self) -> &WorldHost {
        &self.world.hosts[0]
    }

    /// Waits for the first act of the successor: a write, or a connection to the BMC. How soon that has to be is another
    /// story's, which is not as busy.
    async fn goes_on(&self) -> Result<()> {
        let host = self.host();
        let seen = host.bmc.journal().last().map_or(0, |entry| entry.seq);
        let mut writes = self.successor.writes.subscribe();
        let acts = async {
            tokio::select! {
                asked = host.bmc.wait_for_entry(seen, |event| matches!(event, Event::TcpAccepted)) => {
                    asked?;
                }
                written = writes.wait_for(Option::is_some) => {
                    written?;
                }
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(LONG, acts)
            .await
            .context("the successor does not go on")?
    }

    /// The first goes on with the answer that it was waiting for, and does nothing with it.
    async fn thaws(&self) -> Result<()> {
        let before = self.stage.calls().len();
        self.stage.thawed();
        self.first.signal(Signal::Cont)?;
        let status = self
            .first
            .exited(LONG)
            .await
            .context("it goes on without the lead")?;
        ensure!(
            !status.success(),
            "it has to be started anew, but says that it ended well"
        );
        let since = self.stage.calls().split_off(before);
        let tried: Vec<_> = since.into_iter().filter(|call| changes_something(call)).collect();
        ensure!(tried.is_empty(), "after it was frozen it tried {tried:?}");
        Ok(())
    }

    /// The host went off once and on once, by one command each, and was released once.
    async fn ends_well(&self, cursor: Cursor) -> Result<()> {
        let (world, host) = (&self.world, self.host());
        let ended = world.remediation_ended(&host.remediation(), LONG).await?;
        ensure!(world::phase(&ended) == Phase::Succeeded, "{:?}", ended.status);
        let transitions = host.transitions();
        ensure!(transitions == (1, 1), "power changes: {transitions:?}");
        let (sent, foreign) = record::commands(host);
        let verbs: Vec<_> = sent.iter().map(|sent| sent.verb).collect();
        ensure!(
            verbs == [Verb::PowerOff, Verb::PowerOn] && foreign.is_empty(),
            "{verbs:?} {foreign:?}"
        );
        let uncovered = record::uncovered_commands(world, cursor).await?;
        ensure!(uncovered.is_empty(), "{uncovered:?}");
        let releases = truth::releases(world, cursor, host).await?;
        ensure!(releases == 1, "{releases} releases");
        Ok(())
    }
}

/// What the leader calls that is not frozen, each once, as far as something comes after it.
async fn learnt(cluster: &Cluster) -> Result<Vec<String>> {
    let pair = Pair::start(cluster).await?;
    let cursor = cluster.audit_cursor()?;
    pair.stage.begin(Vec::new());
    pair.world.falls_silent_and_is_reported(pair.host()).await?;
    pair.ends_well(cursor).await?;
    let calls = pair.stage.calls().into_iter();
    // Renewals of the Lease, and looks at the cluster's networks, come at any time; the Secret is marked beside the
    // power-off, which may be sent by then; and after the end there is nothing left to do.
    let is_beside = |call: &str| {
        call.contains("leases") || call.ends_with("patch-secrets#1") || call.starts_with("Start/get-")
    };
    let boundaries: BTreeSet<_> = calls
        .filter(|call| call.ends_with("#1") && !is_beside(call) && !call.starts_with("Succeeded"))
        .collect();
    Ok(boundaries.into_iter().collect())
}

async fn frozen_at(cluster: &Cluster, boundary: &str) -> Result<Duration> {
    let pair = Pair::start(cluster).await?;
    let cursor = cluster.audit_cursor()?;
    pair.stage
        .begin(vec![format!("freeze-during:{boundary}").parse()?]);
    pair.world.falls_silent_and_is_reported(pair.host()).await?;
    tokio::time::timeout(LONG, pair.stage.struck(1))
        .await
        .context("it does not get there")?;
    pair.first.signal(Signal::Stop)?;
    let frozen = Instant::now();
    if boundary.ends_with("journal-Succeeded#1") {
        leads(&pair.second, LONG).await?;
    } else {
        pair.goes_on().await?;
    }
    let took = frozen.elapsed();
    pair.thaws().await?;
    pair.ends_well(cursor).await?;
    // The judge waits for the API server, and would keep the others from going on.
    tokio::task::spawn_blocking(move || drop(pair)).await?;
    Ok(took)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invariant_7_a_leader_that_was_frozen_before_it_did_anything_does_not_do_it() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    world::set_policy(&cluster.client().await?, daemon::permissive_policy()).await?;
    // A zone in which no Node reports is not judged.
    let witness = NodeTemplate::new(cluster.unique("witness"));
    let _witness = ScriptedKubelet::start(cluster.client().await?, witness).await?;
    let boundaries = learnt(cluster).await?;
    for must in [
        // On a busy machine nothing is journalled before it.
        "/journal-PoweringOff#1",
        "Fencing/journal-PoweringOn#1",
        "PoweringOff/get-nodes#1",
    ] {
        assert!(
            boundaries.iter().any(|one| one.ends_with(must)),
            "{must}: {boundaries:?}"
        );
    }
    // The one before a power-off, unless somebody asks for all: each has two replicas and takes half a minute.
    let all = std::env::var("FROZEN").is_ok_and(|frozen| frozen == "all");
    let is_wanted = |boundary: &String| all || boundary == "PoweringOff/get-nodes#1";
    let boundaries: Vec<_> = boundaries.into_iter().filter(is_wanted).collect();
    let running = Semaphore::new(AT_ONCE);
    let all = boundaries.iter().map(async |boundary| {
        let _one = running.acquire().await?;
        frozen_at(cluster, boundary)
            .await
            .with_context(|| boundary.clone())
    });
    let mut failures = Vec::new();
    for (boundary, ended) in boundaries.iter().zip(join_all(all).await) {
        match ended {
            Ok(took) => println!("{boundary}: gone on with after {took:?}"),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}: {failures:#?}",
        failures.len(),
        boundaries.len()
    );
    Ok(())
}
