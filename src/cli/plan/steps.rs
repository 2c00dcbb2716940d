//! What a remediation would do, step by step, in words.

use remediator_core::facts::Origin;
use remediator_core::strategy::{Deadlines, Escalation, FencingMode, HostControl, Strategy};

use crate::bmc_access::host::ResolvedHost;
use crate::cli::plan::course::Asked;
use crate::cli::plan::subject::Subject;
use crate::cli::plan::world::World;

/// What a remediation would do to a Machine or Node, step by step.
pub(super) fn steps(world: &World, subject: &Subject<'_>, host: &ResolvedHost, asked: &Asked) -> Vec<String> {
    let strategy = &asked.strategy;
    let nodes = subject.nodes(world).ok();
    let there = subject
        .node
        .filter(|name| nodes.is_none_or(|nodes| nodes.by_name.contains_key(*name)));
    let mut steps = match there {
        Some(name) => {
            let node = nodes.and_then(|nodes| nodes.by_name.get(name)?.0.as_ref().ok());
            let uuid = node.and_then(|node| node.facts().system_uuid);
            let supported = nodes.is_some_and(|nodes| nodes.out_of_service_supported);
            with_node(
                host,
                (name, uuid),
                by_taint(strategy.fencing, supported),
                strategy,
            )
        }
        None => without_node(host, strategy),
    };
    let last = match (asked.origin, there) {
        (Origin::Annotation, Some(_)) => {
            Some("take back the taint, give back what was saved, and remove the trigger")
        }
        (Origin::Request, Some(_)) => Some("take back the taint, and give back what was saved"),
        (Origin::Annotation, None) => Some("remove the trigger"),
        (Origin::Request, None) => None,
    };
    steps.extend(last.map(str::to_owned));
    steps.push(in_vain(strategy));
    steps
}

/// Whether workloads are released by a taint, and not by the deletion of the Node.
fn by_taint(fencing: FencingMode, supported: bool) -> bool {
    match fencing {
        FencingMode::Automatic => supported,
        FencingMode::OutOfServiceTaint => true,
        FencingMode::NodeDeletion => false,
    }
}

fn read_identity(host: &ResolvedHost, uuid: &str, strategy: &Strategy) -> String {
    let directly = match strategy.host_control {
        HostControl::Managed => "",
        HostControl::Direct => ", also while metal3 manages the host",
    };
    let bmc = &host.host.bmc;
    format!("read power state and identity at {bmc}{directly}; go on only if the system UUID is {uuid}")
}

fn power_on(deadlines: &Deadlines) -> String {
    format!(
        "send On, and wait {:#} at the most until the BMC says On",
        deadlines.power_on
    )
}

/// What follows when the host does not come back.
fn in_vain(strategy: &Strategy) -> String {
    let retries = &strategy.retries;
    let again = match retries.attempts {
        0 | 1 => "not try again".to_owned(),
        attempts => format!(
            "try again, {attempts} times in all, {:#} after the first failure and twice as long after each \
             further one, {:#} at the most",
            retries.backoff, retries.max_backoff
        ),
    };
    let then = match strategy.escalation {
        Escalation::None => "leave the host to a person",
        Escalation::MachineOwner => "ask the owner of the Machine to replace it",
        Escalation::MachineDeletion => "delete the Machine, so that its controller replaces it",
    };
    format!("if that fails, {again}; then {then}")
}

fn with_node(
    host: &ResolvedHost,
    (node, uuid): (&str, Option<String>),
    by_taint: bool,
    strategy: &Strategy,
) -> Vec<String> {
    let deadlines = &strategy.deadlines;
    let uuid = uuid.unwrap_or_else(|| "that of the Node".to_owned());
    let release = if by_taint {
        format!("taint Node {node} with node.kubernetes.io/out-of-service")
    } else {
        format!("save labels, annotations and taints of Node {node}, and delete it")
    };
    vec![
        read_identity(host, &uuid, strategy),
        "read policy, Machine, health checks, Node and Lease once more; go on only if all still say so"
            .to_owned(),
        format!(
            "send ForceOff, and prove Off within {:#}: two readings a second apart, and no report of the Node",
            deadlines.power_off
        ),
        release,
        format!(
            "wait until its pods and volumes are gone, {:#} at the most, and read the power every 5 s",
            deadlines.fencing
        ),
        power_on(deadlines),
        format!(
            "wait {:#} at the most until Node {node} is Ready with another boot ID",
            deadlines.boot
        ),
    ]
}

fn without_node(host: &ResolvedHost, strategy: &Strategy) -> Vec<String> {
    let deadlines = &strategy.deadlines;
    let stated = host.host.stated_uuid.as_ref().map(ToString::to_string);
    let uuid = stated.unwrap_or_else(|| "the one that is stated".to_owned());
    vec![
        read_identity(host, &uuid, strategy),
        "read policy, Machine and health checks once more, and list all Nodes; go on only if all still say so, \
         and no Node has that system UUID"
            .to_owned(),
        format!(
            "send ForceOff, and prove Off within {:#}: two readings a second apart",
            deadlines.power_off
        ),
        "release nothing, for there is no Node".to_owned(),
        power_on(deadlines),
        format!(
            "wait {:#} at the most until the Machine has a Node with that system UUID that is Ready",
            deadlines.boot
        ),
    ]
}
