//! `baremetal-remediator bmc` for hosts of a cluster, by their names and with a person's rights.
#![allow(
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "a test that fails says so"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::Bytes;
use axum::extract::Request;
use bmc_simulator::{Event, Fault, Power};
use harness::Cluster;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use world::acts::hasty;
use world::command::{self, by_name};
use world::holding::Holding;
use world::pool::{self, Setting};
use world::{HostOptions, World, cluster_api, install, objects};

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("bmc");

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_of_one_host(name: &str) -> Result<(Cluster, World)> {
    let cluster = control_plane().await?;
    let world = World::new(&cluster, name, vec![HostOptions::default()]).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    Ok((cluster, world))
}

async fn bmc(world: &World, kubeconfig: &Path, arguments: &[&str]) -> Result<(Option<i32>, String, String)> {
    command::bmc(PROGRAM, world, kubeconfig, arguments).await
}

#[tokio::test]
async fn hosts_are_found_by_name_checked_together_and_powered() -> world::Outcome {
    let cluster = &control_plane().await?;
    let wrong_secret = HostOptions {
        secret: Box::new(|mut secret| {
            secret["password"] = json!("wrong");
            secret
        }),
        ..HostOptions::default()
    };
    let other_uuid = HostOptions {
        endpoint: Box::new(|mut endpoint| {
            endpoint["systemUUID"] = json!("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c");
            endpoint
        }),
        ..HostOptions::default()
    };
    let options = vec![
        HostOptions::default(),
        wrong_secret,
        other_uuid,
        HostOptions::default(),
        HostOptions::default(),
    ];
    let world = World::new(cluster, "bmc", options).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let [good, rejected, another, hanging, lying] = &world.hosts[..] else {
        panic!("five hosts were asked for");
    };
    lying.bmc.inject(Fault::ReportLiteral(Some("Off".to_owned())))?;
    hanging.bmc.inject(Fault::RefuseConnections)?;

    let (status, out, err) = bmc(&world, &kubeconfig, &["check", "--all", "-o", "json"]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(
        !err.contains("checked 5") && err.contains("4 of 5 hosts"),
        "{err}"
    );
    let checked: Value = serde_json::from_str(&out)?;
    // In alphabetical order, as a JSON object of ours is.
    let names = [
        "bmc",
        "expires",
        "fingerprint",
        "host",
        "login",
        "message",
        "offers",
        "power",
        "read",
        "ready",
        "reason",
        "serial",
        "system",
        "tls",
        "uuid",
    ];
    for (host, reason) in [
        (good, Value::Null),
        (rejected, json!("BmcCredentialsRejected")),
        (another, json!("IdentityMismatch")),
        (hanging, json!("BmcUnreachable")),
        (lying, json!("NodeStillReporting")),
    ] {
        let row = by_name(&checked, &world, &host.name);
        assert_eq!(row["reason"], reason, "{row}");
        assert_eq!(row["ready"], reason.is_null(), "{row}");
        assert!(
            row.as_object().is_some_and(|row| row.keys().eq(names.iter())),
            "{row}"
        );
        assert!(host.bmc.snapshot().sessions.is_empty());
    }

    let (status, _, err) = bmc(&world, &kubeconfig, &["off", &good.name]).await?;
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("is Ready; what runs on it is killed"), "{err}");
    let (status, _, err) = bmc(&world, &kubeconfig, &["off", &good.name, "--yes"]).await?;
    assert_eq!((status, good.bmc.truth().power), (Some(0), Power::Off), "{err}");
    let (status, _, err) = bmc(&world, &kubeconfig, &["on", &good.name]).await?;
    assert_eq!((status, good.bmc.truth().power), (Some(0), Power::On), "{err}");

    let (status, _, err) = bmc(&world, &kubeconfig, &["status", "nobody"]).await?;
    assert_eq!(status, Some(1));
    assert!(err.contains("is called nobody"), "{err}");
    let (status, _, err) = bmc(&world, &kubeconfig, &["check"]).await?;
    assert_eq!(status, Some(1));
    assert!(err.contains("or --all"), "{err}");
    Ok(())
}

#[tokio::test]
async fn a_host_that_a_remediation_is_at_work_on_is_left_to_it() -> world::Outcome {
    let (cluster, world) = world_of_one_host("bmc-busy").await?;
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let host = &world.hosts[0];
    // No daemon runs: it stays where it is.
    objects::create_remediation(&world, &host.name, hasty()).await?;

    let (status, _, err) = bmc(&world, &kubeconfig, &["cycle", &host.name, "--yes"]).await?;
    assert_eq!(status, Some(1));
    assert!(
        err.contains(&format!("PowerCycleRemediation {} is at work", host.name)),
        "{err}"
    );
    assert_eq!(host.bmc.counters().requests, 0);
    Ok(())
}

