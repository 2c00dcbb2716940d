//! What an editor of a namespace that the policy does not list tries against a neighbour's BMC.

use anyhow::{Context as _, Result, ensure};
use harness::Cluster;
use remediator_core::phase::Reason;
use serde_json::json;
use world::{World, conditions, refusal};

use super::allowed::{allow, is_because};
use super::attempt::{Act, Attempt, Row, Victim, remediation, remediation_with, row};
use super::claims::asks_for_the_node;
use super::{DAEMON, LONG, attempts, control_plane};

fn rows() -> Vec<Row> {
    use Victim::{Machine, NoNode, Node};
    vec![
        row("an endpoint with the address", Machine, |attempt| {
            vec![attempt.secret(), an_endpoint(attempt)]
        }),
        row("an endpoint of a host without a Node", NoNode, |attempt| {
            let spec = json!({"machineName": "ghost", "systemUUID": attempt.host.bmc.system_uuid()});
            vec![attempt.secret(), attempt.endpoint("mine", &spec)]
        }),
        row("a request for the Node", Node, |attempt| {
            vec![attempt.secret(), an_endpoint(attempt), asks_for_the_node(attempt)]
        }),
        row("a request that says it was made for a trigger", Node, |attempt| {
            let metadata = json!({
                "name": "attempt", "annotations": {"baremetal-remediator.io/trigger": "external-remediation"},
            });
            let request = remediation_with(&metadata, &json!({"nodeName": attempt.host.name}));
            vec![attempt.secret(), an_endpoint(attempt), request]
        }),
        row(
            "a Machine with the trigger, and all that belongs to it",
            Node,
            |attempt| {
                let [create, status] = attempt.machine("mine");
                let spec = json!({"machineName": "mine"});
                let trigger = Act::merge(json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                    "metadata": {"name": "mine", "annotations": {"host.metal3.io/external-remediation": ""}},
                }));
                let endpoint = attempt.endpoint("mine", &spec);
                vec![
                    attempt.secret(),
                    endpoint,
                    create,
                    status,
                    trigger,
                    remediation(&spec),
                ]
            },
        ),
    ]
}

fn an_endpoint(attempt: &Attempt<'_>) -> Act {
    attempt.endpoint("mine", &json!({"nodeName": attempt.host.name}))
}

/// Checks of BMCs in the background are on: what is not allowed is not spoken to either.
#[tokio::test]
async fn invariant_14_a_tenant_of_a_namespace_that_is_not_listed_reaches_no_bmc() -> world::Outcome {
    let cluster = &control_plane().await?;
    let rows = rows();
    let owner = World::new(
        cluster,
        "listed",
        rows.iter().map(|row| row.victim.options()).collect(),
    )
    .await?;
    let namespaces = json!([owner.namespace]);
    // The owner's own endpoints are not checked, so that whoever reaches a BMC is seen.
    allow(
        &owner,
        json!({"namespaces": {"machines": namespaces, "endpoints": [], "requests": namespaces}}),
    )
    .await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    for host in &owner.hosts {
        if host.kubelet.is_some() {
            owner.falls_silent(host).await?;
        }
    }
    let attempts = attempts(&owner, &owner).await?;
    for (row, attempt) in rows.iter().zip(&attempts) {
        let acts = (row.acts)(attempt);
        super::attack(row, attempt, &acts).await?;
        says_why(cluster, attempt, &acts).await.context(row.what)?;
    }
    for (row, attempt) in rows.iter().zip(&attempts) {
        attempt.has_begun_nothing().await.context(row.what)?;
        refusal::never_contacted(&attempt.host.bmc).context(row.what)?;
    }
    Ok(())
}

/// Endpoints and requests say that their namespace is not allowed.
async fn says_why(cluster: &Cluster, attempt: &Attempt<'_>, acts: &[Act]) -> Result<()> {
    let resource = kube::api::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
        "baremetal-remediator.io",
        "v1alpha1",
        "BMCEndpoint",
    ));
    let client = cluster.client().await?;
    let endpoints = kube::Api::namespaced_with(client.clone(), &attempt.namespace, &resource);
    let refused = |one: &_| is_because(one, Reason::NamespaceNotAllowed);
    conditions::until(endpoints, "mine", "Accepted", LONG, refused).await?;
    let requests = kube::Api::<remediator_api::PowerCycleRemediation>::namespaced(client, &attempt.namespace);
    for request in acts.iter().filter_map(Act::remediation) {
        let found = requests.get(&request).await?;
        let journal = world::journal(&found);
        let is_told = journal.reason == Reason::NamespaceNotAllowed.as_str();
        ensure!(is_told, "{}: {}", journal.reason, journal.message);
        ensure!(
            journal.message.contains(&attempt.namespace),
            "{}",
            journal.message
        );
    }
    Ok(())
}
