//! The daemon's role is what the daemon uses: nothing is refused to it, and nothing is given to it
//! that a run of everything it can do does not need.
#![allow(
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "a test that fails says so"
)]

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use baremetal_remediator::core::phase::{Phase, Reason};
use harness::{AuditEvent, Cursor};
use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use world::acts::{create_template, hasty};
use world::node_health::{NodeHealthCheck, not_ready};
use world::{HostOptions, World, WorldHost, cluster_api, escalation, metal3_provider, node_lease, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
const LONG: Duration = Duration::from_mins(2);

/// What may be done to which resource of which group.
type Grants = BTreeSet<(String, String, String)>;

/// Granted without being used in this test, and why.
const UNUSED: [(&str, &str, &str, &str); 1] = [(
    "events.k8s.io",
    "events",
    "patch",
    "an event that repeats within six minutes is counted up instead of created anew",
)];

/// What the rules of the shipped roles of these files grant.
fn granted(files: &[&str]) -> Result<Grants> {
    let mut grants = Grants::new();
    for file in files {
        for document in world::read_documents(&world::repository().join(file))? {
            let name = document.pointer("/metadata/name").and_then(Value::as_str);
            // That one is for the controllers of others.
            if name == Some("baremetal-remediator-for-health-checks") {
                continue;
            }
            let rules = document.get("rules").and_then(Value::as_array).cloned();
            for rule in rules.unwrap_or_default() {
                for group in texts(&rule, "apiGroups") {
                    for resource in texts(&rule, "resources") {
                        for verb in texts(&rule, "verbs") {
                            grants.insert((group.clone(), resource.clone(), verb));
                        }
                    }
                }
            }
        }
    }
    Ok(grants)
}

fn texts(rule: &Value, field: &str) -> Vec<String> {
    let list = rule.get(field).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}

fn used(events: &[AuditEvent]) -> Grants {
    let resources = events.iter().filter(|event| !event.resource.resource.is_empty());
    let used = resources.map(|event| {
        let resource = &event.resource;
        let name = if resource.subresource.is_empty() {
            resource.resource.clone()
        } else {
            format!("{}/{}", resource.resource, resource.subresource)
        };
        (resource.group.clone(), name, event.verb.clone())
    });
    used.collect()
}

/// A host behind a BareMetalHost that is to be powered directly.
fn behind_metal3() -> HostOptions {
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
fn trusted_by_config_map() -> HostOptions {
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
async fn exercise(world: &World) -> Result<()> {
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
    create_template(world, "cycle", Value::Null, hasty()).await?;
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
        let mut strategy = hasty();
        strategy[field] = json!(value);
        strategy["deadlines"]["fencing"] = json!("90s");
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
    objects::event(world, "of-metal3", Reason::HostNotFound.as_str()).await?;
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

fn policy(health_checker: &str) -> Value {
    json!({
        "bmc": {"allowedNetworks": ["127.0.0.0/8"], "readiness": {"interval": "10s"}},
        "healthChecker": health_checker,
    })
}

#[tokio::test]
async fn the_shipped_role_is_exactly_what_is_used() -> Result<()> {
    let cluster = harness::control_plane().await?;
    let options = vec![
        trusted_by_config_map(),
        HostOptions::default(),
        behind_metal3(),
        cluster_api::options("blue"),
        escalation::never_boots(HostOptions::default()),
        escalation::never_boots(cluster_api::options("blue")),
    ];
    let world = World::new(cluster, "rbac", options).await?;
    world.health_check().await?;
    world::allow_node_deletion(&world.client).await?;
    world::allow_machine_deletion(&world.client).await?;
    world::set_policy(&world.client, policy("Never")).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;

    exercise(&world).await?;
    let granted = granted(&[
        "deploy/base/rbac.yaml",
        "deploy/components/bmc-namespace/rbac.yaml",
        "deploy/components/node-deletion/rbac.yaml",
        "deploy/components/machine-deletion/rbac.yaml",
        "deploy/components/medik8s-leases/rbac.yaml",
    ])?;
    // A watch is in the audit log when it has ended.
    daemon.stop(Duration::from_secs(10)).await?;
    for (_, resource, _) in granted.iter().filter(|(_, _, verb)| verb == "watch") {
        let watched = cluster.wait_for_audit(Cursor::default(), |event| {
            event.user == world::DAEMON_USER && event.verb == "watch" && event.resource.resource == *resource
        });
        tokio::time::timeout(Duration::from_secs(15), watched)
            .await
            .with_context(|| format!("{resource} may be watched and are not"))??;
    }

    let events = cluster.audit_of(world::DAEMON_USER, Cursor::default()).await?;
    let refused: Vec<&AuditEvent> = events.iter().filter(|event| event.response_code == 403).collect();
    assert!(refused.is_empty(), "refused for want of a rule: {refused:#?}");
    let used = used(&events);
    let listed: BTreeMap<_, &str> = UNUSED
        .iter()
        .map(|(group, resource, verb, why)| {
            (
                ((*group).to_owned(), (*resource).to_owned(), (*verb).to_owned()),
                *why,
            )
        })
        .collect();
    let idle: Vec<_> = granted
        .difference(&used)
        .filter(|grant| !listed.contains_key(*grant))
        .collect();
    assert!(idle.is_empty(), "granted and not used: {idle:#?}");
    let unlisted: Vec<_> = used.difference(&granted).collect();
    assert!(
        unlisted.is_empty(),
        "used without being in a shipped role: {unlisted:#?}"
    );
    let vain: Vec<_> = listed.keys().filter(|grant| !granted.contains(*grant)).collect();
    assert!(vain.is_empty(), "excused and not granted: {vain:#?}");
    Ok(())
}

#[test]
fn the_shipped_role_has_no_wildcard_and_no_way_to_all_secrets() -> Result<()> {
    let everywhere = granted(&[
        "deploy/base/rbac.yaml",
        "deploy/components/node-deletion/rbac.yaml",
        "deploy/components/machine-deletion/rbac.yaml",
    ])?;
    let in_namespaces = granted(&["deploy/components/bmc-namespace/rbac.yaml"])?;
    let among_leases = granted(&["deploy/components/medik8s-leases/rbac.yaml"])?;

    assert!(among_leases.iter().all(|(_, resource, _)| resource == "leases"));
    assert!(
        everywhere
            .iter()
            .all(|(_, resource, verb)| resource != "leases" || matches!(verb.as_str(), "get" | "list")),
        "Leases are written in one namespace only: they are also what kubelets live by"
    );
    for (group, resource, verb) in everywhere.union(&in_namespaces).chain(&among_leases) {
        assert!(
            group != "*" && resource != "*" && verb != "*",
            "a wildcard: {group} {resource} {verb}"
        );
        assert!(
            !resource.starts_with("pods/") && verb != "impersonate" && verb != "escalate",
            "{resource} {verb}"
        );
        assert!(
            !["nodes", "machines"].contains(&resource.as_str())
                || verb != "delete"
                || !granted(&["deploy/base/rbac.yaml"])?.contains(&(
                    group.clone(),
                    resource.clone(),
                    verb.clone()
                )),
            "deleting Nodes or Machines is for those who ask for it"
        );
    }
    assert!(everywhere.iter().all(|(_, resource, _)| resource != "secrets"));
    let verbs: BTreeSet<&str> = in_namespaces.iter().map(|(_, _, verb)| verb.as_str()).collect();
    assert_eq!(
        verbs,
        BTreeSet::from(["get"]),
        "Secrets and ConfigMaps are read by name and never listed"
    );
    Ok(())
}
