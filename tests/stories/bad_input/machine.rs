//! Machines that must not be touched, whoever asks.

use anyhow::{Result, ensure};
use futures::FutureExt as _;
use futures::future::{join_all, try_join_all};
use harness::Cluster;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use remediator_api::keys;
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::refusal::{self, Case};
use world::{World, WorldHost, objects};

use super::daemon;

const CONTROL_PLANE_ROLE: &str = "node-role.kubernetes.io/control-plane";

fn cases() -> [Case; 7] {
    [
        Case::new(
            "being deleted",
            Reason::MachineDeleting,
            &["Machine {host} is being deleted"],
        )
        .machine(|machine| machine["metadata"]["finalizers"] = json!(["tests.invalid/hold"]))
        .broken_by(|world, host| {
            async move {
                let machines = objects::machines(world);
                machines.delete(&host.name, &DeleteParams::default()).await?;
                Ok(())
            }
            .boxed()
        }),
        Case::new(
            "Failed",
            Reason::MachineFailed,
            &["Machine {host} is in phase Failed"],
        )
        .machine(|machine| machine["status"]["phase"] = json!("Failed")),
        Case::new(
            "of the Cluster API",
            Reason::MachineNotAuthoritative,
            &["status.authoritativeAPI of Machine {host} is ClusterAPI"],
        )
        .machine(|machine| machine["status"]["authoritativeAPI"] = json!("ClusterAPI")),
        Case::new(
            "with another remediator's mark",
            Reason::AnotherRemediatorActive,
            &["Machine {host} carries", keys::CAPBM_POWERED_OFF_ANNOTATION],
        )
        .machine(|machine| {
            machine["metadata"]["annotations"] = json!({keys::CAPBM_POWERED_OFF_ANNOTATION: ""});
        }),
        Case::new(
            "of the control plane",
            Reason::ControlPlaneRefused,
            &["Machine {host} has the control-plane role"],
        )
        .machine(|machine| machine["metadata"]["labels"] = json!({keys::MACHINE_ROLE_LABEL: "master"})),
        Case::new(
            "with a Node of the control plane",
            Reason::ControlPlaneRefused,
            &["Node {host} has the control-plane role"],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.labels.insert(CONTROL_PLANE_ROLE.to_owned(), String::new());
                node
            });
        }),
        // The kind does not demand a spec; we do.
        Case::new(
            "without a spec",
            Reason::MachineUnreadable,
            &["Machine", "{host} cannot be read", "spec"],
        )
        .machine(|machine| drop(machine.as_object_mut().expect("is an object").remove("spec"))),
    ]
}

/// What is told of a trigger that is refused, and then what a remediation made by hand is told.
async fn refused_twice(world: &World, host: &WorldHost, case: &Case) -> Result<()> {
    refusal::fall_ill(world, host).await?;
    let daemon = daemon().await?;
    let refused = refusal::trigger_refused(world, &daemon, host, case.reason, &case.says);
    Box::pin(refused).await?;

    let by_hand = format!("{}-hand", host.name);
    objects::create_remediation(world, &by_hand, json!({"machineName": host.name})).await?;
    let told = world
        .remediation_until(&by_hand, refusal::PATIENCE, |journal| {
            journal.reason == case.reason.as_str()
        })
        .await?;
    let expected = if case.reason == Reason::MachineDeleting {
        Phase::Cancelled
    } else {
        Phase::Pending
    };
    ensure!(world::phase(&told) == expected, "{:?}", told.status);
    refusal::untouched(&host.bmc)?;
    refusal::never_contacted(&host.bmc)?;
    ensure!(
        objects::is_triggered(world, &host.name).await?,
        "the trigger was removed"
    );
    Ok(())
}

/// A remediation is named after its Machine and a number, and so may be another Machine.
#[tokio::test]
async fn a_name_that_is_taken_by_a_remediation_of_another_machine_is_passed_over() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [Case::new("name taken", Reason::Accepted, &[])];
    let world = refusal::make(&daemon.cluster, "taken", &mut cases).await?;
    let host = &world.hosts[0];
    let taken = host.remediation();
    objects::create_remediation(&world, &taken, json!({})).await?;
    world
        .remediation_waits(&taken, Reason::MachineNotFound.as_str())
        .await?;

    refusal::fall_ill(&world, host).await?;

    refusal::goes_on(&world, host).await?;
    let next = world::remediation_name(&host.name, 2);
    assert!(
        world.remediations().get_opt(&next).await?.is_some(),
        "{next} is not there"
    );
    world
        .remediation_waits(&taken, Reason::MachineNotFound.as_str())
        .await?;
    Ok(())
}

/// Nodes of the control plane that stay Ready. As long as most are not, the daemon begins nothing for anybody, and other
/// stories have the same one.
async fn ready_control_plane(cluster: &Cluster) -> Result<Vec<ScriptedKubelet>> {
    let client = cluster.client().await?;
    let of_control_plane = |number| {
        let mut template = NodeTemplate::new(cluster.unique(&format!("control-plane-{number}")));
        template
            .labels
            .insert(CONTROL_PLANE_ROLE.to_owned(), String::new());
        ScriptedKubelet::start(client.clone(), template)
    };
    try_join_all((0..2).map(of_control_plane)).await
}

#[tokio::test]
async fn a_machine_that_must_not_be_touched_is_refused_by_name() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = cases();
    let ready = ready_control_plane(&daemon.cluster).await?;
    let world = refusal::make(&daemon.cluster, "machine", &mut cases).await?;

    let pairs = cases.iter().zip(&world.hosts);
    let results = join_all(pairs.map(|(case, host)| refused_twice(&world, host, case))).await;

    let no_role = Patch::Merge(json!({"metadata": {"labels": {CONTROL_PLANE_ROLE: null}}}));
    let nodes = Api::<Node>::all(world.nodes.clone());
    for host in world.hosts.iter().filter(|host| host.kubelet.is_some()) {
        nodes.patch(&host.name, &PatchParams::default(), &no_role).await?;
    }
    for kubelet in ready {
        kubelet.stop_reporting().await?;
        nodes
            .delete(kubelet.node_name(), &DeleteParams::default())
            .await?;
    }

    refusal::collect(cases.iter().map(|case| case.what), results)?;
    Ok(())
}
