//! The wall clock of the daemon's machine is set, hours on and hours back, while hosts are in each phase from the power-off
//! on. It makes deadlines pass early or late, and no more than that: nothing is released before Off is proven, each host
//! has power soon, and what falls silent later is remediated as ever.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use world::pool::{self, Setting};
use world::{HostOptions, World, truth};

use super::{
    DAEMON, LONG, PHASES, REFUSED, all_options, all_set_out, by_hand, describe_hosts, ended_once, ends_in,
    have_power, hold_ended, is_released,
};

static SETTING: Setting = Setting::alone("wall clock").weighing(2).taking(140);

const HOURS: SignedDuration = SignedDuration::from_hours(2);

/// What moves the wall clock of a process (wolfcw/libfaketime): Debian has it in a folder of the architecture.
fn library() -> Result<PathBuf> {
    let folders = fs::read_dir("/usr/lib")?;
    let mut libraries = folders
        .flatten()
        .map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    libraries
        .find(|library| library.exists())
        .context("libfaketime is not installed; run tests/peers/install-faketime.sh")
}

/// Sets the clock of whoever was started with this file, from its next look on: so far from the true time.
fn set(file: &Path, ahead: &str) -> Result<()> {
    // Whoever reads it meanwhile sees all of one or of the other.
    let next = file.with_extension("next");
    fs::write(&next, ahead)?;
    Ok(fs::rename(next, file)?)
}

fn ahead(of_the_true_time: SignedDuration) -> String {
    format!("+{}s", of_the_true_time.as_secs())
}

/// The time that a daemon wrote a moment ago is by its own clock.
fn is_by_its_clock(journal: &Journal, ahead: SignedDuration) -> Result<()> {
    let last = journal.timeline.last().context("a journal with a timeline")?.at;
    let is_ahead = last.duration_since(Timestamp::now());
    let differs = is_ahead.saturating_sub(ahead).abs();
    ensure!(
        differs < SignedDuration::from_mins(5),
        "{is_ahead} ahead of the true time instead of {ahead}"
    );
    Ok(())
}

/// `before` and `after`: how far the clock is ahead of the true time until it is set, and then.
async fn survives(name: &str, before: SignedDuration, after: SignedDuration) -> Result<()> {
    let plane = pool::lease(&SETTING).await?;
    let mut options = all_options();
    options.push(HostOptions::default());
    let world = World::new(&plane, name, options).await?;
    describe_hosts(&world).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::policy_for(&["Redfish", "IPMI"])).await?;
    let cursor = plane.audit_cursor()?;
    let file = plane
        .kubeconfig_for(world::DAEMON_USER, &world::DAEMON_GROUPS)?
        .with_extension("clock");
    set(&file, &ahead(before))?;
    let variables: [(_, OsString); 4] = [
        ("LD_PRELOAD", library()?.into()),
        ("FAKETIME_TIMESTAMP_FILE", file.clone().into()),
        ("FAKETIME_NO_CACHE", "1".into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    let _daemon = world::daemon::start_with(&plane, DAEMON, "info", variables)?;
    all_set_out(&world).await?;

    let begun = world.hosts.first().context("a host for each phase")?;
    let written = world.remediation_until(&by_hand(begun), LONG, |_| true).await?;
    is_by_its_clock(&world::journal(&written), before)?;

    set(&file, &ahead(after))?;
    for host in &world.hosts {
        host.bmc.clear_faults();
    }
    have_power(&world).await?;
    world.release_pod("clings").await?;
    for (place, (host, phase)) in world.hosts.iter().zip(PHASES).enumerate() {
        if phase == Phase::Holding {
            hold_ended(&world, cursor, host).await?;
            continue;
        }
        let (ended, releases) = ended_once(&world, cursor, host, phase).await?;
        // A clock that is set on takes the time that was left.
        if after < before && place != REFUSED {
            let found = (ended, releases);
            ensure!(
                found == (ends_in(phase), is_released(phase)),
                "{} in {phase:?}: {found:?}",
                host.name
            );
        }
    }

    let later = world.hosts.last().context("a host that falls silent later")?;
    ensure!(
        later.transitions() == (0, 0),
        "a host that was well was powered off"
    );
    world.falls_silent_and_is_reported(later).await?;
    let ended = world.remediation_ended(&later.remediation(), LONG).await?;
    ensure!(world::phase(&ended) == Phase::Succeeded, "{:?}", ended.status);
    is_by_its_clock(&world::journal(&ended), after)?;
    ensure!(later.transitions() == (1, 1), "{:?}", later.transitions());
    ensure!(
        truth::releases(&world, cursor, later).await? == 1,
        "of {}",
        later.name
    );
    Ok(())
}

#[tokio::test]
async fn hosts_come_back_when_the_clock_is_set_hours_on() -> world::Outcome {
    Ok(survives("clock-on", SignedDuration::ZERO, HOURS).await?)
}

#[tokio::test]
async fn hosts_come_back_when_the_clock_is_set_hours_back() -> world::Outcome {
    Ok(survives("clock-back", HOURS, SignedDuration::ZERO).await?)
}