#[tokio::test]
async fn a_host_that_a_remediation_of_its_node_is_at_work_on_is_left_to_it() -> world::Outcome {
    let (cluster, world) = world_of_one_host("bmc-busy-node").await?;
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let host = &world.hosts[0];
    let mut spec = hasty();
    spec["nodeName"] = json!(host.name);
    objects::create_remediation(&world, "asked-by-a-node-health-check", spec).await?;

    let (status, _, err) = bmc(&world, &kubeconfig, &["cycle", &host.name, "--yes"]).await?;
    assert_eq!(status, Some(1));
    assert!(
        err.contains("PowerCycleRemediation asked-by-a-node-health-check is at work"),
        "{err}"
    );
    assert_eq!(host.bmc.counters().requests, 0);
    Ok(())
}

fn is_of_a_login(request: &Request<Bytes>) -> bool {
    request.uri().path().contains("/secrets/")
}

#[tokio::test]
async fn a_host_that_a_remediation_begins_on_meanwhile_is_left_to_it() -> world::Outcome {
    let (cluster, world) = world_of_one_host("bmc-meanwhile").await?;
    let host = &world.hosts[0];
    let holding = Holding::start(&cluster, is_of_a_login).await?;
    holding.answers.send_replace(false);

    let arguments = ["on", &host.name];
    let command = bmc(&world, &holding.kubeconfig, &arguments);
    let meanwhile = async {
        holding.holds_one().await?;
        objects::create_remediation(&world, &host.name, hasty()).await?;
        holding.answers.send_replace(true);
        Ok(())
    };
    let ((status, _, err), ()) = tokio::try_join!(command, meanwhile)?;

    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.contains(&format!("PowerCycleRemediation {} is at work", host.name)),
        "{err}"
    );
    assert_eq!(host.bmc.counters().requests, 0);
    Ok(())
}

#[tokio::test]
async fn a_host_that_a_remediation_begins_on_while_its_bmc_answers_is_left_to_it() -> world::Outcome {
    let (cluster, world) = world_of_one_host("bmc-slow").await?;
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let host = &world.hosts[0];
    host.bmc.inject(Fault::SlowAnswer {
        by: Duration::from_secs(1),
    })?;

    let arguments = ["cycle", &host.name, "--yes"];
    let command = bmc(&world, &kubeconfig, &arguments);
    let meanwhile = async {
        while host.bmc.counters().requests == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        objects::create_remediation(&world, &host.name, hasty()).await
    };
    let ((status, _, err), ()) = tokio::try_join!(command, meanwhile)?;

    assert_eq!((status, host.transitions()), (Some(1), (0, 0)), "{err}");
    assert!(
        err.contains("the BMC says On") && err.contains("is at work on this host"),
        "{err}"
    );
    Ok(())
}

#[tokio::test]
async fn a_host_that_a_cycle_powered_off_is_not_left_to_a_remediation_that_waits() -> world::Outcome {
    let (cluster, world) = world_of_one_host("bmc-cycle").await?;
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let host = &world.hosts[0];

    let arguments = ["cycle", &host.name, "--yes"];
    let command = bmc(&world, &kubeconfig, &arguments);
    let meanwhile = async {
        while host.transitions().0 == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Off is proven by a second read, a second later.
        objects::create_remediation(&world, &host.name, hasty()).await
    };
    let ((status, _, err), ()) = tokio::try_join!(command, meanwhile)?;

    assert_eq!((status, host.transitions()), (Some(0), (1, 1)), "{err}");
    Ok(())
}

/// A person who may do what `plan` needs, and read the logins of the namespace.
async fn person(world: &World) -> Result<PathBuf> {
    let name = world.prefix.as_str();
    install::allow_planning(&world.client, name).await?;
    install::ship_the_role_for_bmc(&world.client).await?;
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "baremetal-remediator-bmc",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    }))?;
    Api::namespaced(world.client.clone(), &world.namespace)
        .create(&PostParams::default(), &binding)
        .await?;
    world.cluster.kubeconfig_for(name, &[])
}

