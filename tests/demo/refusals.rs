//! What the daemon refuses, and why that is right.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Command, Event, Fault};
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use world::objects;

use crate::checks::{expect, pod_runs_on, released, untouched};
use crate::cost::Baseline;
use crate::narrate::Who;
use crate::scenario::PATIENCE;
use crate::stage::{POD, Stage};

/// How long the daemon is watched after it refused, to see that it stays so.
const STAYS: Duration = Duration::from_secs(8);

pub(super) async fn lying_bmc(stage: &Stage, baseline: &Baseline) -> Result<String> {
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
    bmc.set_faults(vec![Fault::LieOffWhileOn.into()])?;
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

pub(super) async fn wrong_host(stage: &Stage, baseline: &Baseline) -> Result<String> {
    refused(stage, Reason::IdentityMismatch).await?;
    untouched(stage)?;
    released(stage, baseline, 0).await?;
    let resets = baseline.counters_since(stage)?.reset;
    expect(resets == 0, "no reset command at the BMC", &format!("{resets}"))?;
    Ok(format!(
        "Somebody else's machine would have lost power, and the dead one would have counted as off. What protected \
         both: before anything destructive the BMC's system UUID has to be that of the Node, and it was another's. \
         Power commands sent: 0; releases in the audit log: 0; reads of the BMC: {}.",
        baseline.counters_since(stage)?.system_get
    ))
}

pub(super) async fn wrong_password(stage: &Stage, baseline: &Baseline) -> Result<String> {
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
         right password into the Secret and it is tried within half a minute. Login attempts: 1; power commands sent: 0."
            .to_owned(),
    )
}

pub(super) async fn recovers(stage: &Stage, baseline: &Baseline) -> Result<String> {
    let host = stage.host()?;
    let (name, bmc) = (&host.name, &host.bmc);
    let remediation = world::remediation_name(name, 1);
    let wait =
        |journal: &Journal| journal.phase == Phase::Pending && journal.reason == Reason::BmcNotReady.as_str();
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
    // Would the BMC answer first, a power-off would be right.
    objects::node_becomes(&stage.world, name, "True").await?;
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
        "{name} lost nothing but a few seconds. What protected it: health is judged anew before a power-off, and a \
         Node that is Ready again ends the remediation. The trigger was removed, so the next real failure is a \
         new one. Power commands sent: 0."
    ))
}

/// Waits for the reason, then watches for a while that it stays so.
async fn refused(stage: &Stage, reason: Reason) -> Result<()> {
    let name = world::remediation_name(&stage.host()?.name, 1);
    let is = |journal: &Journal| journal.reason == reason.as_str();
    let wait = stage.world.remediation_until(&name, PATIENCE, is).await;
    wait.with_context(|| format!("expected: {name} waits with reason {}\nseen", reason.as_str()))?;
    stays(stage).await;
    let now = stage.world.remediations().get(&name).await?;
    let journal = world::journal(&now);
    expect(
        journal.reason == reason.as_str() && !journal.phase.is_final(),
        &format!("{name} still waits with reason {}", reason.as_str()),
        &format!(
            "{} ({}): {}",
            journal.phase.as_str(),
            journal.reason,
            journal.message
        ),
    )
}

async fn stays(stage: &Stage) {
    let text = format!("watching {} s more, to see that it stays so", STAYS.as_secs());
    stage.narrator.say(Who::Demo, &text);
    tokio::time::sleep(STAYS).await;
}
