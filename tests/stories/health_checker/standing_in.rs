//! Where nobody else evaluates health checks.

use remediator_core::phase::Phase;
use serde_json::json;
use world::{HostOptions, World, objects, truth};

use super::{
    CLUSTER, LONG, allowed, check_for_slowness, daemon, metric, policy_says, reports_slowness, standing_in,
    status, triggered, without_an_endpoint,
};

#[tokio::test]
async fn a_dead_node_is_found_and_brought_back_but_not_again_and_again() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let world = World::new(cluster, "found", options).await?;
    let host = &world.hosts[0];
    let cursor = cluster.audit_cursor()?;
    check_for_slowness(&world, "workers", |check| {
        check["spec"]["maxUnhealthy"] = json!(1);
    })
    .await?;
    let well = status(&world, "workers", |status| status.current_healthy == Some(2)).await?;
    assert_eq!(
        (well.expected_machines, well.remediations_allowed),
        (Some(2), Some(1))
    );
    assert_eq!(
        allowed(&well).map(|condition| condition.status.as_str()),
        Some("True")
    );

    world.falls_silent(host).await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    triggered(&world, &host.name, false).await?;
    assert_eq!(truth::releases(&world, cursor, host).await?, 1);
    for reason in ["DetectedUnhealthy", "ExternalAnnotationAdded"] {
        objects::event(&world, &host.name, reason).await?;
    }
    status(&world, "workers", |status| status.current_healthy == Some(2)).await?;
    for (name, number) in [
        ("nodes_covered", "2"),
        ("short_circuit", "0"),
        ("remediation_success_total", "1"),
    ] {
        let name = metric(&world, name, "workers");
        daemon.metric_becomes(&name, Some(number)).await?;
    }
    let standing_in = standing_in("machine.openshift.io");
    daemon.metric_becomes(&standing_in, Some("1")).await?;
    policy_says(&world, "HealthChecker", "True", "StandingIn").await?;

    // What a reboot does not cure.
    reports_slowness(host, true).await?;
    triggered(&world, &host.name, true).await?;
    let note = objects::event(&world, &host.name, "PowerCycledRecently").await?;
    assert!(note.contains("not before "), "{note}");
    let next = world::remediation_name(&host.name, 2);
    assert!(world.remediations().get_opt(&next).await?.is_none());
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn too_many_unhealthy_machines_are_left_alone_until_they_are_few() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let options = (0..3).map(|_| without_an_endpoint()).collect();
    let world = World::new(cluster, "limit", options).await?;
    for host in &world.hosts[..2] {
        reports_slowness(host, true).await?;
    }

    check_for_slowness(&world, "workers", |check| {
        check["spec"]["maxUnhealthy"] = json!("40%");
    })
    .await?;
    let limited = status(&world, "workers", |status| {
        allowed(status).is_some_and(|condition| condition.status == "False")
    })
    .await?;

    let condition = allowed(&limited).expect("it is there");
    assert_eq!(condition.kind, "RemediationAllowed");
    assert_eq!(condition.reason.as_deref(), Some("TooManyUnhealthy"));
    assert_eq!(condition.severity.as_deref(), Some("Warning"));
    assert_eq!(
        (limited.current_healthy, limited.remediations_allowed),
        (Some(1), Some(0))
    );
    let note = objects::event(&world, "workers", "RemediationRestricted").await?;
    assert!(note.contains("2 of 3"), "{note}");
    daemon
        .metric_becomes(&metric(&world, "short_circuit", "workers"), Some("1"))
        .await?;
    for host in &world.hosts {
        assert!(!objects::is_triggered(&world, &host.name).await?, "{}", host.name);
    }

    reports_slowness(&world.hosts[0], false).await?;
    triggered(&world, &world.hosts[1].name, true).await?;
    status(&world, "workers", |status| {
        allowed(status).is_some_and(|condition| condition.status == "True" && condition.severity.is_none())
    })
    .await?;
    daemon
        .metric_becomes(&metric(&world, "short_circuit", "workers"), Some("0"))
        .await?;
    assert!(!objects::is_triggered(&world, &world.hosts[0].name).await?);

    // Recovered before anything was done: the trigger goes, and the Machine counts as healthy.
    let waiting = world.hosts[1].remediation();
    world.remediation_waits(&waiting, "HostNotFound").await?;
    reports_slowness(&world.hosts[1], false).await?;
    let ended = world.remediation_ended(&waiting, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Cancelled);
    triggered(&world, &world.hosts[1].name, false).await?;
    status(&world, "workers", |status| status.current_healthy == Some(3)).await?;

    // A check that is gone has no numbers.
    let checks = objects::health_checks(&world);
    checks
        .delete("workers", &kube::api::DeleteParams::default())
        .await?;
    Ok(daemon
        .metric_becomes(&metric(&world, "nodes_covered", "workers"), None)
        .await?)
}
