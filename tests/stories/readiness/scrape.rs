//! What is measured, and who may ask.

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use world::{HostOptions, World};

use super::{POLICY, daemon, is_ready};

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
    let healthy = reqwest::get(format!("{}/healthz", daemon.metrics)).await?;
    assert_eq!(
        (healthy.status().as_u16(), healthy.text().await?.as_str()),
        (200, "ok\n")
    );
    let elsewhere = reqwest::get(format!("{}/debug", daemon.metrics)).await?;
    assert_eq!(elsewhere.status().as_u16(), 404);
    Ok(())
}

#[tokio::test]
async fn readers_that_hang_keep_nobody_from_reading() -> world::Outcome {
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
