//! Requests that are about a Node: a person's, and those of health checks.

mod node_health_check;

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Fault;
use harness::Cluster;
use harness::kubelet::NodeTemplate;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, PostParams};
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{hasty, patient};
use world::node_health::{NodeHealthCheck, not_ready};
use world::pool::{self, Setting};
use world::{HostOptions, World, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("nodes").taking(65);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_of(name: &str, options: HostOptions) -> Result<World> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, vec![options]).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

/// A host whose Node has no Machine, as in clusters without a machine API.
fn without_a_machine() -> HostOptions {
    HostOptions {
        machine: Box::new(|_| Value::Null),
        node: Box::new(|node| NodeTemplate {
            machine: None,
            ..node
        }),
        endpoint: Box::new(|mut endpoint| {
            if let Some(fields) = endpoint.as_object_mut()
                && let Some(name) = fields.remove("machineName")
            {
                fields.insert("nodeName".to_owned(), name);
            }
            endpoint
        }),
        ..HostOptions::default()
    }
}

/// Reasons of the events on a Node, found as `kubectl describe node` does.
async fn told_on_the_node(world: &World, node: &str) -> Result<Vec<String>> {
    let events = Api::<Event>::all(world.client.clone());
    let of_node = ListParams::default().fields(&format!("regarding.kind=Node,regarding.uid={node}"));
    let events = events.list(&of_node).await?;
    Ok(events.into_iter().filter_map(|event| event.reason).collect())
}

#[tokio::test]
async fn a_person_names_a_node_that_has_no_machine() -> world::Outcome {
    let world = world_of("node-by-hand", without_a_machine()).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    let mut spec = patient();
    spec["nodeName"] = json!(host.name);
    objects::create_remediation(&world, "by-hand", spec).await?;

    let ended = world.remediation_ended("by-hand", LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let subject = world::journal(&ended).subject.context("it is journalled")?;
    assert_eq!(
        (subject.node_name(), &subject.machine),
        (Some(host.name.as_str()), &None)
    );
    let told = told_on_the_node(&world, &host.name).await?;
    assert!(
        told.iter()
            .any(|reason| reason == Reason::PowerOffRequested.as_str()),
        "{told:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_machine_health_check_with_a_template_is_judged_by_its_own_conditions() -> world::Outcome {
    let world = world_of("node-mhc-disk", HostOptions::default()).await?;
    let host = &world.hosts[0];
    objects::create_health_check(&world, "disks", |check| {
        check["metadata"]["annotations"] = Value::Null;
        check["spec"]["unhealthyConditions"] = json!([{"type": "DiskCorrupt", "status": "True", "timeout": "2s"}]);
        check["spec"]["remediationTemplate"] = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate", "name": "reboot",
        });
    })
    .await?;
    let kubelet = host.kubelet.as_ref().context("the host has a Node")?;
    kubelet
        .report_condition("DiskCorrupt", "True", "BadBlocks")
        .await?;
    let machine = objects::machines(&world).get(&host.name).await?;
    // As machine-api-operator makes it (`machinehealthcheck_controller.go`, `external.GenerateTemplate`).
    let remediation = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": host.name, "namespace": world.namespace,
            "annotations": {
                "machine.openshift.io/cloned-from-name": "reboot",
                "machine.openshift.io/cloned-from-groupkind": "PowerCycleRemediationTemplate.baremetal-remediator.io",
            },
            "ownerReferences": [{
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "name": host.name, "uid": machine.metadata.uid,
            }],
        },
        "spec": patient(),
    }))?;
    let requests = world.remediations();
    requests.create(&PostParams::default(), &remediation).await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn a_machine_that_says_that_the_node_is_its_own_counts_although_the_node_does_not_say_so()
-> world::Outcome {
    // As before the annotation is written, and when a Node has registered anew.
    let options = HostOptions {
        node: Box::new(|node| NodeTemplate {
            machine: None,
            ..node
        }),
        ..HostOptions::default()
    };
    let world = world_of("node-unlinked", options).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    let mut spec = patient();
    spec["nodeName"] = json!(host.name);
    objects::create_remediation(&world, "by-hand", spec).await?;

    let ended = world.remediation_ended("by-hand", LONG).await?;

    let subject = world::journal(&ended).subject.context("it is journalled")?;
    assert_eq!(subject.machine.as_deref(), Some(host.name.as_str()));
    Ok(())
}

/// What has failed for one is not begun anew for who waited meanwhile.
#[tokio::test]
async fn several_requests_for_one_host_fail_together() -> world::Outcome {
    let world = world_of("node-merged-failure", HostOptions::default()).await?;
    let host = &world.hosts[0];
    host.bmc.inject(Fault::AcceptAndIgnore)?;
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    world.falls_silent(host).await?;

    let by_hand = world.request(host, hasty()).await?;
    let begun = |journal: &Journal| journal.phase == Phase::PoweringOff;
    world.remediation_until(&by_hand, LONG, begun).await?;
    check.asks_for(&world, host, "by-health-check").await?;
    let ended = tokio::try_join!(
        world.remediation_ended(&by_hand, LONG),
        world.remediation_ended("by-health-check", LONG),
    )?;

    let mut journals = [ended.0, ended.1].map(|one| world::journal(&one));
    journals.sort_by_key(|journal| journal.attempt);
    let ends = journals
        .each_ref()
        .map(|journal| (journal.phase, journal.attempt));
    assert_eq!(ends, [(Phase::Failed, 0), (Phase::Failed, 1)], "{journals:?}");
    assert!(journals[0].is_because(Reason::Quarantined), "{journals:?}");
    assert!(!journals[1].is_because(Reason::Quarantined), "{journals:?}");
    Ok(())
}

#[tokio::test]
async fn several_requests_for_one_host_are_one_power_cycle() -> world::Outcome {
    let world = world_of("node-merged", HostOptions::default()).await?;
    let host = &world.hosts[0];
    world.health_check().await?;
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    world.falls_silent(host).await?;

    objects::trigger(&world, &host.name).await?;
    let by_hand = world.request(host, json!({})).await?;
    check.asks_for(&world, host, "by-health-check").await?;
    let by_trigger = host.remediation();
    let ended = tokio::try_join!(
        world.remediation_ended(&by_trigger, LONG),
        world.remediation_ended(&by_hand, LONG),
        world.remediation_ended("by-health-check", LONG),
    )?;

    let all = [ended.0, ended.1, ended.2];
    let mut ends: Vec<_> = all.iter().map(world::phase).collect();
    ends.sort();
    let journals = all.each_ref().map(world::journal);
    assert_eq!(
        ends,
        [Phase::Succeeded, Phase::Cancelled, Phase::Cancelled],
        "{journals:?}"
    );
    for journal in journals
        .iter()
        .filter(|journal| journal.phase == Phase::Cancelled)
    {
        assert_eq!(journal.reason, Reason::Recovered.as_str(), "{journal:?}");
    }
    assert_eq!(host.transitions(), (1, 1));
    assert!(!objects::is_triggered(&world, &host.name).await?);
    Ok(())
}
