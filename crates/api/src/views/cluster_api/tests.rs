use jiff::SignedDuration;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{Cluster, FromClusterApi, Version};
use crate::guarded::Guarded;
use crate::views::{Machine, MachineHealthCheck};
use remediator_core::facts::Lookup;
use remediator_core::health::dialect::Dialect;
use remediator_core::health::limit::Limit;
use remediator_core::health::target::Readiness;
use remediator_core::machine_api::MachineApi;

fn read<K: FromClusterApi>(version: Version, mut object: Value) -> Guarded<K> {
    let resource = version.resource::<K>();
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    K::read(version, object)
}

fn machine(version: Version, metadata: &Value, status: &Value) -> Machine {
    let object = json!({
        "metadata": metadata,
        "spec": {
            "clusterName": "blue", "providerID": "metal3://metal/host-1/worker-1-m3m",
            "infrastructureRef": {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "Metal3Machine", "name": "worker-1-m3m",
            },
        },
        "status": status,
    });
    read::<Machine>(version, object).0.unwrap()
}

fn named(annotations: &Value, labels: &Value) -> Value {
    json!({"name": "worker-1", "namespace": "metal", "uid": "u", "annotations": annotations, "labels": labels})
}

#[test]
fn kinds_are_asked_for_in_the_version_that_is_served() {
    for version in Version::ALL {
        let resource = version.resource::<MachineHealthCheck>();
        assert_eq!(
            resource.api_version,
            format!("cluster.x-k8s.io/{}", version.as_str())
        );
        assert_eq!(resource.plural, "machinehealthchecks");
    }
}

#[test]
fn a_machine_is_read_in_either_version() {
    let status = json!({
        "phase": "Failed", "nodeRef": {"name": "node-1"},
        "conditions": [
            {"type": "InfrastructureReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "NodeHealthy", "status": "False", "lastTransitionTime": "2026-01-02T00:00:00Z"},
        ],
        "failureReason": "CreateError", "failureMessage": "no",
    });
    for version in Version::ALL {
        let machine = machine(version, &named(&json!({}), &json!({})), &status);
        let (state, facts) = (machine.state(), machine.facts());
        assert_eq!(
            (machine.api(), machine.cluster()),
            (MachineApi::ClusterApi, Some("blue"))
        );
        assert_eq!(
            machine.group_version(),
            format!("cluster.x-k8s.io/{}", version.as_str())
        );
        assert_eq!(facts.node_name.as_deref(), Some("node-1"));
        assert_eq!(state.conditions.len(), 2);
        let since = "2026-01-01T00:00:00Z".parse().ok();
        assert_eq!(state.infrastructure, Readiness::Yes { since });
        assert!(
            !state.failed,
            "the phase says nothing here that is not said otherwise"
        );
        let failure = (version == Version::V1Beta1).then(|| "failure CreateError".to_owned());
        assert_eq!(facts.unhealthy_by_itself, failure, "{version:?}");
        assert_eq!(state.failure_reason.is_some(), version == Version::V1Beta1);
    }
}

#[test]
fn annotations_and_labels_of_a_machine_count_by_their_presence() {
    for (annotation, pause, asked) in [
        ("cluster.x-k8s.io/paused", true, false),
        ("cluster.x-k8s.io/skip-remediation", true, false),
        ("cluster.x-k8s.io/remediate-machine", false, true),
        ("example.org/other", false, false),
    ] {
        let metadata = named(
            &json!({annotation: "false"}),
            &json!({"cluster.x-k8s.io/control-plane": ""}),
        );
        let mut machine = machine(Version::V1Beta2, &metadata, &Value::Null);
        machine.narrow();
        let facts = machine.facts();
        assert_eq!(facts.pause.is_some(), pause, "{annotation}");
        assert_eq!(facts.unhealthy_by_itself.is_some(), asked, "{annotation}");
        assert!(facts.control_plane && machine.state().control_plane);
        assert_eq!(machine.state().paused || machine.state().skip_remediation, pause);
    }
}

#[test]
fn a_health_check_means_the_same_in_either_version() {
    let old = read::<MachineHealthCheck>(
        Version::V1Beta1,
        json!({"metadata": {"name": "workers"}, "spec": {
            "clusterName": "blue", "selector": {"matchLabels": {"role": "worker"}},
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "5m0s"}],
            "unhealthyMachineConditions": [{"type": "NodeHealthy", "status": "False", "timeout": "1m0s"}],
            "nodeStartupTimeout": "20m0s", "maxUnhealthy": "40%",
            "remediationTemplate": {"kind": "PowerCycleRemediationTemplate", "name": "cycle"},
        }}),
    );
    let new = read::<MachineHealthCheck>(
        Version::V1Beta2,
        json!({"metadata": {"name": "workers"}, "spec": {
            "clusterName": "blue", "selector": {"matchLabels": {"role": "worker"}},
            "checks": {
                "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}],
                "unhealthyMachineConditions": [{"type": "NodeHealthy", "status": "False", "timeoutSeconds": 60}],
                "nodeStartupTimeoutSeconds": 1200,
            },
            "remediation": {
                "triggerIf": {"unhealthyLessThanOrEqualTo": "40%"},
                "templateRef": {"kind": "PowerCycleRemediationTemplate", "name": "cycle", "apiVersion": "v"},
            },
        }}),
    );
    let (old, new) = (old.0.unwrap(), new.0.unwrap());
    let template = |check: &MachineHealthCheck| check.spec.remediation_template.clone().unwrap().name;
    assert_eq!(
        (template(&old), template(&new)),
        ("cycle".to_owned(), "cycle".to_owned())
    );
    let (old_rules, new_rules) = (old.rules().unwrap(), new.rules().unwrap());
    assert_eq!(old_rules.dialect, Dialect::ClusterApiV1Beta1);
    assert_eq!(new_rules.dialect, Dialect::ClusterApiV1Beta2);
    assert_eq!(old_rules.node_conditions, new_rules.node_conditions);
    assert_eq!(
        old_rules.machine_conditions,
        [],
        "1.10 and older do not know them"
    );
    assert_eq!(new_rules.machine_conditions.len(), 1);
    assert_eq!(
        new_rules.node_startup_timeout,
        Some(SignedDuration::from_mins(20))
    );
    assert_eq!(old_rules.limit, new_rules.limit);
    assert_eq!(old_rules.selector, new_rules.selector);

    let of_blue = json!({"role": "worker", "cluster.x-k8s.io/cluster-name": "blue"});
    let of_red = json!({"role": "worker", "cluster.x-k8s.io/cluster-name": "red"});
    let selected = machine(Version::V1Beta2, &named(&json!({}), &of_blue), &Value::Null);
    let foreign = machine(Version::V1Beta2, &named(&json!({}), &of_red), &Value::Null);
    assert!(
        matches!(new.facts_for(&selected), Lookup::Present(check) if check.machine_conditions.len() == 1)
    );
    assert_eq!(new.facts_for(&foreign), Lookup::Absent);
}

