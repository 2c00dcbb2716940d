//! The Kubernetes objects of the model.

use super::world::UUID;
use jiff::{SignedDuration, Timestamp};

use crate::facts::{Machine, Node, NodeCondition, OutOfService};
use crate::health::dialect::Dialect;
use crate::health::rules::{RawCondition, RawRules, Rules};
use crate::health::target::MachineState;
use crate::health::{HealthCheck, UnhealthyCondition};

pub(super) fn ready_is(node: &Node, status: &str) -> bool {
    node.conditions.iter().any(|condition| condition.status == status)
}

pub(super) fn set_ready(node: &mut Node, status: &str, since: Timestamp) {
    if !ready_is(node, status) {
        node.conditions = vec![NodeCondition {
            kind: "Ready".to_owned(),
            status: status.to_owned(),
            since: Some(since),
        }];
    }
}

pub(super) fn node(uid: &str, boot_id: &str, ready: &str, since: Timestamp, heartbeat: Timestamp) -> Node {
    let mut node = Node {
        name: "worker-1".to_owned(),
        uid: uid.to_owned(),
        resource_version: "1".to_owned(),
        machine_link: Some("openshift-machine-api/machine-1".to_owned()),
        provider_id: Some("baremetal:///1".to_owned()),
        system_uuid: Some(UUID.to_uppercase()),
        boot_id: Some(boot_id.to_owned()),
        control_plane: false,
        conditions: Vec::new(),
        out_of_service: OutOfService::No,
        other_fencer: None,
        heartbeat: Some(heartbeat),
        lost_since: None,
    };
    set_ready(&mut node, ready, since);
    node
}

pub(super) fn machine() -> Machine {
    Machine {
        namespace: "openshift-machine-api".to_owned(),
        name: "machine-1".to_owned(),
        uid: "machine-uid-1".to_owned(),
        authoritative_elsewhere: None,
        foreign_mark: None,
        trigger_answered_by: None,
        api: crate::machine_api::MachineApi::OpenShift,
        cluster: None,
        pause: None,
        controller_owner: Some("MachineSet/workers".to_owned()),
        unhealthy_by_itself: None,
        control_plane: false,
        node_name: Some("worker-1".to_owned()),
        provider_id: Some("baremetal:///1".to_owned()),
        phase: Some("Running".to_owned()),
        state: MachineState {
            triggered: true,
            ..MachineState::default()
        },
        resource_version: "1".to_owned(),
    }
}

/// What that check asks for. `startup`: how long a Machine may be without a Node, as it stands there.
pub(super) fn rules(startup: Option<SignedDuration>) -> Rules {
    let condition = |status: &str| RawCondition {
        kind: "Ready".to_owned(),
        status: status.to_owned(),
        timeout: Ok(SignedDuration::from_secs(60)),
    };
    let raw = RawRules {
        node_conditions: ["Unknown", "False"].map(condition).into(),
        node_startup_timeout: startup.map(Ok),
        ..RawRules::default()
    };
    Rules::read(Dialect::OpenShift, &raw).expect("well-formed")
}

pub(super) fn health_check() -> HealthCheck {
    HealthCheck {
        name: "workers".to_owned(),
        external_baremetal: true,
        paused: false,
        has_template: false,
        conditions: ["Unknown", "False"]
            .map(|status| UnhealthyCondition {
                kind: "Ready".to_owned(),
                status: status.to_owned(),
                timeout: SignedDuration::from_secs(60),
            })
            .into(),
        machine_conditions: Vec::new(),
        rules: Some(rules(None)),
        malformed: None,
    }
}
