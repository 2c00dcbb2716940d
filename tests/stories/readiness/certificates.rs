//! Certificates with dates: what is refused soon is said before, and what nobody judges by dates is not.

use anyhow::{Context as _, Result};
use bmc_simulator::{CertificateDefect, Fault};
use jiff::{SignedDuration, Timestamp};
use remediator_core::phase::Reason;
use serde_json::json;
use world::{World, objects, refusal};

use super::findings::faulty;
use super::{Daemon, POLICY, daemon, is_not_ready, is_ready, ready_metric};

#[tokio::test]
async fn a_pinned_certificate_may_expire_and_that_is_said() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let mut cases = [faulty(
        "expired and pinned",
        Fault::Certificate(CertificateDefect::Expired),
        Reason::BmcTlsUntrusted,
        &[],
    )];
    let world = refusal::make(&daemon.cluster, "pinned", &mut cases).await?;
    let host = &world.hosts[0];
    is_not_ready(&world, &host.name, Reason::BmcTlsUntrusted).await?;

    let pin = json!({"fingerprints": [host.bmc.certificate_sha256_fingerprint()]});
    objects::patch_endpoint(&world, &host.name, json!({ "tls": pin })).await?;

    let condition = is_ready(&world, &host.name).await?;
    let said = "its certificate expired on 2002-01-01, which does no harm";
    assert!(condition.message.contains(said), "{}", condition.message);
    Ok(())
}

#[tokio::test]
async fn a_certificate_that_expires_within_the_month_is_reported_with_its_date() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let mut cases = [faulty(
        "expires within the month",
        Fault::Certificate(CertificateDefect::ExpiresSoon),
        Reason::BmcCertificateExpiring,
        &[],
    )];
    let world = refusal::make(&daemon.cluster, "expiring", &mut cases).await?;
    let host = &world.hosts[0];

    let condition = is_not_ready(&world, &host.name, Reason::BmcCertificateExpiring).await?;

    let expiry = expiry_of(daemon, &world, &host.name).await?;
    let left = expiry.duration_since(Timestamp::now());
    assert!(
        left > SignedDuration::ZERO && left <= SignedDuration::from_hours(7 * 24),
        "{expiry}"
    );
    let day = expiry.to_string();
    let (day, _) = day.split_once('T').context("no day")?;
    assert!(condition.message.contains(day), "{day}: {}", condition.message);
    // The date does no harm to one that is known by its fingerprint.
    let pin = json!({"fingerprints": [host.bmc.certificate_sha256_fingerprint()]});
    objects::patch_endpoint(&world, &host.name, json!({ "tls": pin })).await?;
    let condition = is_ready(&world, &host.name).await?;
    assert!(
        condition.message.contains("which will do no harm"),
        "{}",
        condition.message
    );
    // A renewed one is seen by its date.
    host.bmc.clear_faults();
    objects::patch_endpoint(&world, &host.name, json!({ "tls": null })).await?;
    let seen = "its certificate expires on ";
    super::stands(&world, &host.name, "renewed", |condition| {
        condition.status == "True"
            && condition.message.contains(seen)
            && !condition.message.contains("no harm")
    })
    .await?;
    assert!(expiry_of(daemon, &world, &host.name).await? > expiry);
    Ok(())
}

/// When the metric says that the certificate of an endpoint's BMC expires.
async fn expiry_of(daemon: &Daemon, world: &World, host: &str) -> Result<Timestamp> {
    let metric = ready_metric(world, "BMCEndpoint", host);
    let metric = metric.replace("bmc_ready", "bmc_certificate_expiry_timestamp_seconds");
    let seconds = daemon.metric(&metric).await?.context("no metric")?;
    Ok(Timestamp::from_second(seconds.parse()?)?)
}
