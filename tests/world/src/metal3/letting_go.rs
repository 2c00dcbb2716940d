//! A metal3 that does not power a host, as with an Ironic that fails at it, and lets go of it when it is asked to.

use anyhow::Result;
use futures::TryStreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher::watch_object;
use remediator_api::keys;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

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
    /// Describes a host by a BareMetalHost that says that metal3 keeps it online, and whose BMC is at this address; its
    /// Machine runs on it.
    pub async fn start(world: &World, host: &WorldHost, address: &str) -> Result<Self> {
        objects::create_bare_metal_host(world, host).await?;
        let hosts = objects::bare_metal_hosts(world);
        let change = Patch::Merge(json!({"spec": {"bmc": {"address": address}}}));
        hosts.patch(&host.name, &PatchParams::default(), &change).await?;
        let id = format!("baremetalhost:///{}/{}", world.namespace, host.name);
        objects::patch_machine(world, &host.name, json!({"spec": {"providerID": id}})).await?;
        let name = host.name.clone();
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
