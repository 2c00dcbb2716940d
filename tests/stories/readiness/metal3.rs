//! Hosts that a BareMetalHost describes have no object of ours: they are reported by event and metric.

use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::{HostOptions, World, metal3, objects, refusal};

use super::{POLICY, daemon, ready_metric};

fn behind_metal3() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        secret: Box::new(|mut secret| {
            secret["password"] = json!("Wr0ng-canary-Pa55word");
            secret
        }),
        ..HostOptions::default()
    }
}

#[tokio::test]
async fn a_host_behind_metal3_is_reported_on_its_machine() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "metal3", vec![behind_metal3()]).await?;
    let host = &world.hosts[0];
    objects::create_bare_metal_host(&world, host).await?;
    metal3::runs_on(&world, host).await?;
    let metric = ready_metric(&world, "Machine", &host.name);

    daemon.metric_becomes(&metric, Some("0")).await?;
    let reason = Reason::BmcCredentialsRejected;
    let note = objects::event(&world, &host.name, reason.as_str()).await?;
    refusal::useful(&note, reason, &["BareMetalHost/{host}", "Secret"], &host.name)?;

    let right = json!({"password": host.bmc.credentials().password});
    objects::patch_secret(&world, &host.name, right).await?;
    daemon.metric_becomes(&metric, Some("1")).await?;
    objects::event(&world, &host.name, Reason::BmcReady.as_str()).await?;
    Ok(refusal::untouched(&host.bmc)?)
}
