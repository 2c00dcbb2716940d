//! The daemon is killed again and again from the power-off on, as when it runs out of memory each time that it starts.
#![allow(clippy::indexing_slicing, reason = "what is indexed was built here")]

use std::sync::Arc;
use std::time::Duration;

use bmc_simulator::{Command, Event, Power};
use futures::future::try_join_all;
use remediator_core::journal::Verb;
use serde_json::json;
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
/// How long the sessions that dead daemons have left at an IPMI BMC may keep everybody else out: IPMI 2.0, section 6.12.15,
/// has it end one after 60 s +- 3 s. Nobody who does not know its keys can end it before.
const LEFT_SESSIONS: Duration = Duration::from_secs(63);
const LONG: Duration = Duration::from_mins(2);
/// Power-offs that one remediation may send, whatever happens.
const MOST_POWER_OFFS: usize = 12;

#[tokio::test]
async fn sixty_crashes_in_ninety_seconds_leave_the_hosts_on() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let options = vec![
        HostOptions::default(),
        HostOptions::over_ipmi(),
        HostOptions::default(),
    ];
    let world = World::new(cluster, "crash-loop", options).await?;
    world::allow_node_deletion(&world.client).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::policy_for(&["Redfish", "IPMI"])).await?;
    let cursor = cluster.audit_cursor()?;
    let api = ApiFront::start(cluster, Arc::new(Stage::default()), naming, None).await?;
    let mut daemon = api.start_daemon(DAEMON)?;
    let [by_taint, over_ipmi, by_deletion] = &world.hosts[..] else {
        return Err(anyhow::anyhow!("three hosts").into());
    };
    let remediations = tokio::try_join!(
        world.falls_silent_and_is_reported(by_taint),
        world.falls_silent_and_is_reported(over_ipmi),
        async {
            world.falls_silent(by_deletion).await?;
            world
                .request(by_deletion, json!({"fencingMode": "NodeDeletion"}))
                .await
        },
    )?;
    let is_told = |event: &Event| {
        matches!(
            event,
            Event::Command {
                command: Command::ForceOff,
                ..
            }
        )
    };
    let told = world
        .hosts
        .iter()
        .map(|host| host.sees("the power-off", LONG, is_told));
    try_join_all(told).await?;

    let mut beat = tokio::time::interval(BETWEEN);
    for _ in 0..STARTS {
        daemon.kill().await?;
        daemon = api.start_daemon(DAEMON)?;
        beat.tick().await;
    }
    let remediations: [String; 3] = remediations.into();
    let are_on = world.hosts.iter().zip(&remediations);
    let are_on = are_on.map(async |(host, remediation)| {
        let is_on = host.bmc.wait_for(|_| {
            let truth = host.bmc.truth();
            truth.on_to_off == 1 && truth.power == Power::On
        });
        let obstacle = if host.name == over_ipmi.name {
            LEFT_SESSIONS
        } else {
            Duration::ZERO
        };
        let Ok(waited) = tokio::time::timeout(obstacle.saturating_add(BACK), is_on).await else {
            let found = world.remediations().get(remediation).await?;
            let (log, journal) = (daemon.log_path().display(), world::journal(&found));
            anyhow::bail!(
                "{} is not on after the last crash; see {log}: {journal:#?}",
                host.name
            );
        };
        Ok(waited?)
    });
    try_join_all(are_on).await?;
    for (host, remediation) in world.hosts.iter().zip(&remediations) {
        let ended = world.remediation_ended(remediation, LONG).await?;
        let (sent, _) = record::commands(host);
        let offs = sent.iter().filter(|sent| sent.verb == Verb::PowerOff).count();
        let phase = world::journal(&ended).phase;
        println!("{STARTS} starts: {offs} power-offs of {}, {phase:?}", host.name);
        assert_eq!(host.transitions(), (1, 1), "{}", host.name);
        assert!(offs <= MOST_POWER_OFFS, "{}: {sent:?}", host.name);
        assert_eq!(record::blind_repeats(host), Vec::<String>::new());
    }
    let uncovered = record::uncovered_commands(&world, cursor).await?;
    assert_eq!(uncovered, Vec::<String>::new());
    Ok(())
}
