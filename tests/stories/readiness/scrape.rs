//! What is measured, what the probes say, and who may ask.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use remediator_core::phase::Phase;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use world::{HostOptions, World};

use super::{PATIENCE, POLICY, daemon, is_ready, policy};

#[tokio::test]
async fn what_is_measured_is_there_by_its_name() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "metrics", vec![HostOptions::default()]).await?;
    is_ready(&world, &world.hosts[0].name).await?;

    let lines = daemon.scrape().await?;

    for name in [
        "baremetal_remediator_bmc_ready{",
        "baremetal_remediator_bmc_checks_total{result=\"BmcReady\"} ",
        "baremetal_remediator_bmc_check_duration_seconds_bucket{le=\"1.0\"} ",
        "baremetal_remediator_bmc_certificate_expiry_timestamp_seconds{",
        "baremetal_remediator_bmc_requests_total{outcome=\"Answered\"} ",
        "baremetal_remediator_remediations{phase=\"PoweringOff\"} ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(name)),
            "{name} is not in {lines:#?}"
        );
    }
    for line in &lines {
        assert!(!line.contains("canary"), "a secret in {line}");
        let described = line.starts_with('#') || line.starts_with("baremetal_remediator_");
        assert!(described, "{line} is not ours");
    }
    for probe in ["livez", "readyz", "healthz"] {
        assert_eq!(daemon.probe(probe).await?, (200, "ok\n".to_owned()), "{probe}");
    }
    let elsewhere = reqwest::get(format!("{}/debug", daemon.metrics)).await?;
    assert_eq!(elsewhere.status().as_u16(), 404);
    Ok(())
}

/// What is shipped to watch the daemon asks only for what it says.
#[tokio::test]
async fn alerts_and_dashboard_ask_for_what_is_measured_of_a_remediation() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "measured", vec![HostOptions::default()]).await?;
    is_ready(&world, &world.hosts[0].name).await?;
    world.health_check().await?;
    let remediation = world.falls_silent_and_is_reported(&world.hosts[0]).await?;
    let ended = world.remediation_ended(&remediation, PATIENCE).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded);

    let over = "baremetal_remediator_remediations_finished_total{outcome=\"Succeeded\",reason=\"Rebooted\"}";
    daemon.metric_appears(over).await?;
    for phase in ["Pending", "PoweringOff", "Fencing", "PoweringOn", "Booting"] {
        let name =
            format!("baremetal_remediator_remediation_phase_duration_seconds_count{{phase=\"{phase}\"}}");
        daemon.metric_appears(&name).await?;
    }
    daemon
        .metric_appears("baremetal_remediator_limit_allowed{limit=\"maxConcurrent\"}")
        .await?;
    assert_eq!(
        daemon.metric("baremetal_remediator_leader ").await?.as_deref(),
        Some("1")
    );

    let lines = daemon.scrape().await?;
    let there: BTreeSet<String> = lines.iter().flat_map(|line| names(line)).collect();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/components/monitoring");
    for file in ["prometheus-rule.yaml", "dashboard.json"] {
        let asked: BTreeSet<String> = names(&std::fs::read_to_string(shipped.join(file))?)
            .into_iter()
            .collect();
        assert!(asked.len() >= 8, "{file} asks for {asked:?}");
        let missing: Vec<_> = asked.difference(&there).collect();
        assert!(missing.is_empty(), "{file} asks for {missing:?}, of {there:#?}");
    }
    Ok(())
}

/// The metrics of ours that a text names.
fn names(text: &str) -> Vec<String> {
    let is_name = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_';
    let words = text.split(|one: char| !is_name(one));
    let ours = words.filter(|word| word.starts_with("baremetal_remediator_"));
    ours.map(ToOwned::to_owned).collect()
}

/// Without a restart, which would lose what is to be looked into.
#[tokio::test]
async fn the_policy_says_how_much_is_logged() -> world::Outcome {
    const LINE: &str = "a reader of metrics went away";
    let _policy = POLICY.write().await;
    let daemon = &daemon().await?;
    let client = super::control_plane().await?.client().await?;
    let log = || std::fs::read_to_string(daemon.child.log_path());
    let goes_away = async || {
        let address = daemon.metrics.strip_prefix("http://").context("is a URL")?;
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"nonsense\r\n\r\n").await?;
        // It has been dealt with once it is answered.
        stream.read_to_end(&mut Vec::new()).await?;
        anyhow::Ok(())
    };
    goes_away().await?;
    daemon.child.wait_for_line(LINE, PATIENCE).await?;

    let mut quiet = policy("10s");
    quiet["logLevel"] = json!("Warn");
    world::set_policy(&client, quiet).await?;
    daemon.child.wait_for_line("level=\"Warn\"", PATIENCE).await?;
    // The line is written before the level changes: until it has, readers go away.
    let mut seen = log()?.matches(LINE).count();
    let silent = async {
        loop {
            for _ in 0..3 {
                goes_away().await?;
                daemon.scrape().await?;
            }
            let now = log()?.matches(LINE).count();
            if std::mem::replace(&mut seen, now) == now {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(PATIENCE, silent)
        .await
        .context("it goes on logging")??;

    world::set_policy(&client, policy("10s")).await?;
    let loud = async {
        while log()?.matches(LINE).count() <= seen {
            goes_away().await?;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, loud)
        .await
        .context("it stays silent")??;
    Ok(())
}

#[tokio::test]
async fn readers_that_hang_keep_nobody_from_reading() -> world::Outcome {
    // What it has logged is counted in another story.
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let address = daemon.metrics.strip_prefix("http://").context("is a URL")?;
    let mut hanging = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").await?;
        hanging.push(stream);
    }
    daemon.scrape().await?;
    for mut stream in hanging {
        let mut rest = Vec::new();
        // It may be reset, too.
        drop(stream.read_to_end(&mut rest).await);
        assert!(
            !rest.starts_with(b"HTTP/1.1 200"),
            "it never finished its request"
        );
    }
    Ok(())
}
