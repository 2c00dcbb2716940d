//! What is unhealthy and gets no trigger all the same, and who is told why.

use anyhow::{Context as _, Result};
use remediator_api::keys;
use serde_json::{Value, json};
use world::{HostOptions, World, objects};

use super::{
    CLUSTER, allowed, check_for_slowness, daemon, reports_slowness, status, triggered, without_an_endpoint,
};

/// Label by which the checks tell the Machines apart.
const GROUP: &str = "group";

/// A Machine of this group, changed otherwise, too.
fn of_group(group: &'static str, change: fn(&mut Value)) -> HostOptions {
    HostOptions {
        machine: Box::new(move |mut machine| {
            machine["metadata"]["labels"][GROUP] = json!(group);
            change(&mut machine);
            machine
        }),
        ..without_an_endpoint()
    }
}

/// A check of one group.
async fn check(world: &World, name: &str, group: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
    check_for_slowness(world, name, |check| {
        check["spec"]["selector"] = json!({"matchLabels": {GROUP: group}});
        change(check);
    })
    .await
}

#[tokio::test]
async fn what_must_not_be_marked_is_not_and_people_are_told_why() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let metal3 = json!({"value": {"kind": "BareMetalMachineProviderSpec"}});
    let options = vec![
        of_group("good", |_| {}),
        of_group("paused", |_| {}),
        of_group("overlap", |_| {}),
        of_group("good", |machine| {
            machine["metadata"]["labels"][keys::MACHINE_ROLE_LABEL] = json!("master");
        }),
        HostOptions {
            machine: Box::new(move |mut machine| {
                machine["metadata"]["labels"][GROUP] = json!("good");
                machine["spec"]["providerSpec"] = metal3.clone();
                machine
            }),
            ..without_an_endpoint()
        },
        of_group("good", |machine| {
            machine["status"]["authoritativeAPI"] = json!("ClusterAPI");
        }),
        of_group("good", |machine| {
            machine["status"]["phase"] = json!("Failed");
        }),
    ];
    let world = World::new(cluster, "alone", options).await?;
    let [good, paused, overlap, master, provided, elsewhere, failed] = &world.hosts[..] else {
        panic!("seven hosts were asked for");
    };
    check(&world, "good", "good", |_| {}).await?;
    check(&world, "paused", "paused", |check| {
        check["metadata"]["annotations"][keys::PAUSED_ANNOTATION] = json!("false");
    })
    .await?;
    check(&world, "generous", "overlap", |_| {}).await?;
    check(&world, "strict", "overlap", |check| {
        check["spec"]["maxUnhealthy"] = json!(0);
    })
    .await?;
    for host in &world.hosts {
        reports_slowness(host, true).await?;
    }

    triggered(&world, &good.name, true).await?;
    for (host, reason) in [
        (master, "ControlPlaneRefused"),
        (provided, "TriggerAnsweredElsewhere"),
        (elsewhere, "MachineNotAuthoritative"),
        (failed, "MachineFailed"),
    ] {
        objects::event(&world, &host.name, reason).await?;
    }
    let note = objects::event(&world, &provided.name, "TriggerAnsweredElsewhere").await?;
    for says in [
        "cluster-api-provider-baremetal answers",
        "spec.remediationTemplate",
        "NodeHealthCheck",
    ] {
        assert!(note.contains(says), "{note}");
    }
    let note = objects::event(&world, "generous", "RemediationRestricted").await?;
    assert!(note.contains("MachineHealthCheck strict"), "{note}");
    for host in [paused, overlap, master, provided, elsewhere, failed] {
        assert!(!objects::is_triggered(&world, &host.name).await?, "{}", host.name);
    }
    let checks = objects::health_checks(&world);
    let untouched = checks.get("paused").await?.data;
    assert_eq!(untouched.get("status"), None, "{untouched}");

    // Then as they ought to be.
    let unpause = json!({"metadata": {"annotations": {keys::PAUSED_ANNOTATION: null}}});
    objects::patch_health_check(&world, "paused", unpause).await?;
    triggered(&world, &paused.name, true).await?;
    objects::patch_health_check(&world, "strict", json!({"spec": {"maxUnhealthy": 1}})).await?;
    triggered(&world, &overlap.name, true).await?;
    let given = objects::event(&world, &overlap.name, "ExternalAnnotationAdded").await?;
    assert!(given.contains("trigger"), "{given}");
    Ok(())
}

/// It holds up those whom it was meant for, as far as its selector can be understood.
#[tokio::test]
async fn a_malformed_check_selects_nothing_and_says_which_field_it_is() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "malformed", vec![of_group("malformed", |_| {})]).await?;
    let host = &world.hosts[0];
    let near = json!([{"key": GROUP, "operator": "Near", "values": ["malformed"]}]);
    check(&world, "malformed", "malformed", |check| {
        check["spec"]["selector"]["matchExpressions"] = near;
    })
    .await?;
    check(&world, "other", "malformed", |_| {}).await?;
    reports_slowness(host, true).await?;

    let note = objects::event(&world, "malformed", "HealthCheckMalformed").await?;
    assert!(note.contains("spec.selector") && note.contains("Near"), "{note}");
    let denied = status(&world, "malformed", |status| allowed(status).is_some()).await?;
    let condition = allowed(&denied).context("it is there")?;
    assert_eq!(condition.reason.as_deref(), Some("HealthCheckMalformed"));
    assert_eq!(denied.expected_machines, None);
    let note = objects::event(&world, "other", "RemediationRestricted").await?;
    assert!(note.contains("MachineHealthCheck malformed"), "{note}");
    assert!(!objects::is_triggered(&world, &host.name).await?);

    let selector = json!({"matchLabels": {GROUP: "malformed"}, "matchExpressions": null});
    objects::patch_health_check(&world, "malformed", json!({"spec": {"selector": selector}})).await?;
    triggered(&world, &host.name, true).await?;
    status(&world, "malformed", |status| status.expected_machines == Some(1)).await?;
    Ok(())
}
