//! A run of everything that the daemon can do.

use anyhow::{Context as _, Result};
use harness::await_condition;
use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, PostParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::node_health::{NodeHealthCheck, not_ready};
use world::{
    self, HostOptions, World, WorldHost, cluster_api, escalation, metal3_provider, node_lease, objects,
};

use super::LONG;

/// A host behind a BareMetalHost that is to be powered directly.
pub(crate) fn behind_metal3() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        machine: Box::new(|mut machine| {
            let metadata = &machine["metadata"];
            let path = format!(
                "{}/{}",
                metadata["namespace"].as_str().unwrap_or_default(),
                metadata["name"].as_str().unwrap_or_default()
            );
            machine["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": path});
            machine
        }),
        ..HostOptions::default()
    }
}

/// A host whose BMC is trusted by a CA in a ConfigMap.
pub(crate) fn trusted_by_config_map() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|mut endpoint| {
            endpoint["tls"] = json!({"caBundleFrom": {"kind": "ConfigMap", "name": "bmc-ca"}});
            endpoint
        }),
        ..HostOptions::default()
    }
}

/// A pod that stays on the Node by right, with a volume that therefore stays attached.
async fn create_resident(world: &World, node: &str) -> Result<()> {
    let created = PostParams::default();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "resident", "namespace": world.namespace},
        "spec": {
            "nodeName": node, "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "work", "image": "registry.invalid/work:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }))?;
    Api::<Pod>::namespaced(world.client.clone(), &world.namespace)
        .create(&created, &pod)
        .await?;
    let volume_name = format!("{node}-volume");
    let volume: PersistentVolume = serde_json::from_value(json!({
        "metadata": {"name": volume_name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": world.namespace, "name": "data"},
            "csi": {"driver": "example.com", "volumeHandle": "one"},
        },
    }))?;
    Api::all(world.client.clone()).create(&created, &volume).await?;
    let attachment: VolumeAttachment = serde_json::from_value(json!({
        "metadata": {"name": format!("{node}-attachment")},
        "spec": {"attacher": "example.com", "nodeName": node, "source": {"persistentVolumeName": volume_name}},
    }))?;
    Api::all(world.client.clone())
        .create(&created, &attachment)
        .await?;
    Ok(())
}

/// Has the daemon do everything that it can do.
pub(crate) async fn exercise(world: &World) -> Result<()> {
    let [
        by_annotation,
        by_deletion,
        through_metal3,
        of_cluster_api,
        replaced,
        handed_over,
    ] = &world.hosts[..]
    else {
        anyhow::bail!("six hosts were asked for");
    };
    // The one that ran out is taken over, the others are created; all are deleted.
    node_lease::agree_by_leases(&world.client).await?;
    node_lease::hold(world, by_deletion, "node-maintenance", 60).await?;
    node_lease::runs_out(world, by_deletion).await?;
    let ca = by_annotation.bmc.ca_pem();
    objects::create_config_map(world, "bmc-ca", json!({"ca.crt": ca})).await?;
    objects::create_bare_metal_host(world, through_metal3).await?;
    create_template(world, "cycle", Value::Null, patient()).await?;
    metal3_provider::create_bare_machine(world, "of-metal3", "blue").await?;
    create_resident(world, &by_annotation.name).await?;
    let annotated = async {
        let remediation = world.falls_silent_and_is_reported(by_annotation).await?;
        world.remediation_ended(&remediation, LONG).await
    };
    let in_a_cluster = async {
        cluster_api::create_cluster(world, "blue").await?;
        cluster_api::connect(world, "blue", &world.cluster).await?;
        cluster_api::create_health_check(world, "blue", "blue", Value::Null).await?;
        world.falls_silent(of_cluster_api).await?;
        cluster_api::trigger(world, &of_cluster_api.name).await?;
        world.remediation_ended(&of_cluster_api.remediation(), LONG).await
    };
    let requested = async |host: &WorldHost, field: &str, value: &str| {
        world.falls_silent(host).await?;
        let mut strategy = patient();
        strategy[field] = json!(value);
        let remediation = world.request(host, strategy).await?;
        world.remediation_ended(&remediation, LONG).await
    };
    let escalated = async |host: &WorldHost, kind: &str| {
        world.falls_silent(host).await?;
        let remediation = world.request(host, escalation::ending_in(kind)).await?;
        world
            .remediation_until(&remediation, LONG, |journal| {
                journal
                    .escalation
                    .as_ref()
                    .is_some_and(|escalation| escalation.done.is_some())
            })
            .await
    };
    let replaced = async {
        escalation::owned_by_machine_set(world, replaced).await?;
        escalated(replaced, "MachineDeletion").await
    };
    let handed_over = async {
        escalation::owned_in_cluster_api(world, handed_over, "blue").await?;
        escalation::health_check_failed(world, handed_over).await?;
        escalated(handed_over, "MachineOwner").await
    };
    let (one, two, three, four, _, _) = tokio::try_join!(
        annotated,
        requested(by_deletion, "fencingMode", "NodeDeletion"),
        requested(through_metal3, "hostControl", "Direct"),
        in_a_cluster,
        replaced,
        handed_over,
    )?;
    for ended in [&one, &two, &three, &four] {
        assert_eq!(
            world::phase(ended),
            Phase::Succeeded,
            "{:?}",
            world::journal(ended)
        );
    }
    for number in 2..=5 {
        world.false_alarm(by_annotation, number).await?;
    }
    let oldest_alarm = world::remediation_name(&by_annotation.name, 2);
    world.remediation_gone(&oldest_alarm, LONG).await?;
    let check = NodeHealthCheck::create(world, not_ready()).await?;
    check.asks_for(world, by_deletion, "by-health-check").await?;
    world.remediation_ended("by-health-check", LONG).await?;
    let name = three.metadata.name.context("no name")?;
    world.take_back(&name).await?;
    world.remediation_gone(&name, LONG).await?;
    objects::event(world, "of-metal3", Reason::HostUnreadable.as_str()).await?;
    evaluates_health_checks(world).await
}

/// Has the daemon evaluate the health checks itself; everybody is well by now.
async fn evaluates_health_checks(world: &World) -> Result<()> {
    world::set_policy(&world.client, policy("Auto")).await?;
    let checks = Api::<objects::HealthCheckView>::namespaced(world.client.clone(), &world.namespace);
    let counts = |check: Option<&objects::HealthCheckView>| {
        let status = check.and_then(|check| check.status.as_ref());
        status.is_some_and(|status| status.current_healthy == Some(3))
    };
    tokio::time::timeout(LONG, await_condition(checks, "workers", counts))
        .await
        .context("the health check was not evaluated")??;
    let counted = |status: &Value| status["currentHealthy"].is_number();
    cluster_api::health_check_says(world, "blue", counted).await?;
    Ok(())
}

pub(crate) fn policy(health_checker: &str) -> Value {
    json!({
        "bmc": {"allowedNetworks": ["127.0.0.0/8"], "readiness": {"interval": "10s"}},
        "healthChecker": health_checker,
    })
}
