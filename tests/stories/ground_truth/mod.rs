//! The judge: whatever BMCs say, no workload is released while its host is not off, and the other
//! invariants that one can see from outside, by name.

mod restraint;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Event, Fault, Power, RequestClass};
use harness::{AuditEvent, Cluster};
use remediator_core::journal::{Journal, Verb};
use remediator_core::phase::Phase;
use serde_json::json;
use world::acts::{hasty, patient};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects, record, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("ground truth").weighing(2).taking(90);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// Long enough for whatever a loaded machine makes of a minute's work.
const LONG: Duration = Duration::from_mins(2);

async fn world_of(name: &str, options: Vec<HostOptions>) -> Result<World> {
    let cluster = &control_plane().await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let world = World::new(cluster, name, options).await?;
    world.health_check().await?;
    Ok(world)
}

fn good() -> HostOptions {
    HostOptions::default()
}

fn slow_to_power_off() -> HostOptions {
    let mut options = HostOptions::default();
    options.delays.off = Duration::from_secs(5).into();
    options
}

/// How each host of the first test misbehaves, and what must become of it.
const MISBEHAVIOURS: [(&str, Phase); 8] = [
    ("is good", Phase::Succeeded),
    ("takes 5 s to power off", Phase::Succeeded),
    ("reports PoweringOff for ever", Phase::AwaitingConfirmation),
    ("accepts and ignores", Phase::Failed),
    ("reports null", Phase::AwaitingConfirmation),
    ("reports Paused", Phase::AwaitingConfirmation),
    ("reports off in lower case", Phase::AwaitingConfirmation),
    ("reports Off while its Node reports again", Phase::Failed),
];

fn misbehave(host: &WorldHost, index: usize) -> Result<()> {
    let fault = match index {
        2 => Fault::StuckPoweringOff,
        3 => Fault::AcceptAndIgnore,
        4 => Fault::ReportLiteral(None),
        5 => Fault::ReportLiteral(Some("Paused".to_owned())),
        6 => Fault::ReportLiteral(Some("off".to_owned())),
        // It lies as soon as its Node reports again; before that the lie would be as good as the truth.
        7 => Fault::StuckPoweringOff,
        _ => return Ok(()),
    };
    Ok(host.bmc.inject(fault)?)
}

/// The host goes on working, and its BMC says that it is off.
async fn works_on(host: &WorldHost) -> Result<()> {
    let command = |event: &Event| matches!(event, Event::Command { .. });
    host.sees("the power-off", LONG, command).await?;
    let same_boot = host.bmc.truth().boot_id.context("it is booted")?;
    host.kubelet
        .as_ref()
        .context("it has a Node")?
        .resume(same_boot)
        .await?;
    Ok(host.bmc.set_faults(vec![Fault::LieOffWhileOn.into()])?)
}

#[tokio::test]
async fn invariant_1_no_release_unless_off_is_proven() -> world::Outcome {
    let mut options: Vec<HostOptions> = MISBEHAVIOURS.iter().map(|_| good()).collect();
    options[1] = slow_to_power_off();
    let world = world_of("truth", options).await?;
    let cursor = world.cluster.audit_cursor()?;
    for (index, host) in world.hosts.iter().enumerate() {
        misbehave(host, index)?;
    }

    let play = async |index: usize, host: &WorldHost| -> Result<Option<Phase>> {
        world.falls_silent(host).await?;
        let succeeds = MISBEHAVIOURS[index].1 == Phase::Succeeded;
        let mut strategy = if succeeds { patient() } else { hasty() };
        if index == 7 {
            strategy["deadlines"]["powerOff"] = json!("60s");
        }
        let remediation = world.request(host, strategy).await?;
        if index == 7 {
            works_on(host).await?;
        }
        // That it has not ended is for later; whether it did harm is judged first.
        let rests = |journal: &Journal| journal.phase.is_final() || journal.awaits_person();
        let ended = world.remediation_until(&remediation, LONG, rests).await;
        Ok(ended.ok().map(|ended| world::phase(&ended)))
    };
    let plays = world.hosts.iter().enumerate();
    let ended = futures::future::try_join_all(plays.map(|(index, host)| play(index, host))).await?;

    let breaches = truth::breaches(&world).await?;
    assert!(
        breaches.is_empty(),
        "workloads were released while their host was not off: {breaches:#?}"
    );
    let unproven = record::unproven_releases(&world, cursor).await?;
    assert!(unproven.is_empty(), "released without proof: {unproven:#?}");
    for (index, (what, phase)) in MISBEHAVIOURS.into_iter().enumerate() {
        let host = &world.hosts[index];
        let releases = usize::from(phase == Phase::Succeeded);
        assert_eq!(ended[index], Some(phase), "of the host that {what}");
        assert_eq!(
            truth::releases(&world, cursor, host).await?,
            releases,
            "of the host that {what}"
        );
        assert!(!objects::has_out_of_service_taint(
            &objects::node(&world, &host.name).await?
        ));
    }
    let liar = world
        .remediations()
        .get(&format!("{}-by-hand", world.hosts[7].name))
        .await?;
    let why = world::journal(&liar).failed_attempts;
    assert_eq!(
        why.first().map(|failed| failed.reason.as_str()),
        Some("NodeStillReporting")
    );
    Ok(())
}

