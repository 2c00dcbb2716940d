//! A metal3 that does not power a host, as with an Ironic that fails at it, and lets go of it when it is asked to.

use anyhow::Result;
use futures::TryStreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher::watch_object;
use remediator_api::keys;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::describe;
use crate::{World, WorldHost, objects};

/// It is at work until it is dropped.
pub struct LettingGo {
    task: JoinHandle<()>,
}

impl Drop for LettingGo {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LettingGo {
    /// Describes a host ([`describe`]), and keeps it.
    pub async fn start(world: &World, host: &WorldHost, address: &str) -> Result<Self> {
        describe(world, host, json!({"bmc": {"address": address}})).await?;
        let (hosts, name) = (objects::bare_metal_hosts(world), host.name.clone());
        let task = tokio::spawn(async move {
            let changes = watch_object(hosts.clone(), &name);
            let done = changes.try_for_each(|found| async {
                if let Some(found) = found {
                    // What was written meanwhile is seen next.
                    let _ = says(&hosts, &found).await;
                }
                Ok(())
            });
            let _ = done.await;
        });
        Ok(Self { task })
    }
}

/// Says whether it has let go of the host.
async fn says(hosts: &Api<DynamicObject>, found: &DynamicObject) -> Result<(), kube::Error> {
    let is_asked = found.annotations().contains_key(keys::BARE_METAL_HOST_DETACHED);
    let wanted = if is_asked { "detached" } else { "OK" };
    if found
        .data
        .pointer("/status/operationalStatus")
        .and_then(Value::as_str)
        == Some(wanted)
    {
        return Ok(());
    }
    let status = Patch::Merge(json!({"status": {"operationalStatus": wanted}}));
    let name = found.name_any();
    hosts
        .patch_status(&name, &PatchParams::default(), &status)
        .await
        .map(drop)
}
