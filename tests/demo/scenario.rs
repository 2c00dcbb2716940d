//! The stories: the good one, and what the daemon refuses.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use baremetal_remediator::api::PowerCycleRemediation;
use baremetal_remediator::core::phase::{Phase, Reason};
use bmc_simulator::{Command, Event, Fault, RequestClass};
use kube::ResourceExt as _;
use kube::api::Api;

use crate::cost::Baseline;
use crate::narrate::{Who, paragraph};
use crate::stage::{POD, Stage};
use crate::world::{self, World, objects};
use crate::{cost_table, report};

/// How long the daemon is watched after it refused, to see that it stays so.
const STAYS: Duration = Duration::from_secs(8);

/// How long each thing that is waited for may take.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    PowerCycle,
    LyingBmc,
    WrongHost,
    WrongPassword,
    Recovers,
}

impl Scenario {
    const NAMED: [(&'static str, Self); 4] = [
        ("lying-bmc", Self::LyingBmc),
        ("wrong-host", Self::WrongHost),
        ("wrong-password", Self::WrongPassword),
        ("recovers", Self::Recovers),
    ];

    /// What `SCENARIO` names; without it the good story.
    pub(crate) fn from_environment() -> Result<Self> {
        let wanted = std::env::var("SCENARIO").unwrap_or_default();
        if wanted.is_empty() {
            return Ok(Self::PowerCycle);
        }
        let found = Self::NAMED.iter().find(|(name, _)| *name == wanted);
        let names: Vec<&str> = Self::NAMED.iter().map(|(name, _)| *name).collect();
        found.map(|(_, scenario)| *scenario).with_context(|| {
            format!(
                "SCENARIO={wanted} is unknown; choose one of {}, or leave it out for the power cycle",
                names.join(", ")
            )
        })
    }

    pub(crate) fn headline(self) -> &'static str {
        match self {
            Self::PowerCycle => "a node dies, its host is power-cycled, its workload moves on",
            Self::LyingBmc => "the BMC says Off while the host runs on (to be refused)",
            Self::WrongHost => "another host answers behind the BMC's address (to be refused)",
            Self::WrongPassword => "the BMC's password in the Secret is wrong (to be refused)",
            Self::Recovers => "the Node comes back just in time (to be cancelled)",
        }
    }

    /// What is wrong from the beginning.
    pub(crate) fn prepare(self, world: &World, victim: usize) -> Result<()> {
        let host = &world.hosts.get(victim).context("no such host")?.bmc;
        match self {
            Self::PowerCycle => {}
            Self::LyingBmc => host.inject(Fault::LieOffWhileOn)?,
            Self::WrongHost => host.inject(Fault::WrongUuid)?,
            Self::WrongPassword => host.rotate_credentials("admin", "changed-by-somebody"),
            Self::Recovers => host.inject(Fault::http_status(503).on(RequestClass::SystemGet))?,
        }
        Ok(())
    }

    fn what_is_wrong(self) -> Option<&'static str> {
        match self {
            Self::PowerCycle => None,
            Self::LyingBmc => {
                Some("BMC is broken: it will say Off and accept every power-off without doing it")
            }
            Self::WrongHost => Some("cables were swapped: behind its BMC address another host answers"),
            Self::WrongPassword => Some("somebody changed the BMC's password and forgot the Secret"),
            Self::Recovers => Some("BMC is busy and answers 503 for a while"),
        }
    }
}

/// Plays a scenario to its end. An error says what was expected and what was seen.
pub(crate) async fn play(scenario: Scenario, stage: &Stage) -> Result<()> {
    let baseline = Baseline::take(stage)?;
    let name = stage.host()?.name.clone();
    if let Some(wrong) = scenario.what_is_wrong() {
        stage.narrator.say(Who::Truth, &format!("{name}: {wrong}"));
    }
    stage.hang().await?;
    let conclusion = match scenario {
        Scenario::PowerCycle => power_cycle(stage, &baseline).await,
        Scenario::LyingBmc => lying_bmc(stage, &baseline).await,
        Scenario::WrongHost => wrong_host(stage, &baseline).await,
        Scenario::WrongPassword => wrong_password(stage, &baseline).await,
        Scenario::Recovers => recovers(stage, &baseline).await,
    };
    stage.narrator.hush(true);
    let reported = report::tables(stage).await;
    let conclusion = conclusion?;
    reported?;
    if scenario == Scenario::PowerCycle {
        cost_table::show(stage, &baseline).await?;
    }
    stage.narrator.heading(if scenario == Scenario::PowerCycle {
        "It worked"
    } else {
        "Refused, as it has to be"
    });
    paragraph(&conclusion);
    stage.narrator.hush(false);
    Ok(())
}

