//! The status page of a daemon that works: what it shows, what it pushes, and what it never says.
#![allow(clippy::indexing_slicing, reason = "a test reports by panicking")]

mod stream;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use bmc_simulator::Fault;
use remediator_core::phase::{Phase, Reason};
use reqwest::header::HOST;
use serde_json::{Value, json};
use tokio::process::Command;
use world::pool::{self, Setting};
use world::{HostOptions, World, daemon, install};

use self::stream::{Stream, hosts};
use crate::invariants::assert_clean;

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("status page").taking(60);
const LONG: Duration = Duration::from_mins(2);

/// Names a script that takes pictures of the page at an address (`tests/status_page/pictures.py`).
const PICTURES: &str = "STATUS_PAGE_PICTURES";

/// Three hosts: one that is well, one whose BMC rejects the login, and one that takes its time.
fn options() -> Vec<HostOptions> {
    let boot = if pictures().is_some() { 60 } else { 5 };
    let mut slow = HostOptions::default();
    slow.delays.boot = Duration::from_secs(boot).into();
    vec![HostOptions::default(), HostOptions::default(), slow]
}

fn policy() -> Value {
    json!({
        "bmc": {"allowedNetworks": ["127.0.0.0/8"], "readiness": {"interval": "10s"}},
        "limits": {
            "maxConcurrent": 3, "maxPerWindow": 4, "maxUnhealthy": 5, "maxFailed": 3, "coolDown": "0s", "startupHold": "0s",
            "failureDomain": {"maxConcurrent": 100},
        },
    })
}

fn pictures() -> Option<PathBuf> {
    std::env::var_os(PICTURES).map(PathBuf::from)
}

async fn text_of(url: String) -> Result<String> {
    Ok(reqwest::get(url).await?.error_for_status()?.text().await?)
}

/// A replica that does not lead says who does; the stream that told it.
async fn stands_by(page: &str) -> Result<Stream> {
    let mut waits = Stream::open(page).await?;
    let told = waits
        .until("it waits", |now| now["stands"] == "StandingBy")
        .await?;
    let leader = told["leader"].as_str().unwrap_or_default();
    assert!(leader.starts_with("first_"), "it says who leads: {told}");
    assert_eq!(told["policy"], Value::Null, "it knows nothing itself");
    Ok(waits)
}

/// No secret is in anything of it, and the name of another page leads to nothing.
async fn assert_secure(page: &str, pushed: [&Stream; 2]) -> Result<()> {
    for (what, text) in [
        ("what was pushed", pushed[0].seen()),
        ("what a standby pushed", pushed[1].seen()),
        ("the document", &text_of(format!("{page}/api/status")).await?),
        ("the page", &text_of(page.to_owned()).await?),
    ] {
        assert!(text.len() > 100, "{what} is there to be looked at: {text}");
        assert_clean(what, text);
    }
    let rebound = reqwest::Client::new().get(format!("{page}/api/status"));
    let rebound = rebound.header(HOST, "rebound.example").send().await?;
    assert_eq!(rebound.status().as_u16(), 403);
    Ok(())
}

/// From the first sign to the end of a remediation by what is pushed, and nothing else.
#[tokio::test]
async fn what_happens_is_pushed_and_no_secret_is_in_it() -> world::Outcome {
    let plane = pool::lease(&SETTING).await?;
    let world = World::new(&plane, "worker", options()).await?;
    install::allow_leader_election(&world.client).await?;
    world.health_check().await?;
    world::set_policy(&world.client, policy()).await?;
    let first = daemon::start_replica(&plane, DAEMON, "first")?;
    first.wait_for_line("leading", LONG).await?;
    let second = daemon::start_replica(&plane, DAEMON, "second")?;
    let (page, standby) = (
        daemon::status_page(&first).await?,
        daemon::status_page(&second).await?,
    );
    let [well, locked, slow] = &world.hosts[..] else {
        return Err(anyhow::anyhow!("three hosts").into());
    };

    let waits = stands_by(&standby).await?;
    let mut events = Stream::open(&page).await?;
    let ready = |now: &Value| now["stands"] == "Leading" && now["bmcs"]["ready"] == 3;
    let told = events.until("all BMCs are ready", ready).await?;
    assert_eq!(told["policy"]["allowed"], true);
    assert_eq!(hosts(&told, "running").len() + hosts(&told, "waiting").len(), 0);

    locked.bmc.set_faults(vec![Fault::RejectCredentials.into()])?;
    let rejected = Reason::BmcCredentialsRejected;
    let told = events
        .until("the check finds that the login is rejected", |now| {
            now["bmcs"]["notReady"][0]["reason"] == rejected.as_str()
        })
        .await?;
    assert_eq!(
        told["bmcs"]["notReady"][0]["host"],
        format!("BMCEndpoint/{}", locked.name)
    );
    world.falls_silent_and_is_reported(locked).await?;
    let told = events
        .until("it waits for its login", |now| {
            now["waiting"][0]["reason"] == rejected.as_str()
        })
        .await?;
    let waiting = &told["waiting"][0];
    assert_eq!(
        (&waiting["name"], &waiting["advice"]),
        (&json!(locked.remediation()), &json!(rejected.advice()))
    );

    world.falls_silent_and_is_reported(well).await?;
    events
        .until("it runs", |now| hosts(now, "running") == [well.name.as_str()])
        .await?;
    let told = events
        .until("it has ended", |now| {
            hosts(now, "history") == [well.name.as_str()]
        })
        .await?;
    let ended = &told["history"][0];
    assert_eq!(
        (&ended["phase"], &ended["reason"]),
        (&json!("Succeeded"), &json!("Rebooted"))
    );
    let timeline: Vec<&str> = ended["timeline"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["phase"].as_str())
        .collect();
    let path = [
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
        Phase::Succeeded,
    ];
    assert!(timeline.ends_with(&path.map(Phase::as_str)), "{timeline:?}");

    let remediation = world.falls_silent_and_is_reported(slow).await?;
    let told = events
        .until("it boots", |now| now["running"][0]["phase"] == "Booting")
        .await?;
    assert_eq!(hosts(&told, "running"), [slow.name.as_str()]);
    let limit = told["policy"]["limits"].as_array().into_iter().flatten();
    let limit: Vec<&str> = limit.filter_map(|one| one["field"].as_str()).collect();
    assert_eq!(
        limit,
        ["maxConcurrent", "maxPerWindow", "maxUnhealthy", "maxFailed"]
    );
    if let Some(script) = pictures() {
        let taken = Command::new(script).arg(&page).status().await?;
        assert!(taken.success(), "no pictures: {taken}");
    }
    let ended = world.remediation_ended(&remediation, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded);

    Ok(assert_secure(&page, [&events, &waits]).await?)
}