#[tokio::test]
async fn a_machine_name_that_both_apis_have_means_no_host() -> world::Outcome {
    let (_cluster, world) = world_of_one_host("bmc-both").await?;
    let kubeconfig = person(&world).await?;
    let host = &world.hosts[0];
    let (status, out, err) = bmc(&world, &kubeconfig, &["check", &host.name]).await?;
    assert_eq!(status, Some(0), "{out}{err}");
    let before = host.bmc.counters().requests;

    let machine = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": host.name, "namespace": world.namespace},
        "spec": {
            "clusterName": "other", "bootstrap": {"dataSecretName": "none"},
            "infrastructureRef": {
                "apiGroup": "infrastructure.example.org", "kind": "HostMachine", "name": host.name,
            },
        },
    }))?;
    cluster_api::machines(&world)
        .create(&PostParams::default(), &machine)
        .await?;

    let (status, _, err) = bmc(&world, &kubeconfig, &["off", &host.name, "--yes"]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("both machine.openshift.io and"), "{err}");
    let (_, out, err) = bmc(&world, &kubeconfig, &["check", "--all", "-o", "json"]).await?;
    let checked: Value = serde_json::from_str(&out).context(err)?;
    let row = by_name(&checked, &world, &host.name);
    assert_eq!(row["reason"], "MachineUnreadable", "{row}");
    assert_eq!(
        (host.bmc.counters().requests, host.bmc.truth().power),
        (before, Power::On)
    );
    Ok(())
}

#[tokio::test]
async fn hosts_behind_one_bmc_are_checked_one_after_the_other_and_a_rejected_login_is_not_repeated()
-> world::Outcome {
    let cluster = &control_plane().await?;
    let wrong_secret = HostOptions {
        secret: Box::new(|mut secret| {
            secret["password"] = json!("wrong");
            secret
        }),
        ..HostOptions::default()
    };
    let world = World::new(cluster, "bmc-shared", vec![wrong_secret, HostOptions::default()]).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let [shared, twice] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };
    for blade in ["blade-2", "blade-3"] {
        let endpoint = json!({
            "nodeName": blade, "address": format!("{}-{blade}", shared.bmc_address),
            "credentialsSecret": {"name": format!("{}-bmc", shared.name)},
        });
        objects::create_endpoint(&world, blade, endpoint).await?;
    }
    let endpoint = json!({
        "nodeName": twice.name, "address": twice.bmc_address,
        "credentialsSecret": {"name": format!("{}-bmc", twice.name)},
    });
    objects::create_endpoint(&world, "twin", endpoint).await?;

    let (status, out, err) = bmc(&world, &kubeconfig, &["check", "--all", "-o", "json"]).await?;

    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("5 of 5 hosts"), "{err}");
    let checked: Value = serde_json::from_str(&out)?;
    for name in [&shared.name, "blade-2", "blade-3"] {
        let row = by_name(&checked, &world, name);
        assert_eq!(row["reason"], "BmcCredentialsRejected", "{row}");
    }
    for name in [&twice.name, "twin"] {
        let row = by_name(&checked, &world, name);
        assert_eq!(
            (&row["reason"], &row["power"]),
            (&json!("HostAmbiguous"), &json!("On")),
            "{row}"
        );
    }
    let journal = shared.bmc.journal();
    let rejected = journal
        .iter()
        .filter(|entry| matches!(entry.event, Event::AuthFailed { .. }));
    assert_eq!(rejected.count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_host_that_cannot_be_checked_does_not_take_the_others_with_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(
        cluster,
        "bmc-partly",
        vec![HostOptions::default(), HostOptions::default()],
    )
    .await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let [good, lying] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };
    // Off of a Node that is Ready is doubted, and the Node's Lease is not for this person to read.
    lying.bmc.inject(Fault::ReportLiteral(Some("Off".to_owned())))?;
    let person = world.prefix.as_str();
    let groups = [
        "",
        "baremetal-remediator.io",
        "machine.openshift.io",
        "cluster.x-k8s.io",
        "metal3.io",
        "networking.k8s.io",
        "config.openshift.io",
    ];
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": person},
        "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["get", "list"]}],
    }))?;
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": person},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": person},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": person}],
    }))?;
    let client = &world.client;
    Api::all(client.clone())
        .create(&PostParams::default(), &role)
        .await?;
    Api::all(client.clone())
        .create(&PostParams::default(), &binding)
        .await?;
    let kubeconfig = cluster.kubeconfig_for(person, &[])?;

    let (status, out, err) = bmc(&world, &kubeconfig, &["check", "--all", "-o", "json"]).await?;

    assert_eq!(status, Some(1), "{err}");
    let checked: Value = serde_json::from_str(&out).context(err)?;
    let row = by_name(&checked, &world, &good.name);
    assert_eq!(row["ready"], true, "{row}");
    let row = by_name(&checked, &world, &lying.name);
    assert_eq!(
        (&row["ready"], &row["reason"]),
        (&json!(false), &json!("BmcNotChecked")),
        "{row}"
    );
    assert!(lying.bmc.snapshot().sessions.is_empty());
    Ok(())
}