async fn power_cycle(stage: &Stage, baseline: &Baseline) -> Result<String> {
    let name = &stage.host()?.name;
    let ended = stage
        .world
        .remediation_ended(&world::remediation_name(name, 1), PATIENCE)
        .await?;
    let journal = world::journal(&ended);
    expect(
        journal.phase == Phase::Succeeded,
        "the remediation ends Succeeded",
        &format!(
            "{} ({}): {}",
            journal.phase.as_str(),
            journal.reason,
            journal.message
        ),
    )?;
    let transitions = stage.host()?.transitions();
    let seen = format!(
        "{} power-offs and {} power-ons in truth",
        transitions.0, transitions.1
    );
    expect(
        transitions == (1, 1),
        "exactly one power-off and one power-on in truth",
        &seen,
    )?;
    let triggered = objects::is_triggered(&stage.world, name).await?;
    expect(
        !triggered,
        "the trigger is removed from the Machine",
        "it is still there",
    )?;
    released(stage, baseline, 1).await?;
    let node = pod_runs_on(stage).await?;
    expect(
        node != *name,
        &format!("{POD} runs on another Node than {name}"),
        &format!("it runs on {node}"),
    )?;
    Ok(format!(
        "{name} was off exactly once, in truth and not only by its BMC's word, while its workload was released; \
         {POD} runs on {node}; {name} is back with a new boot ID. The judge, who compares the API server's audit \
         log with the host's true power, found no breach."
    ))
}

async fn lying_bmc(stage: &Stage, baseline: &Baseline) -> Result<String> {
    let host = stage.host()?;
    let (name, bmc) = (&host.name, &host.bmc);
    let accepted = |event: &Event| {
        matches!(
            event,
            Event::Command {
                command: Command::ForceOff,
                status: Some(_),
                ..
            }
        )
    };
    let wait = bmc.wait_for_entry(baseline.seq, accepted);
    let wait = tokio::time::timeout(PATIENCE, wait).await;
    wait.with_context(|| {
        format!("expected: the daemon sends ForceOff\nseen:     none within {PATIENCE:?}")
    })??;
    let boot_id = bmc.truth().boot_id.context("the host never booted")?;
    let kubelet = host.kubelet.as_ref().context("the host has no kubelet")?;
    stage.narrator.say(
        Who::Truth,
        &format!("{name} was only slow: its kubelet reports again, same boot"),
    );
    kubelet.resume(boot_id).await?;
    refused(stage, Reason::NodeStillReporting).await?;
    untouched(stage)?;
    released(stage, baseline, 0).await?;
    let node = pod_runs_on(stage).await?;
    expect(
        node == *name,
        &format!("{POD} still runs on {name}"),
        &format!("it runs on {node}"),
    )?;
    let reads = baseline.counters_since(stage)?.system_get;
    Ok(format!(
        "The BMC accepted the power-off and said Off, {reads} times in all. It was a lie: the host never lost \
         power. What protected your data: a host that is off cannot renew its Node's Lease, and this one did after \
         the BMC said Off. The daemon believes the word of a BMC only while nothing contradicts it. Releases in the \
         audit log: 0; {POD} runs once, on {name}."
    ))
}

async fn wrong_host(stage: &Stage, baseline: &Baseline) -> Result<String> {
    refused(stage, Reason::IdentityMismatch).await?;
    untouched(stage)?;
    released(stage, baseline, 0).await?;
    let resets = baseline.counters_since(stage)?.reset;
    expect(resets == 0, "no reset command at the BMC", &format!("{resets}"))?;
    Ok(format!(
        "Somebody else's machine would have lost power, and the dead one would have counted as off. What protected \
         both: before anything destructive the BMC's system UUID has to be that of the Node, and it was another's. \
         Power commands sent: 0; releases in the audit log: 0; {} looks at the BMC in all.",
        baseline.counters_since(stage)?.system_get
    ))
}

async fn wrong_password(stage: &Stage, baseline: &Baseline) -> Result<String> {
    refused(stage, Reason::BmcCredentialsRejected).await?;
    untouched(stage)?;
    released(stage, baseline, 0).await?;
    let counters = baseline.counters_since(stage)?;
    expect(
        counters.reset == 0,
        "no reset command at the BMC",
        &format!("{}", counters.reset),
    )?;
    expect(
        counters.auth_failures == 1,
        "exactly one rejected login",
        &format!("{}", counters.auth_failures),
    )?;
    Ok(
        "BMCs lock a user out after a few bad logins, and then nobody can reach the host. What protected you: this \
         version of the Secret was tried once and never again, however often the remediation was looked at. Put the \
         right password into the Secret and it is tried at once. Login attempts: 1; power commands sent: 0."
            .to_owned(),
    )
}

