//! What a remediation would do, step by step, in words.

use super::world::World;
use crate::api::views::Machine;
use crate::controller::ResolvedHost;
use crate::core::facts::Origin;
use crate::core::strategy::{Deadlines, Strategy};

/// What a remediation with the default strategy would do to a Machine, step by step.
pub(super) fn steps(world: &World, machine: &Machine, host: &ResolvedHost, by: Origin) -> Vec<String> {
    let deadlines = Strategy::default().deadlines;
    let nodes = world.nodes_of(machine).ok();
    let name = machine.node_name();
    let there = name.filter(|name| nodes.is_none_or(|nodes| nodes.by_name.contains_key(*name)));
    let middle = match there {
        Some(node) => with_node(world, machine, (host, node), &deadlines),
        None => without_node(host, &deadlines),
    };
    let last = match (by, there) {
        (Origin::Annotation, Some(_)) => {
            Some("take back the taint, give back what was saved, and remove the trigger")
        }
        (Origin::Request, Some(_)) => Some("take back the taint, and give back what was saved"),
        (Origin::Annotation, None) => Some("remove the trigger"),
        (Origin::Request, None) => None,
    };
    middle.into_iter().chain(last.map(str::to_owned)).collect()
}

fn power_on(deadlines: &Deadlines) -> String {
    format!(
        "send On, and wait {:#} at the most until the BMC says On",
        deadlines.power_on
    )
}

fn with_node(
    world: &World,
    machine: &Machine,
    (host, node): (&ResolvedHost, &str),
    deadlines: &Deadlines,
) -> Vec<String> {
    let nodes = world.nodes_of(machine).ok();
    let of_machine = nodes.and_then(|nodes| nodes.by_name.get(node)?.0.as_ref().ok());
    let uuid = of_machine.and_then(|node| node.facts().system_uuid);
    let uuid = uuid.unwrap_or_else(|| "that of the Node".to_owned());
    let release = if nodes.is_some_and(|nodes| nodes.out_of_service_supported) {
        format!("taint Node {node} with node.kubernetes.io/out-of-service")
    } else {
        format!("save labels, annotations and taints of Node {node}, and delete it")
    };
    vec![
        format!(
            "read power state and identity at {}; go on only if the system UUID is {uuid}",
            host.host.bmc
        ),
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

fn without_node(host: &ResolvedHost, deadlines: &Deadlines) -> Vec<String> {
    let stated = host.host.stated_uuid.as_ref().map(ToString::to_string);
    let uuid = stated.unwrap_or_else(|| "the one that is stated".to_owned());
    vec![
        format!(
            "read power state and identity at {}; go on only if the system UUID is {uuid}",
            host.host.bmc
        ),
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
