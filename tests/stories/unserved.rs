//! Kinds of others that the server does not have, or not yet: what nobody could list is not known to be absent.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use kube::api::{Api, PostParams};
use remediator_api::PowerCycleRemediation;
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::pool::{self, Setting};
use world::{journal, set_policy};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("unserved").with(&[]);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A request whose owner is a Machine of Cluster API, which has no such kind yet.
fn request(name: &str) -> Result<PowerCycleRemediation> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "name": name, "uid": "5f4d3c2b-1a09-4b8c-9d7e-6f5a4b3c2d1e",
        }]},
        "spec": {},
    }))?)
}

#[tokio::test]
async fn a_machine_whose_kind_is_not_served_is_not_taken_for_one_that_is_gone() -> world::Outcome {
    let cluster = &control_plane().await?;
    let client = cluster.client().await?;
    let namespace = cluster.namespace("unserved").await?;
    set_policy(&client, world::daemon::permissive_policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let remediations = Api::<PowerCycleRemediation>::namespaced(client, &namespace);

    remediations
        .create(&PostParams::default(), &request("worker-1")?)
        .await?;

    let until = |wanted: fn(&PowerCycleRemediation) -> bool| {
        let found = move |one: Option<&PowerCycleRemediation>| one.is_some_and(wanted);
        harness::await_condition(remediations.clone(), "worker-1", found)
    };
    let told = |one: &PowerCycleRemediation| journal(one).reason == Reason::MachineUnreadable.as_str();
    let waits = tokio::time::timeout(LONG, until(told))
        .await
        .context("it does not wait")??;
    let waits = waits.map(|one| journal(&one)).unwrap_or_default();
    assert_eq!(waits.phase, Phase::Pending, "{waits:?}");
    assert!(waits.message.contains("cluster.x-k8s.io"), "{waits:?}");
    Ok(())
}
