//! Hosts whose Machine has no Node.
#![allow(clippy::indexing_slicing, reason = "what is indexed was built here")]

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{HostOptions, World, WorldHost, objects};

/// A Machine that was provisioned and for which no Node has joined.
pub fn never_joined() -> HostOptions {
    HostOptions {
        has_node: false,
        machine: Box::new(|mut machine| {
            machine["status"]["phase"] = json!("Provisioned");
            machine
        }),
        ..HostOptions::default()
    }
}

/// All Machines have been waiting for their Nodes for an hour.
pub async fn provisioned_an_hour_ago(world: &World) -> Result<()> {
    let hour_ago = Timestamp::now().checked_sub(SignedDuration::from_hours(1))?;
    for host in &world.hosts {
        status(world, host, json!({"lastUpdated": format!("{hour_ago:.0}")})).await?;
    }
    Ok(())
}

/// Merges into the status of a Machine.
pub async fn status(world: &World, host: &WorldHost, change: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"status": change}));
    let machines = objects::machines(world);
    machines
        .patch_status(&host.name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// A person says which host it is.
pub async fn state_uuid(world: &World, host: &WorldHost) -> Result<()> {
    objects::patch_endpoint(world, &host.name, json!({"systemUUID": host.bmc.system_uuid()})).await
}

/// The health check that wants the Machines remediated, as soon as it is there.
pub async fn check(world: &World) -> Result<()> {
    objects::create_health_check(world, "workers", |check| {
        check["spec"]["nodeStartupTimeout"] = json!("10m");
    })
    .await
}
