//! The stories: the good one, and what the daemon refuses.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bmc_simulator::{Fault, RequestClass};
use remediator_core::phase::Phase;
use world::{World, objects};

use crate::checks::{expect, pod_runs_on, released};
use crate::cost::Baseline;
use crate::narrate::{Who, paragraph};
use crate::stage::{POD, Stage};
use crate::{cost_table, refusals, report};

/// How long each thing that is waited for may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    PowerCycle,
    LyingBmc,
    WrongHost,
    WrongPassword,
    Recovers,
    Metal3,
}

impl Scenario {
    const NAMED: [(&'static str, Self); 5] = [
        ("lying-bmc", Self::LyingBmc),
        ("wrong-host", Self::WrongHost),
        ("wrong-password", Self::WrongPassword),
        ("recovers", Self::Recovers),
        ("metal3", Self::Metal3),
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
            Self::Metal3 => {
                "metal3 keeps the hosts online; one of them dies and is power-cycled through metal3"
            }
        }
    }

    /// Whether metal3 keeps the hosts online.
    pub(crate) fn is_beside_metal3(self) -> bool {
        match self {
            Self::Metal3 => true,
            Self::PowerCycle | Self::LyingBmc | Self::WrongHost | Self::WrongPassword | Self::Recovers => {
                false
            }
        }
    }

    /// What is wrong from the beginning.
    pub(crate) fn prepare(self, world: &World, victim: usize) -> Result<()> {
        let host = &world.hosts.get(victim).context("no such host")?.bmc;
        match self {
            Self::PowerCycle | Self::Metal3 => {}
            // The lie itself begins when the Node reports again.
            Self::LyingBmc => host.inject(Fault::StuckPoweringOff)?,
            Self::WrongHost => host.inject(Fault::WrongUuid)?,
            Self::WrongPassword => host.rotate_credentials("admin", "changed-by-somebody")?,
            Self::Recovers => host.inject(Fault::http_status(503).on(RequestClass::SystemGet))?,
        }
        Ok(())
    }

    fn what_is_wrong(self) -> Option<&'static str> {
        match self {
            Self::PowerCycle | Self::Metal3 => None,
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
    let story = async {
        match scenario {
            Scenario::PowerCycle => power_cycle(stage, &baseline).await,
            Scenario::Metal3 => through_metal3(stage, &baseline).await,
            Scenario::LyingBmc => refusals::lying_bmc(stage, &baseline).await,
            Scenario::WrongHost => refusals::wrong_host(stage, &baseline).await,
            Scenario::WrongPassword => refusals::wrong_password(stage, &baseline).await,
            Scenario::Recovers => refusals::recovers(stage, &baseline).await,
        }
    };
    let conclusion = tokio::select! {
        conclusion = story => conclusion,
        ended = stage.daemon.exited(Duration::from_hours(1)) => {
            let ended = ended.map_or_else(|error| format!("{error:#}"), |status| status.to_string());
            Err(anyhow!("expected: the daemon runs on\nseen:     it has ended ({ended})"))
        }
    };
    stage.narrator.hush(true);
    let reported = report::tables(stage).await;
    let conclusion = conclusion?;
    reported?;
    if scenario == Scenario::PowerCycle {
        cost_table::show(stage, &baseline).await?;
    }
    stage.narrator.heading(match scenario {
        Scenario::PowerCycle | Scenario::Metal3 => "It worked",
        Scenario::Recovers => "Cancelled, as it has to be",
        Scenario::LyingBmc | Scenario::WrongHost | Scenario::WrongPassword => "Refused, as it has to be",
    });
    paragraph(&conclusion);
    stage.narrator.hush(false);
    Ok(())
}

async fn through_metal3(stage: &Stage, baseline: &Baseline) -> Result<String> {
    let conclusion = power_cycle(stage, baseline).await?;
    let host = stage.host()?;
    let name = &host.name;
    world::metal3::is_given_back(&stage.world, host).await?;
    Ok(format!(
        "{conclusion} metal3 powered it off because of the daemon's annotation and on when that was gone; nothing of \
         the daemon's is left on BareMetalHost {name}."
    ))
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
