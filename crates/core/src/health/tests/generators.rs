//! Any limit, any Machine, any set of health checks.

use proptest::prelude::*;

use super::objects::Change as _;
use super::objects::{ago, cluster, condition, raw_rules, wanted, worker};
use super::overlap::paused_cluster;
use crate::facts::Lookup;
use crate::health::dialect::Dialect;
use crate::health::limit::{Amount, IntOrText, Limit};
use crate::health::overlap::Check;
use crate::health::rules::Rules;
use crate::health::target::{ClusterState, NodeState, Readiness, Target};
use crate::health::verdict::Unknown;

pub(super) fn dialect() -> impl Strategy<Value = Dialect> {
    prop::sample::select(Dialect::ALL.to_vec())
}

pub(super) fn at_most() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0_i64..15).prop_map(|number| Limit::AtMost(Amount::Machines(number))),
        (0_i64..130).prop_map(|percent| Limit::AtMost(Amount::Percent(percent))),
    ]
}

pub(super) fn limit() -> impl Strategy<Value = Limit> {
    let range = (0_u32..10, 0_u32..10).prop_map(|(from, more)| Limit::InRange {
        from,
        to: from.saturating_add(more),
    });
    prop_oneof![3 => at_most(), 1 => range]
}

/// A Machine in any state; the times are around the time-outs of the rules.
pub(super) fn machine() -> impl Strategy<Value = Target> {
    let node = prop_oneof![
        4 => (prop::sample::select(vec!["True", "False", "Unknown"]), 298_i64..303).prop_map(
            |(status, seconds)| Ok(NodeState::Present {
                name: "node".to_owned(),
                conditions: vec![condition("Ready", status, seconds)],
            })
        ),
        1 => Just(Ok(NodeState::Unset)),
        1 => Just(Ok(NodeState::Gone("node".to_owned()))),
        1 => Just(Err(Unknown::Node("status".to_owned()))),
        1 => Just(Err(Unknown::NodeUnreachable("timed out".to_owned()))),
    ];
    let times = (598_i64..603, prop::option::of(598_i64..603));
    let flags = prop::collection::vec(prop::bool::weighted(0.1), 11);
    let disk = prop::option::of((prop::sample::select(vec!["True", "False"]), 58_i64..63));
    (node, times, flags, disk, any::<bool>()).prop_map(|(node, times, flags, disk, rack)| {
        let mut target = worker("w");
        target
            .labels
            .insert("rack".to_owned(), if rack { "a" } else { "b" }.to_owned());
        target.node = node;
        target.under_remediation = flags[0];
        let machine = target.machine();
        machine.created = ago(times.0);
        machine.last_updated = times.1.map(ago);
        [
            machine.deleting,
            machine.triggered,
            machine.failed,
            machine.remediate,
        ] = [flags[1], flags[2], flags[3], flags[4]];
        [machine.paused, machine.control_plane, machine.skip_remediation] = [flags[5], flags[6], flags[8]];
        machine.failure_reason = flags[9].then(|| "CreateError".to_owned());
        machine.failure_message = flags[10].then(|| "no quota".to_owned());
        machine.conditions = disk
            .into_iter()
            .map(|(status, seconds)| condition("Disk", status, seconds))
            .collect();
        if flags[7] {
            target.machine = Err("status".to_owned());
        }
        target
    })
}

pub(super) fn machines() -> impl Strategy<Value = Vec<Target>> {
    prop::collection::vec(machine(), 0..14).prop_map(|mut machines| {
        for (number, target) in machines.iter_mut().enumerate() {
            target.name = format!("w{number:02}");
        }
        machines
    })
}

pub(super) fn a_cluster() -> impl Strategy<Value = Lookup<ClusterState>> {
    prop_oneof![
        8 => Just(cluster()),
        1 => Just(paused_cluster()),
        1 => Just(Lookup::Absent),
        1 => Just(cluster().map(|cluster| ClusterState { infrastructure: Readiness::No, ..cluster })),
        1 => Just(cluster().map(|cluster| ClusterState { control_plane: Readiness::No, ..cluster })),
    ]
}

/// A check over all Machines or those of one rack, that often, in 100, paused, and as often malformed.
pub(super) fn check(dialect: Dialect, broken: u32) -> impl Strategy<Value = Check> {
    let rack = prop::option::of(prop::sample::select(vec!["a", "b"]));
    let chance = f64::from(broken) / 100.0;
    let (paused, malformed) = (prop::bool::weighted(chance), prop::bool::weighted(chance));
    (limit(), rack, paused, malformed, a_cluster(), 58_i64..310).prop_map(
        move |(limit, rack, paused, malformed, cluster, seconds)| {
            let mut raw = raw_rules();
            let rack = rack.map(|rack| ("rack".to_owned(), rack.to_owned()));
            raw.selector.match_labels.extend(rack);
            raw.node_conditions.push(wanted("Ready", "False", seconds));
            raw.machine_conditions = vec![wanted("Disk", "True", 60)];
            if malformed {
                raw.max_unhealthy = Some(IntOrText::Text("x".to_owned()));
            }
            Check {
                name: String::new(),
                paused,
                rules: Rules::read(dialect, &raw).map(|rules| Rules { limit, ..rules }),
                cluster,
            }
        },
    )
}

pub(super) fn checks() -> impl Strategy<Value = Vec<Check>> {
    let some = dialect().prop_flat_map(|dialect| prop::collection::vec(check(dialect, 10), 1..5));
    some.prop_map(|mut checks| {
        for (number, check) in checks.iter_mut().enumerate() {
            check.name = format!("c{number}");
        }
        checks
    })
}