#[tokio::test]
async fn invariant_2_a_host_that_comes_on_takes_its_release_back() -> world::Outcome {
    let slow_to_boot = || {
        let mut options = HostOptions::default();
        options.delays.boot = Duration::from_mins(5).into();
        options
    };
    let world = world_of("comes-on", vec![slow_to_boot(), slow_to_boot()]).await?;
    let cursor = world.cluster.audit_cursor()?;
    let (pressed, by_itself) = (&world.hosts[0], &world.hosts[1]);
    let play = async |host: &WorldHost, pod: &'static str| -> Result<()> {
        world.create_clinging_pod(pod, &host.name).await?;
        let remediation = world.falls_silent_and_is_reported(host).await?;
        // While its workloads are being released, and not before the release was answered: one that a busy server
        // aborts is written once more, and the host has to be off until then.
        let released = |event: &AuditEvent| truth::is_release(event, &host.name) && event.response_code < 300;
        tokio::time::timeout(LONG, world.cluster.wait_for_audit(cursor, released))
            .await
            .context("it is not released")??;
        if host.name == pressed.name {
            host.bmc.press_power(Power::On)?;
        } else {
            let after = Duration::from_secs(1);
            host.bmc.inject(Fault::PowersOnByItself { after })?;
        }
        host.bmc.wait_for(|now| now.truth.power == Power::On).await?;
        world.is_untainted(host, LONG).await?;
        let told = world.remediation_waits(&remediation, "HostCameOn").await?;
        assert_eq!(world::phase(&told), Phase::Booting);
        let release = world::journal(&told).release.context("it was released")?;
        assert!(release.withdrawn.is_some() && release.finished.is_none());
        Ok(())
    };
    tokio::try_join!(play(pressed, "clings-1"), play(by_itself, "clings-2"))?;

    for host in &world.hosts {
        assert_eq!(truth::releases(&world, cursor, host).await?, 1);
        assert_eq!(host.transitions(), (1, 1));
        let (sent, _) = record::commands(host);
        assert!(
            sent.iter().all(|sent| sent.verb == Verb::PowerOff),
            "somebody else powered it on: {sent:?}"
        );
    }
    world.release_pod("clings-1").await?;
    Ok(world.release_pod("clings-2").await?)
}

#[tokio::test]
async fn invariants_3_and_4_journalled_absolute_verbs_each_once() -> world::Outcome {
    let world = world_of("verbs", vec![good(), good(), good(), good()]).await?;
    let cursor = world.cluster.audit_cursor()?;
    let lost_answers = &world.hosts[1];
    lost_answers.bmc.inject(Fault::DropAfterExecute.times(1))?;
    let refusing = &world.hosts[2];
    let busy = Fault::HttpStatus {
        status: 503,
        retry_after: Some(1),
    };
    refusing.bmc.inject(busy.on(RequestClass::Reset).times(1))?;

    let failing = &world.hosts[3];
    let after = Duration::from_millis(500);
    failing.bmc.inject(Fault::FailedTask { after }.times(1))?;

    let play = async |host: &WorldHost| -> Result<Phase> {
        let remediation = world.falls_silent_and_is_reported(host).await?;
        if host.name == failing.name {
            let told = world.remediation_waits(&remediation, "BmcCommandFailed").await?;
            let told = world::journal(&told).message;
            let words = "ForceOff failed: its task monitor answered HTTP 500: Base.1.19.InternalError";
            ensure!(told.starts_with(words), "{told}");
        }
        Ok(world::phase(&world.remediation_ended(&remediation, LONG).await?))
    };
    let ended = futures::future::try_join_all(world.hosts.iter().map(play)).await?;

    assert_eq!(ended, [Phase::Succeeded; 4]);
    assert_eq!(
        record::uncovered_commands(&world, cursor).await?,
        Vec::<String>::new()
    );
    assert_eq!(
        record::unproven_releases(&world, cursor).await?,
        Vec::<String>::new()
    );
    for host in &world.hosts {
        assert_eq!(record::blind_repeats(host), Vec::<String>::new());
        assert_eq!(host.transitions(), (1, 1), "of {}", host.name);
        assert_eq!(truth::releases(&world, cursor, host).await?, 1);
    }
    let counts = |host: &WorldHost| record::commands(host).0.len();
    assert_eq!(
        world.hosts.iter().map(counts).collect::<Vec<_>>(),
        // The one without an answer and the one that failed are sent again, on what was read.
        [2, 3, 2, 3]
    );
    Ok(())
}
