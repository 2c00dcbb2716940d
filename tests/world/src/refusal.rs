//! What a refusal has to look like: a named reason, a message and a log line that a person can act
//! on, the trigger still there, and a host that nobody touched.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Event as SimulatorEvent, Host};
use futures::future::{BoxFuture, join_all};
use harness::Cluster;
use harness::process::ChildDaemon;
use remediator_api::keys;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};

use super::{HostOptions, World, WorldHost, objects};

/// How long any one thing may take.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// The password of every simulated host; it must turn up nowhere.
const CANARY: &str = "canary-Pa55word";

/// What is done to a host after it was made and before its trigger.
pub type Breakage = Box<dyn for<'a> Fn(&'a World, &'a WorldHost) -> BoxFuture<'a, Result<()>> + Send + Sync>;

/// One bad input and what has to come of it.
pub struct Case {
    /// Which, for the message of the test that fails.
    pub what: &'static str,
    pub options: HostOptions,
    pub breakage: Option<Breakage>,
    pub reason: Reason,
    /// What the message must say; `{host}` stands for the host's name.
    pub says: Vec<&'static str>,
}

impl Case {
    pub fn new(what: &'static str, reason: Reason, says: &[&'static str]) -> Self {
        Self {
            what,
            options: HostOptions::default(),
            breakage: None,
            reason,
            says: says.to_vec(),
        }
    }

    pub fn machine(mut self, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.options.machine = Box::new(move |mut machine| {
            change(&mut machine);
            machine
        });
        self
    }

    pub fn endpoint(mut self, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.options.endpoint = Box::new(move |mut endpoint| {
            change(&mut endpoint);
            endpoint
        });
        self
    }

    pub fn secret(mut self, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.options.secret = Box::new(move |mut secret| {
            change(&mut secret);
            secret
        });
        self
    }

    pub fn options(mut self, change: impl FnOnce(&mut HostOptions)) -> Self {
        change(&mut self.options);
        self
    }

    pub fn broken_by(
        mut self,
        breakage: impl for<'a> Fn(&'a World, &'a WorldHost) -> BoxFuture<'a, Result<()>> + Send + Sync + 'static,
    ) -> Self {
        self.breakage = Some(Box::new(breakage));
        self
    }
}

/// The host of a case, once its remediation was refused as it should.
pub struct Refused<'a> {
    pub what: &'static str,
    pub reason: Reason,
    pub host: &'a WorldHost,
}

/// Makes the hosts of all cases in one namespace, with a health check.
pub async fn make(cluster: &Cluster, world: &str, cases: &mut [Case]) -> Result<World> {
    let options = cases
        .iter_mut()
        .map(|case| std::mem::take(&mut case.options))
        .collect();
    let world = World::new(cluster, world, options).await?;
    world.health_check().await?;
    for (case, host) in cases.iter().zip(&world.hosts) {
        if let Some(breakage) = &case.breakage {
            breakage(&world, host).await.context(case.what)?;
        }
    }
    Ok(world)
}

/// Makes a host's Node not Ready and annotates its Machine, as a health check would.
pub async fn fall_ill(world: &World, host: &WorldHost) -> Result<()> {
    if let Some(kubelet) = &host.kubelet {
        kubelet
            .report_condition("Ready", "False", "KubeletNotReady")
            .await?;
    }
    objects::trigger(world, &host.name).await
}

/// Runs all cases at once; every one has to be refused by its reason, and stay refused.
pub async fn all_refused<'a>(
    world: &'a World,
    daemon: &ChildDaemon,
    cases: &[Case],
) -> Result<Vec<Refused<'a>>> {
    let checks = cases.iter().zip(&world.hosts).map(|(case, host)| async move {
        fall_ill(world, host).await?;
        let name = host.remediation();
        let journal = refused(world, daemon, &name, case.reason, &case.says).await?;
        ensure!(journal.attempt == 0, "an attempt was counted: {journal:?}");
        look_again(world, host, &name, case.reason).await?;
        untouched(&host.bmc)?;
        ensure!(
            objects::is_triggered(world, &host.name).await?,
            "the trigger was removed"
        );
        Ok(Refused {
            what: case.what,
            reason: case.reason,
            host,
        })
    });
    collect(cases.iter().map(|case| case.what), join_all(checks).await)
}