#[test]
fn a_range_wins_and_what_is_malformed_selects_nothing() {
    let check = |trigger: Value, selector: Value| {
        let spec =
            json!({"clusterName": "blue", "selector": selector, "remediation": {"triggerIf": trigger}});
        read::<MachineHealthCheck>(Version::V1Beta2, json!({"metadata": {"name": "c"}, "spec": spec}))
    };
    let workers = json!({"matchLabels": {"role": "worker"}});
    let range = check(
        json!({"unhealthyLessThanOrEqualTo": 1, "unhealthyInRange": "[3-5]"}),
        workers.clone(),
    );
    assert!(matches!(
        range.0.unwrap().rules().unwrap().limit,
        Limit::InRange { from: 3, to: 5 }
    ));

    let of_blue = json!({"role": "worker", "cluster.x-k8s.io/cluster-name": "blue"});
    let machine = machine(Version::V1Beta2, &named(&json!({}), &of_blue), &Value::Null);
    let reversed = check(json!({"unhealthyInRange": "[5-3]"}), workers).0.unwrap();
    assert!(reversed.rules().is_err());
    assert!(matches!(reversed.facts_for(&machine), Lookup::Unreadable(_)));
    for nobody in [
        json!({"matchExpressions": [{"key": "role", "operator": "Like"}]}),
        json!({}),
    ] {
        let nobody = check(json!({}), nobody).0.unwrap();
        assert!(nobody.rules().is_err());
        let heard = nobody.facts_for(&machine);
        assert!(matches!(heard, Lookup::Present(check) if check.malformed.is_some()));
    }
}

#[test]
fn what_cannot_be_read_names_its_field_and_keeps_its_name() {
    let spec = json!({"clusterName": 7});
    let machine = read::<Machine>(Version::V1Beta2, json!({"metadata": {"name": "m"}, "spec": spec}));
    let error = machine.0.unwrap_err();
    assert!(error.error.starts_with("spec.clusterName: "), "{}", error.error);
    assert_eq!(error.metadata.name.as_deref(), Some("m"));
}

#[test]
fn a_cluster_is_paused_or_not_and_its_conditions_say_how_far_it_is() {
    for (spec, paused) in [(json!({"paused": true}), true), (json!({}), false)] {
        let status = json!({"conditions": [
            {"type": "InfrastructureReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "ControlPlaneInitialized", "status": "Unknown"},
        ]});
        let object = json!({"metadata": {"name": "blue"}, "spec": spec, "status": status});
        let cluster = read::<Cluster>(Version::V1Beta2, object).0.unwrap();
        assert_eq!(cluster.state.paused, paused);
        assert!(matches!(
            cluster.state.infrastructure,
            Readiness::Yes { since: Some(_) }
        ));
        assert_eq!(cluster.state.control_plane, Readiness::No);
    }
}

#[test]
fn what_is_no_duration_keeps_nothing_else_from_being_read() {
    for (timeout, told) in [
        (json!("99999999999999999999h"), "99999999999999999999h"),
        (json!(""), "\"\""),
        (json!("5 minutes"), "5 minutes"),
        (json!(300), "300"),
    ] {
        let object = json!({
            "metadata": {"name": "workers", "namespace": "metal"},
            "spec": {
                "clusterName": "blue", "selector": {"matchLabels": {"role": "worker"}},
                "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": timeout}],
                "nodeStartupTimeout": timeout, "maxUnhealthy": true,
            },
        });
        let check = read::<MachineHealthCheck>(Version::V1Beta1, object).0.unwrap();
        let wrong = check.rules().unwrap_err().to_string();
        for part in [
            "spec.unhealthyConditions[0].timeout is",
            "spec.nodeStartupTimeout is",
            "spec.maxUnhealthy is the text \"true\"",
            told,
        ] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
    }
}
