//! Nodes that do not fit their Machine, or are not there.

use anyhow::Result;
use futures::future::join_all;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use k8s_openapi::api::core::v1::Taint;
use remediator_api::keys;
use remediator_core::phase::Reason;
use serde_json::json;
use world::refusal::{self, Case};
use world::{World, objects};

use super::daemon;

fn cases() -> [Case; 7] {
    [
        Case::new(
            "no nodeRef",
            Reason::WithinGracePeriod,
            &["Machine {host} has no status.nodeRef"],
        )
        .options(|options| options.has_node = false),
        Case::new(
            "nodeRef without a name",
            Reason::WithinGracePeriod,
            &["Machine {host} has no status.nodeRef"],
        )
        .machine(|machine| machine["status"]["nodeRef"] = json!({"kind": "Node"})),
        Case::new(
            "nodeRef to nothing",
            Reason::IdentityUnproven,
            &[
                "Node ghost-of-tests does not exist",
                "BMCEndpoint/{host} does not state the system UUID",
            ],
        )
        .machine(|machine| machine["status"]["nodeRef"]["name"] = json!("ghost-of-tests")),
        Case::new(
            "Node of another Machine",
            Reason::NodeMachineMismatch,
            &["Node {host} says it belongs to Machine elsewhere/other"],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.machine = Some("elsewhere/other".to_owned());
                node
            });
        }),
        Case::new(
            "another providerID",
            Reason::NodeMachineMismatch,
            &["providerID of the Machine is test:///a, of Node {host} test:///b"],
        )
        .machine(|machine| machine["spec"]["providerID"] = json!("test:///a"))
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.provider_id = Some("test:///b".to_owned());
                node
            });
        }),
        Case::new(
            "another fencer at work",
            Reason::AnotherRemediatorActive,
            &["Node {host} carries the taint medik8s.io/remediation: self-node-remediation is fencing it"],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.taints.push(Taint {
                    key: keys::MEDIK8S_REMEDIATION_TAINT.to_owned(),
                    value: Some("self-node-remediation".to_owned()),
                    effect: "NoExecute".to_owned(),
                    time_added: None,
                });
                node
            });
        }),
        Case::new(
            "no boot ID",
            Reason::NodeUnreadable,
            &["status.nodeInfo.bootID of Node {host} is empty"],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.boot_id.clear();
                node
            });
        }),
    ]
}

#[tokio::test]
async fn a_node_that_does_not_fit_its_machine_is_refused_by_name() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = cases();
    let world = refusal::make(&daemon.cluster, "node", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;

    for one in &refused {
        refusal::never_contacted(&one.host.bmc)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_node_without_a_machine_is_not_remediated() -> world::Outcome {
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "lonely", Vec::new()).await?;
    let name = format!("{}-1", world.prefix);
    let template = NodeTemplate::new(&name);
    let kubelet = ScriptedKubelet::start(world.client.clone(), template).await?;
    kubelet
        .report_condition("Ready", "False", "KubeletNotReady")
        .await?;

    objects::create_remediation(&world, &name, json!({})).await?;

    let says = ["Machine", "does not exist"];
    refusal::refused(&world, daemon, &name, Reason::MachineNotFound, &says).await?;
    Ok(())
}

#[tokio::test]
async fn a_remediation_waits_for_the_node_and_goes_on_when_it_is_linked() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [
        Case::new("no nodeRef", Reason::WithinGracePeriod, &[]).machine(|machine| {
            drop(
                machine["status"]
                    .as_object_mut()
                    .expect("is an object")
                    .remove("nodeRef"),
            );
        }),
    ];
    let world = refusal::make(&daemon.cluster, "linked", &mut cases).await?;
    let refused = refusal::all_refused(&world, daemon, &cases).await?;

    let status = json!({"status": {"nodeRef": {"kind": "Node", "name": refused[0].host.name}}});
    objects::machines(&world)
        .patch_status(
            &refused[0].host.name,
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(status),
        )
        .await?;

    let go_on = refused.iter().map(|one| refusal::goes_on(&world, one.host));
    let went_on: Result<()> = join_all(go_on).await.into_iter().collect();
    Ok(went_on?)
}