/// Every failure, not only the first.
pub fn collect<T>(names: impl Iterator<Item = &'static str>, results: Vec<Result<T>>) -> Result<Vec<T>> {
    let mut done = Vec::new();
    let mut failures = Vec::new();
    for (name, result) in names.zip(results) {
        match result {
            Ok(one) => done.push(one),
            Err(error) => failures.push(format!("{name}: {error:#}")),
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(done)
}

/// Waits until a remediation is held up by a reason; its message and the log have to be useful.
pub async fn refused(
    world: &World,
    daemon: &ChildDaemon,
    name: &str,
    reason: Reason,
    says: &[&str],
) -> Result<Journal> {
    let found = world
        .remediation_until(name, PATIENCE, |journal| journal.reason == reason.as_str())
        .await?;
    let journal = super::journal(&found);
    let host = name.rsplit_once('-').map_or(name, |(host, _)| host);
    ensure!(
        journal.phase == Phase::Pending,
        "it did not stay Pending: {journal:?}"
    );
    useful(&journal.message, reason, says, host)?;
    let place = format!("{}/{name}", world.namespace);
    let line = log_line(daemon, &place, reason, says, host).await?;
    useful(&line, reason, says, host)?;
    Ok(journal)
}

/// Waits until a trigger is refused by an event and a line of the log that say all this and are useful. What was said
/// before the daemon had seen every object of the test is passed over.
pub async fn told(
    world: &World,
    daemon: &ChildDaemon,
    host: &str,
    reason: Reason,
    says: &[&str],
) -> Result<()> {
    let note = super::events::event_that_says(world, host, reason.as_str(), &named(says, host)).await?;
    useful(&note, reason, says, host)?;
    let line = log_line(daemon, &format!("{}/{host}", world.namespace), reason, says, host).await?;
    useful(&line, reason, says, host)
}

/// The trigger is refused by an event and a line of the log. One that the daemon sees before it sees what is wrong is
/// taken up, and its remediation is refused.
pub async fn trigger_refused(
    world: &World,
    daemon: &ChildDaemon,
    host: &WorldHost,
    reason: Reason,
    says: &[&str],
) -> Result<()> {
    let taken_up = host.remediation();
    let is_refused = |journal: &Journal| journal.reason == reason.as_str();
    let refused = world.remediation_until(&taken_up, PATIENCE, is_refused);
    tokio::select! {
        told = told(world, daemon, &host.name, reason, says) => told?,
        refused = refused => return refused.map(drop),
    }
    let made = world.remediations().get_opt(&taken_up).await?;
    if made.is_some() {
        world.remediation_until(&taken_up, PATIENCE, is_refused).await?;
    }
    Ok(())
}

/// The line of the daemon's log about an object and a reason that says all this.
async fn log_line(
    daemon: &ChildDaemon,
    place: &str,
    reason: Reason,
    says: &[&str],
    host: &str,
) -> Result<String> {
    let place = format!("={place} ");
    let says = named(says, host);
    let is_it = |line: &str| {
        line.contains(&place)
            && line.contains(reason.as_str())
            && says.iter().all(|words| line.contains(words))
    };
    let wait = daemon.output().wait_for(harness::Cursor::default(), is_it);
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(line) => line,
        Err(_) => anyhow::bail!("no log line about {place} and {reason:?} that says {says:?}"),
    }
}

/// The words with the name of the host in them.
fn named(says: &[&str], host: &str) -> Vec<String> {
    says.iter().map(|words| words.replace("{host}", host)).collect()
}

/// A text for a person: it says what is wrong, ends with what to do, and tells no secret.
pub fn useful(text: &str, reason: Reason, says: &[&str], host: &str) -> Result<()> {
    for needle in named(says, host) {
        ensure!(text.contains(&needle), "{needle:?} is not in {text:?}");
    }
    ensure!(text.contains(reason.advice()), "no advice in {text:?}");
    ensure!(!text.contains(".. "), "a sentence ends twice in {text:?}");
    ensure!(!text.contains(CANARY), "a secret in {text:?}");
    Ok(())
}

/// Makes the daemon decide twice more: another reason comes and goes, and the first is back.
async fn look_again(world: &World, host: &WorldHost, name: &str, reason: Reason) -> Result<()> {
    let mark =
        |value: Value| json!({"metadata": {"annotations": {keys::CAPBM_POWERED_OFF_ANNOTATION: value}}});
    objects::patch_machine(world, &host.name, mark(json!(""))).await?;
    let other = Reason::AnotherRemediatorActive.as_str();
    world
        .remediation_until(name, PATIENCE, |journal| journal.reason == other)
        .await?;
    objects::patch_machine(world, &host.name, mark(Value::Null)).await?;
    world
        .remediation_until(name, PATIENCE, |journal| journal.reason == reason.as_str())
        .await?;
    Ok(())
}

/// The host is as it was, and nobody even tried.
pub fn untouched(bmc: &Host) -> Result<()> {
    let truth = bmc.truth();
    ensure!(
        (truth.on_to_off, truth.off_to_on, truth.resets) == (0, 0, 0),
        "the host was touched: {truth:?}"
    );
    let commanded = |event: &SimulatorEvent| {
        matches!(
            event,
            SimulatorEvent::Command { .. } | SimulatorEvent::CommandRefused { .. }
        )
    };
    let journal = bmc.journal();
    let command = journal.iter().find(|entry| commanded(&entry.event));
    ensure!(command.is_none(), "a power command was sent: {command:?}");
    let counters = bmc.counters();
    ensure!(
        counters.reset == 0 && counters.ipmi.chassis_control == 0,
        "a power command was asked for: {counters:?}"
    );
    Ok(())
}

/// How often somebody tried to log in.
pub fn logins(bmc: &Host) -> usize {
    let is_login = |event: &SimulatorEvent| {
        matches!(
            event,
            SimulatorEvent::SessionCreated { .. } | SimulatorEvent::AuthFailed { .. }
        )
    };
    bmc.journal()
        .iter()
        .filter(|entry| is_login(&entry.event))
        .count()
}

/// Nobody spoke to the BMC at all.
pub fn never_contacted(bmc: &Host) -> Result<()> {
    let counters = bmc.counters();
    ensure!(
        counters.tcp_connections == 0 && counters.ipmi.datagrams == 0,
        "the BMC was contacted: {counters:?}"
    );
    Ok(())
}

/// The BMC was contacted, but no credentials reached it.
pub fn no_credentials_sent(bmc: &Host) -> Result<()> {
    let counters = bmc.counters();
    ensure!(
        counters.session_create == 0 && counters.auth_failures == 0,
        "credentials were sent: {counters:?}"
    );
    ensure!(logins(bmc) == 0, "somebody logged in: {:?}", bmc.journal());
    Ok(())
}

/// Waits until the host was powered off: the remediation went on by itself.
pub async fn goes_on(world: &World, host: &WorldHost) -> Result<()> {
    let off = host.bmc.wait_for(|now| now.truth.on_to_off == 1);
    if tokio::time::timeout(PATIENCE, off).await.is_err() {
        let stands = world.remediations().get(&host.remediation()).await?;
        anyhow::bail!("{} did not go on: {:?}", host.name, super::journal(&stands));
    }
    Ok(())
}
