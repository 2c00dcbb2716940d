//! Nodes and a NodeHealthCheck over them, all well, to be changed by a case.

use super::objects::{condition, labels, now, wanted};
use crate::facts::{Node, NodeCondition, OutOfService};
use crate::health::limit::IntOrText;
use crate::health::node_health_check::assess::{Circumstances, NodeAssessment, NodeTarget, assess_nodes};
use crate::health::node_health_check::rules::{NodeRules, RawNodeRules};
use crate::health::selector::{RawRequirement, RawSelector};
use crate::health::verdict::Verdict;

/// A worker that has been Ready for a day.
pub(super) fn node(name: &str) -> NodeTarget {
    NodeTarget {
        name: name.to_owned(),
        labels: labels(&[("node-role.kubernetes.io/worker", "")]),
        conditions: Ok(vec![condition("Ready", "True", 86_400)]),
        control_plane: false,
        changes_config: false,
        requested: false,
    }
}

/// The same, silent for an hour.
pub(super) fn silent(name: &str) -> NodeTarget {
    NodeTarget {
        conditions: Ok(vec![condition("Ready", "Unknown", 3_600)]),
        ..node(name)
    }
}

/// `n00` and so on, of which the first `unhealthy` are silent.
pub(super) fn nodes(size: usize, unhealthy: usize) -> Vec<NodeTarget> {
    let name = |number| format!("n{number:02}");
    let of = |number| {
        if number < unhealthy {
            silent(&name(number))
        } else {
            node(&name(number))
        }
    };
    (0..size).map(of).collect()
}

/// Workers that are not Ready for 300 s, one of which may be.
pub(super) fn raw_node_rules() -> RawNodeRules {
    RawNodeRules {
        selector: RawSelector {
            match_labels: labels(&[]),
            match_expressions: vec![RawRequirement {
                key: "node-role.kubernetes.io/worker".to_owned(),
                operator: "Exists".to_owned(),
                values: Vec::new(),
            }],
        },
        unhealthy_conditions: Some(vec![
            wanted("Ready", "False", 300),
            wanted("Ready", "Unknown", 300),
        ]),
        min_healthy: None,
        max_unhealthy: Some(IntOrText::Integer(1)),
        paused: false,
    }
}

/// What a case changes.
pub(super) struct NodeScene {
    pub(super) rules: RawNodeRules,
    pub(super) around: Circumstances,
    pub(super) nodes: Vec<NodeTarget>,
}

impl NodeScene {
    pub(super) fn assess(&self) -> NodeAssessment {
        assess_nodes(
            &NodeRules::read(&self.rules).unwrap(),
            self.around,
            &self.nodes,
            now(),
        )
    }
}

/// What is said of four workers of which the first has been silent for an hour, after a change.
pub(super) fn assessed(edit: impl FnOnce(&mut NodeScene)) -> NodeAssessment {
    let mut scene = NodeScene {
        rules: raw_node_rules(),
        around: Circumstances::default(),
        nodes: nodes(4, 1),
    };
    edit(&mut scene);
    scene.assess()
}

/// For whom something new is asked.
pub(super) fn asked_for(assessment: &NodeAssessment) -> Vec<&str> {
    let names = assessment.remediate().into_iter().map(|one| one.name.as_str());
    names.collect()
}

/// What is said of the first Node.
pub(super) fn of_first(assessment: &NodeAssessment) -> &Verdict {
    &assessment.nodes[0].verdict
}

/// A Node as a remediation of it is judged by.
pub(super) fn facts_of_node(conditions: Vec<NodeCondition>) -> Node {
    Node {
        name: "n00".to_owned(),
        uid: "uid".to_owned(),
        resource_version: String::new(),
        machine_link: None,
        provider_id: None,
        system_uuid: None,
        boot_id: None,
        control_plane: false,
        conditions,
        out_of_service: OutOfService::No,
        heartbeat: None,
        lost_since: None,
    }
}
