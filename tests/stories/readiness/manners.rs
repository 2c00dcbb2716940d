//! How checks behave: they leave nothing behind, wait for nobody, and keep away from remediations.

use std::time::Duration;

use anyhow::Result;
use bmc_simulator::{Event, Fault, Host, Snapshot};
use harness::AuditEvent;
use harness::kubelet::NodeTemplate;
use kube::api::{Api, DeleteParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::{HostOptions, World, objects};

use super::{PATIENCE, POLICY, daemon, is_not_ready, is_ready, policy, ready_metric, stands};

fn sessions_created(bmc: &Host) -> usize {
    let is_one = |event: &Event| matches!(event, Event::SessionCreated { .. });
    bmc.journal().iter().filter(|entry| is_one(&entry.event)).count()
}

/// Waits until a BMC was checked so many times more; answers how it stands between two checks.
async fn is_checked(bmc: &Host, times: usize) -> Result<Snapshot> {
    let wanted = sessions_created(bmc) + times;
    let is_it = |now: &Snapshot| now.counters.session_create >= wanted as u64 && now.sessions.is_empty();
    Ok(tokio::time::timeout(PATIENCE, bmc.wait_for(is_it)).await??)
}

#[tokio::test]
async fn ready_hosts_are_checked_again_and_nothing_is_written_or_left_behind() -> world::Outcome {
    let _policy = POLICY.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let options = std::iter::repeat_with(HostOptions::default).take(3).collect();
    let world = World::new(cluster, "steady", options).await?;
    for host in &world.hosts {
        is_ready(&world, &host.name).await?;
    }
    // The write that a watch has told of may not be in the audit log yet; by the next check it is.
    let once_more = world.hosts.iter().map(|host| is_checked(&host.bmc, 1));
    futures::future::try_join_all(once_more).await?;
    let cursor = cluster.audit_cursor()?;

    let checks = world.hosts.iter().map(|host| is_checked(&host.bmc, 2));
    let checked = futures::future::try_join_all(checks).await?;

    let events = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let is_write = |event: &&AuditEvent| {
        event.resource.namespace == world.namespace
            && !matches!(event.verb.as_str(), "get" | "list" | "watch")
    };
    let writes: Vec<&AuditEvent> = events.iter().filter(is_write).collect();
    assert!(writes.is_empty(), "written about healthy hosts: {writes:?}");
    for counters in checked.iter().map(|now| &now.counters) {
        assert!(counters.session_create == counters.session_delete, "{counters:?}");
        assert!(counters.reset == 0, "{counters:?}");
        // Login, system, logout; the reset types stand in the system.
        assert!(counters.requests == 3 * counters.session_create, "{counters:?}");
        assert!(counters.tls_handshakes == counters.session_create, "{counters:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_bmc_that_hangs_delays_no_other_check_and_no_remediation() -> world::Outcome {
    let _policy = POLICY.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let hanging = HostOptions {
        simulated: Box::new(|spec| spec.fault(Fault::Hang)),
        ..HostOptions::default()
    };
    let world = World::new(cluster, "hangs", vec![hanging, HostOptions::default()]).await?;
    world.health_check().await?;
    let [hanging, good] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };

    is_ready(&world, &good.name).await?;
    let remediation = world.falls_silent_and_is_reported(good).await?;
    let ended = world.remediation_ended(&remediation, PATIENCE).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    is_not_ready(&world, &hanging.name, Reason::BmcUnreachable).await?;
    Ok(())
}

#[tokio::test]
async fn a_host_under_remediation_is_left_alone_and_checked_again_afterwards() -> world::Outcome {
    let _policy = POLICY.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let mut options = HostOptions::default();
    // Longer than two intervals.
    options.delays.boot = Duration::from_secs(25).into();
    let world = World::new(cluster, "under-way", vec![options]).await?;
    world.health_check().await?;
    let host = &world.hosts[0];
    is_ready(&world, &host.name).await?;

    let remediation = world.falls_silent_and_is_reported(host).await?;
    let booting = |journal: &remediator_core::journal::Journal| journal.phase == Phase::Booting;
    world.remediation_until(&remediation, PATIENCE, booting).await?;
    let no_session = |now: &Snapshot| now.sessions.is_empty();
    tokio::time::timeout(PATIENCE, host.bmc.wait_for(no_session)).await??;
    let before = sessions_created(&host.bmc);
    let ended = world.remediation_ended(&remediation, PATIENCE).await?;
    let during = sessions_created(&host.bmc) - before;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(during, 0, "{:?}", host.bmc.journal());
    is_checked(&host.bmc, 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_host_whose_node_a_remediation_has_deleted_is_left_alone_too() -> world::Outcome {
    let _policy = POLICY.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let mut options = HostOptions {
        machine: Box::new(|_| Value::Null),
        node: Box::new(|node| NodeTemplate {
            machine: None,
            ..node
        }),
        endpoint: Box::new(|mut endpoint| {
            endpoint["nodeName"] = endpoint["machineName"].take();
            endpoint
        }),
        ..HostOptions::default()
    };
    // Longer than two intervals.
    options.delays.boot = Duration::from_secs(25).into();
    let world = World::new(cluster, "deleted", vec![options]).await?;
    world::allow_node_deletion(&world.client).await?;
    let host = &world.hosts[0];
    is_ready(&world, &host.name).await?;

    world.falls_silent(host).await?;
    let spec = json!({"nodeName": host.name, "fencingMode": "NodeDeletion"});
    objects::create_remediation(&world, "by-node", spec).await?;
    let booting = |journal: &remediator_core::journal::Journal| journal.phase == Phase::Booting;
    world.remediation_until("by-node", PATIENCE, booting).await?;
    let no_session = |now: &Snapshot| now.sessions.is_empty();
    tokio::time::timeout(PATIENCE, host.bmc.wait_for(no_session)).await??;
    let before = sessions_created(&host.bmc);
    // A changed endpoint is checked at once.
    let stated = json!({"systemUUID": host.bmc.system_uuid()});
    objects::patch_endpoint(&world, &host.name, stated).await?;
    let ended = world.remediation_ended("by-node", PATIENCE).await?;
    let during = sessions_created(&host.bmc) - before;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(during, 0, "{:?}", host.bmc.journal());
    Ok(())
}

#[tokio::test]
async fn checks_that_are_switched_off_say_so_and_begin_again() -> world::Outcome {
    let _policy = POLICY.write().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "off", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    let metric = ready_metric(&world, "BMCEndpoint", &host.name);
    is_ready(&world, &host.name).await?;
    daemon.metric_becomes(&metric, Some("1")).await?;

    world::set_policy(&world.client, policy("off")).await?;
    let off = |condition: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        condition.status == "Unknown" && condition.reason == Reason::ReadinessChecksOff.as_str()
    };
    let condition = stands(&world, &host.name, "switched off", off).await?;
    assert!(condition.message.ends_with(Reason::ReadinessChecksOff.advice()));
    daemon.metric_becomes(&metric, None).await?;

    world::set_policy(&world.client, policy("10s")).await?;
    is_ready(&world, &host.name).await?;
    Ok(daemon.metric_becomes(&metric, Some("1")).await?)
}

#[tokio::test]
async fn a_host_that_vanishes_is_not_measured_any_more() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "gone", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    let metric = ready_metric(&world, "BMCEndpoint", &host.name);
    let expiry = metric.replace("bmc_ready", "bmc_certificate_expiry_timestamp_seconds");
    daemon.metric_becomes(&metric, Some("1")).await?;
    assert!(daemon.metric(&expiry).await?.is_some());

    let endpoints = Api::<remediator_api::BMCEndpoint>::namespaced(world.client.clone(), &world.namespace);
    endpoints.delete(&host.name, &DeleteParams::default()).await?;

    daemon.metric_becomes(&metric, None).await?;
    Ok(daemon.metric_becomes(&expiry, None).await?)
}