async fn recovers(stage: &Stage, baseline: &Baseline) -> Result<String> {
    let host = stage.host()?;
    let (name, bmc) = (&host.name, &host.bmc);
    let remediation = world::remediation_name(name, 1);
    let wait = |journal: &baremetal_remediator::core::journal::Journal| {
        journal.phase == Phase::Pending && journal.reason == Reason::BmcProtocolError.as_str()
    };
    stage
        .world
        .remediation_until(&remediation, PATIENCE, wait)
        .await?;
    let boot_id = bmc.truth().boot_id.context("the host never booted")?;
    let kubelet = host.kubelet.as_ref().context("the host has no kubelet")?;
    stage.narrator.say(
        Who::Truth,
        &format!("{name} was only slow: its kubelet reports again, same boot"),
    );
    kubelet.resume(boot_id).await?;
    bmc.clear_faults();
    let ended = stage.world.remediation_ended(&remediation, PATIENCE).await?;
    let journal = world::journal(&ended);
    expect(
        journal.phase == Phase::Cancelled && journal.reason == Reason::Recovered.as_str(),
        "the remediation ends Cancelled (Recovered)",
        &format!(
            "{} ({}): {}",
            journal.phase.as_str(),
            journal.reason,
            journal.message
        ),
    )?;
    stays(stage).await;
    untouched(stage)?;
    released(stage, baseline, 0).await?;
    let resets = baseline.counters_since(stage)?.reset;
    expect(resets == 0, "no reset command at the BMC", &format!("{resets}"))?;
    let triggered = objects::is_triggered(&stage.world, name).await?;
    expect(
        !triggered,
        "the trigger is removed from the Machine",
        "it is still there",
    )?;
    Ok(format!(
        "{name} lost nothing but a few seconds. What protected it: health is judged anew until the very last moment \
         before a power-off, and a Node that is Ready again ends the remediation. The trigger was removed, so the \
         next real failure is a new one. Power commands sent: 0."
    ))
}

/// Waits for the reason, then watches for a while that it stays so.
async fn refused(stage: &Stage, reason: Reason) -> Result<PowerCycleRemediation> {
    let name = world::remediation_name(&stage.host()?.name, 1);
    let is = |journal: &baremetal_remediator::core::journal::Journal| journal.reason == reason.as_str();
    let wait = stage.world.remediation_until(&name, PATIENCE, is).await;
    wait.with_context(|| format!("expected: {name} waits with reason {}\nseen", reason.as_str()))?;
    stays(stage).await;
    let now = stage.world.remediations().get(&name).await?;
    let journal = world::journal(&now);
    expect(
        journal.reason == reason.as_str() && !journal.phase.is_final(),
        &format!("{} still waits with reason {}", now.name_any(), reason.as_str()),
        &format!(
            "{} ({}): {}",
            journal.phase.as_str(),
            journal.reason,
            journal.message
        ),
    )?;
    Ok(now)
}

async fn stays(stage: &Stage) {
    let text = format!("watching {} s more, to see that it stays so", STAYS.as_secs());
    stage.narrator.say(Who::Demo, &text);
    tokio::time::sleep(STAYS).await;
}

fn untouched(stage: &Stage) -> Result<()> {
    let truth = stage.host()?.bmc.truth();
    let seen = format!(
        "{} power-offs, {} resets, power {:?}",
        truth.on_to_off, truth.resets, truth.power
    );
    let is = truth.on_to_off == 0 && truth.resets == 0;
    expect(is, "the host was in truth never switched off", &seen)
}

/// Asks the judge, and counts the releases.
async fn released(stage: &Stage, baseline: &Baseline, wanted: usize) -> Result<()> {
    let breaches = world::truth::breaches(&stage.world, baseline.cursor).await?;
    let seen = breaches
        .iter()
        .map(|breach| format!("{}: {}", breach.host, breach.what));
    let seen = seen.collect::<Vec<_>>().join("; ");
    expect(
        breaches.is_empty(),
        "no workload is released while its host is not off in truth",
        &seen,
    )?;
    let releases = world::truth::releases(&stage.world, baseline.cursor, stage.host()?).await?;
    expect(
        releases == wanted,
        &format!("{wanted} releases in the audit log"),
        &format!("{releases}"),
    )
}

async fn pod_runs_on(stage: &Stage) -> Result<String> {
    let pods = Api::<k8s_openapi::api::core::v1::Pod>::namespaced(
        stage.world.client.clone(),
        &stage.world.namespace,
    );
    let pod = pods
        .get(POD)
        .await
        .with_context(|| format!("expected: pod {POD}\nseen"))?;
    let node = pod.spec.and_then(|spec| spec.node_name);
    node.with_context(|| format!("expected: {POD} runs on a Node\nseen:     it waits for one"))
}

fn expect(is: bool, expected: &str, seen: &str) -> Result<()> {
    if !is {
        bail!("expected: {expected}\nseen:     {seen}");
    }
    Ok(())
}
