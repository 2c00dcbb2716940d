//! The daemon's role is what the daemon uses: nothing is refused to it, and nothing is given to it
//! that a run of everything it can do does not need.
#![allow(
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "a test that fails says so"
)]

mod everything;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use everything::{behind_metal3, exercise, policy, trusted_by_config_map};
use harness::{AuditEvent, Cluster};
use serde_json::Value;
use world::pool::{self, Setting};
use world::{HostOptions, World, cluster_api, escalation};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("rbac").taking(30);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// What may be done to which resource of which group.
type Grants = BTreeSet<(String, String, String)>;

/// Granted without being used in this test, and why.
const UNUSED: [(&str, &str, &str, &str); 5] = [
    (
        "metal3.io",
        "baremetalhosts",
        "patch",
        "hosts under metal3 are held in upstream_metal3::cycled",
    ),
    (
        "events.k8s.io",
        "events",
        "patch",
        "an event that repeats within six minutes is counted up instead of created anew",
    ),
    ("baremetal-remediator.io", "powercycleremediations", "get", A_WORD),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        "get",
        A_WORD,
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
        "get",
        A_WORD,
    ),
];
const A_WORD: &str = "read before a person's word is taken, as in confirm_off";
/// Those are for others: controllers, and people on call.
const OF_OTHERS: [&str; 2] = [
    "baremetal-remediator-for-health-checks",
    "baremetal-remediator-confirm-off",
];

/// What the rules of the shipped roles of these files grant.
fn granted(files: &[&str]) -> Result<Grants> {
    let mut grants = Grants::new();
    for file in files {
        for document in world::read_documents(&world::repository().join(file))? {
            let name = document.pointer("/metadata/name").and_then(Value::as_str);
            if name.is_some_and(|name| OF_OTHERS.contains(&name)) {
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

#[tokio::test]
async fn the_shipped_role_is_exactly_what_is_used() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![
        trusted_by_config_map(),
        HostOptions::default(),
        behind_metal3(),
        cluster_api::options("blue"),
        escalation::never_boots(HostOptions::default()),
        escalation::never_boots(cluster_api::options("blue")),
    ];
    let cursor = cluster.audit_cursor()?;
    let world = World::new(cluster, "rbac", options).await?;
    world.health_check().await?;
    world::allow_node_deletion(&world.client).await?;
    world::allow_machine_deletion(&world.client).await?;
    world::allow_holding_secrets(&world.client, &world.namespace).await?;
    world::set_policy(&world.client, policy("Never")).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;

    exercise(&world).await?;
    let granted = granted(&[
        "deploy/base/rbac.yaml",
        "deploy/per-namespace/bmc-credentials/rbac.yaml",
        "deploy/per-namespace/bmc-secrets-held/rbac.yaml",
        "deploy/components/node-deletion/rbac.yaml",
        "deploy/components/machine-deletion/rbac.yaml",
        "deploy/components/medik8s-leases/rbac.yaml",
    ])?;
    // A watch is in the audit log when it has ended.
    daemon.stop(Duration::from_secs(30)).await?;
    for (group, resource, _) in granted.iter().filter(|(_, _, verb)| verb == "watch") {
        let watched = cluster.wait_for_audit(cursor, |event| {
            let watched = (&event.resource.group, &event.resource.resource);
            event.user == world::DAEMON_USER && event.verb == "watch" && watched == (group, resource)
        });
        tokio::time::timeout(Duration::from_mins(1), watched)
            .await
            .with_context(|| format!("{resource} may be watched and are not"))??;
    }

    let events = cluster.audit_of(world::DAEMON_USER, cursor).await?;
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
    let in_namespaces = granted(&["deploy/per-namespace/bmc-credentials/rbac.yaml"])?;
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
    let held = granted(&["deploy/per-namespace/bmc-secrets-held/rbac.yaml"])?;
    let patch = ("", "secrets", "patch");
    let patch = (patch.0.to_owned(), patch.1.to_owned(), patch.2.to_owned());
    assert_eq!(held, BTreeSet::from([patch]), "Secrets are held by name");
    Ok(())
}
