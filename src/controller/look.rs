//! Live reads: the last look before a power-off, and the signs of life of a Node.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use super::about::machine_name;
use super::api_call::{ShellError, within};
use super::context::Context;
use super::{gather, host, producers};
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{PowerCycleRemediation, RemediationPolicy, remediation_policy};
use crate::core::facts::{Look, NodeReport, Obstacle, Origin, Seen, World};
use crate::core::journal::SavedNode;
use crate::core::observed::ReportRead;
use crate::metal3;

/// Namespace of the Leases that kubelets renew.
const NODE_LEASES: &str = "kube-node-lease";

/// Looks for a report after the first. A kubelet renews its Lease every 10 s, a quarter of its duration
/// (kubernetes `pkg/kubelet/kubelet.go`, `nodeLeaseRenewIntervalFraction`).
const LOOKS_FOR_REPORT: usize = 3;
/// Time between two of them.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Reads policy, Machine, MachineHealthChecks, Node and Lease at the API server, all at once.
pub(crate) async fn look(
    context: &Context,
    remediation: &PowerCycleRemediation,
    node_name: &str,
) -> Result<(Look, Option<SavedNode>), ShellError> {
    let began = context.clock.now();
    let client = &context.client;
    let namespace = remediation.namespace().unwrap_or_default();
    let machine_name = machine_name(&context.caches, remediation);
    let machines = Api::<Guarded<Machine>>::namespaced(client.clone(), &namespace);
    let checks = Api::<Guarded<MachineHealthCheck>>::namespaced(client.clone(), &namespace);
    let policies = Api::<Guarded<RemediationPolicy>>::all(client.clone());
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    let all = ListParams::default();
    let machine = async {
        match &machine_name {
            Some(name) => within("reading the Machine", machines.get_opt(name)).await,
            None => Ok(None),
        }
    };
    let (machine, checks, policy, node, lease) = tokio::join!(
        machine,
        within("listing the MachineHealthChecks", checks.list(&all)),
        within(
            "reading the RemediationPolicy",
            policies.get_opt(remediation_policy::POLICY_NAME)
        ),
        within("reading the Node", nodes.get_opt(node_name)),
        lease(client, node_name),
    );
    let machine_name = machine_name.unwrap_or_default();
    let machine = gather::seen(machine?.as_ref(), "Machine", &machine_name);
    let host = host(context, remediation, &machine).await?;
    let node = gather::seen(node?.as_ref(), "Node", node_name);
    let readable = match &machine {
        Seen::Present(machine) => Some(machine),
        Seen::Absent | Seen::Unreadable(_) => None,
    };
    let checks = checks?.items;
    let health_checks = match (gather::origin(remediation), readable) {
        (Origin::Annotation, Some(machine)) => {
            let checks = checks.iter();
            checks.map(|check| gather::health_check(check, machine)).collect()
        }
        (Origin::Annotation, None) => Vec::new(),
        (Origin::Request, machine) => producers::live(client, remediation, machine, &checks).await?,
    };
    let (heartbeat, metadata) = match &node {
        Seen::Present(node) => (node.heartbeat(), Some(node.saved())),
        Seen::Absent | Seen::Unreadable(_) => (None, None),
    };
    let world = World {
        policy: gather::policy(policy?.as_ref()),
        machine: machine.map(|machine| machine.facts()),
        node: node.map(|node| gather::node_facts(context, remediation, &node)),
        health_checks,
    };
    Ok((
        Look {
            began,
            world,
            report: NodeReport { heartbeat, ..lease? },
            host,
        },
        metadata,
    ))
}

/// Whether metal3, which may manage the host, still lets it be powered.
async fn host(
    context: &Context,
    remediation: &PowerCycleRemediation,
    machine: &Seen<Machine>,
) -> Result<Result<(), Obstacle>, ShellError> {
    let Seen::Present(machine) = machine else {
        return Ok(Ok(()));
    };
    match host::reference(machine) {
        Ok(None) => Ok(Ok(())),
        Ok(Some(reference)) => metal3::look(context, remediation, machine, &reference).await,
        Err(obstacle) => Ok(Err(obstacle)),
    }
}

/// Reads the Lease live; the heartbeat comes from the watched Node.
pub(crate) async fn report(
    context: &Context,
    node_name: &str,
    heartbeat: Option<Timestamp>,
) -> Result<ReportRead, ShellError> {
    let began = context.clock.now();
    Ok(ReportRead {
        began,
        report: NodeReport {
            heartbeat,
            ..lease(&context.client, node_name).await?
        },
    })
}

/// Looks at a Node's Lease until it is renewed, 15 s at the most. Answers what was read first and last.
pub(crate) async fn watch_for_report(
    client: &Client,
    node_name: &str,
) -> Result<(NodeReport, NodeReport), ShellError> {
    let first = lease(client, node_name).await?;
    let mut last = first.clone();
    for _ in 0..LOOKS_FOR_REPORT {
        if last.differs_from(&first) {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        last = lease(client, node_name).await?;
    }
    Ok((first, last))
}

async fn lease(client: &Client, node_name: &str) -> Result<NodeReport, ShellError> {
    let leases = Api::<Lease>::namespaced(client.clone(), NODE_LEASES);
    let lease = within("reading the Node's Lease", leases.get_opt(node_name)).await?;
    let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
    Ok(NodeReport {
        lease_renewed: spec.renew_time.map(|time| time.0),
        lease_duration: spec
            .lease_duration_seconds
            .map(|seconds| SignedDuration::from_secs(seconds.into())),
        heartbeat: None,
    })
}

/// Reads what a Node carries, live, before it is deleted.
pub(crate) async fn node_metadata(
    context: &Context,
    node_name: &str,
) -> Result<Option<SavedNode>, ShellError> {
    let nodes = Api::<Guarded<Node>>::all(context.client.clone());
    let node = within("reading the Node", nodes.get_opt(node_name)).await?;
    Ok(node
        .and_then(|guarded| guarded.0.ok())
        .filter(|node| !node.name_any().is_empty())
        .map(|node| node.saved()))
}
