//! The daemon is killed again and again from the power-off on, as when it runs out of memory each time that it starts.
#![allow(
    clippy::indexing_slicing,
    reason = "there is one host, and what is indexed was built here"
)]

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bmc_simulator::{Command, Event, Power};
use remediator_core::journal::Verb;
use world::fault::calls::naming;
use world::fault::stage::Stage;
use world::front::api::ApiFront;
use world::pool::{self, Setting};
use world::{HostOptions, World, record};

use super::DAEMON;

static SETTING: Setting = Setting::alone("crash loop").taking(125);
const STARTS: u32 = 60;
const BETWEEN: Duration = Duration::from_millis(1500);
/// When the host is on again, after the last start.
const BACK: Duration = Duration::from_mins(1);
const LONG: Duration = Duration::from_mins(2);
/// Power-offs that one remediation may send, whatever happens.
const MOST_POWER_OFFS: usize = 12;

#[tokio::test]
async fn sixty_crashes_in_ninety_seconds_leave_the_host_on() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let world = World::new(cluster, "crash-loop", vec![HostOptions::default()]).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let cursor = cluster.audit_cursor()?;
    let host = &world.hosts[0];
    let api = ApiFront::start(cluster, Arc::new(Stage::default()), naming, None).await?;
    let mut daemon = api.start_daemon(DAEMON)?;
    let remediation = world.falls_silent_and_is_reported(host).await?;
    let is_told = |event: &Event| {
        matches!(
            event,
            Event::Command {
                command: Command::ForceOff,
                ..
            }
        )
    };
    host.sees("the power-off", LONG, is_told).await?;

    let mut beat = tokio::time::interval(BETWEEN);
    for _ in 0..STARTS {
        daemon.kill().await?;
        daemon = api.start_daemon(DAEMON)?;
        beat.tick().await;
    }
    let is_on = host.bmc.wait_for(|_| {
        let truth = host.bmc.truth();
        truth.on_to_off == 1 && truth.power == Power::On
    });
    let is_on = tokio::time::timeout(BACK, is_on).await;
    is_on.with_context(|| {
        let log = daemon.log_path();
        format!("not on {BACK:?} after the last crash; see {}", log.display())
    })??;
    let ended = world.remediation_ended(&remediation, LONG).await?;

    let (sent, _) = record::commands(host);
    let offs = sent.iter().filter(|sent| sent.verb == Verb::PowerOff).count();
    println!(
        "{STARTS} starts: {offs} power-offs, {:?}",
        world::journal(&ended).phase
    );
    assert_eq!(host.transitions(), (1, 1));
    assert!(offs <= MOST_POWER_OFFS, "{sent:?}");
    assert_eq!(record::blind_repeats(host), Vec::<String>::new());
    let uncovered = record::uncovered_commands(&world, cursor).await?;
    assert_eq!(uncovered, Vec::<String>::new());
    Ok(())
}
