//! The MachineHealthChecks that the documents of [`super::documents`] give as examples, read as the daemon reads
//! them from an API server, and judged by.

use serde_json::{Value, json};

use super::objects::Change as _;
use super::objects::{ago, cluster, counts, labels, now, summary, worker};
use crate::guarded::Guarded;
use crate::views::cluster_api::{FromClusterApi as _, Version};
use crate::views::{Machine, MachineHealthCheck};
use remediator_core::eligibility::{self, Candidate, Rule};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::health::assess::{Stopped, assess};
use remediator_core::health::dialect::Dialect;
use remediator_core::health::judgement::judge_machine;
use remediator_core::health::rules::Rules;
use remediator_core::health::selector::Labels;
use remediator_core::health::target::{NodeState, Target};
use remediator_core::health::{HealthCheck, vouching};
use remediator_core::phase::Reason;

const OKD_BARE_METAL: &str = include_str!("documents/okd-bare-metal.yaml");
const OKD_OTHER: &str = include_str!("documents/okd-other.yaml");
const ENHANCEMENT: &str = include_str!("documents/enhancement.yaml");
const CLUSTER_API_WORKERS: &str = include_str!("documents/cluster-api-workers.yaml");
const CLUSTER_API_CONTROL_PLANE: &str = include_str!("documents/cluster-api-control-plane.yaml");

fn read(yaml: &str) -> MachineHealthCheck {
    let object: Value = serde_saphyr::from_str(yaml).unwrap();
    let is_openshift = object["apiVersion"] == "machine.openshift.io/v1beta1";
    let Guarded(read): Guarded<MachineHealthCheck> = if is_openshift {
        serde_json::from_value(object).unwrap()
    } else {
        MachineHealthCheck::read(Version::V1Beta1, serde_json::from_value(object).unwrap())
    };
    read.unwrap()
}

fn rules(yaml: &str) -> Rules {
    read(yaml).rules().unwrap()
}

/// Labels of a Machine that every example of a dialect selects.
fn selected_labels() -> Labels {
    let role = "machine.openshift.io/cluster-api-machine-role";
    let kind = "machine.openshift.io/cluster-api-machine-type";
    let set = "machine.openshift.io/cluster-api-machineset";
    labels(&[
        (role, "worker"),
        (kind, "worker"),
        (set, "prod-node-us-east-1a"),
        ("role", "worker"),
        ("nodepool", "nodepool-0"),
        ("cluster.x-k8s.io/control-plane", ""),
        ("cluster.x-k8s.io/cluster-name", "capi-quickstart"),
    ])
}

/// So many that an example selects, of which so many have been silent for an hour.
fn pool(size: usize, unhealthy: usize) -> Vec<Target> {
    let mut pool = super::objects::pool(size, unhealthy);
    for target in &mut pool {
        target.labels = selected_labels();
    }
    pool
}

/// Line, text, whose, limit, which labels are asked for.
const EXAMPLES: [(&str, &str, Dialect, &str, &[&str]); 5] = [
    (
        "000:39",
        OKD_BARE_METAL,
        Dialect::OpenShift,
        "40%",
        &[
            "machine.openshift.io/cluster-api-machine-role",
            "machine.openshift.io/cluster-api-machine-type",
            "machine.openshift.io/cluster-api-machineset",
        ],
    ),
    (
        "000:70",
        OKD_OTHER,
        Dialect::OpenShift,
        "40%",
        &["machine.openshift.io/cluster-api-machineset"],
    ),
    ("002:112", ENHANCEMENT, Dialect::OpenShift, "40%", &["role"]),
    (
        "003:31",
        CLUSTER_API_WORKERS,
        Dialect::ClusterApiV1Beta1,
        "40%",
        &["nodepool", "cluster.x-k8s.io/cluster-name"],
    ),
    (
        "003:67",
        CLUSTER_API_CONTROL_PLANE,
        Dialect::ClusterApiV1Beta1,
        "100%",
        &["cluster.x-k8s.io/control-plane", "cluster.x-k8s.io/cluster-name"],
    ),
];

#[test]
fn examples_select_and_limit_as_they_say() {
    for (line, yaml, dialect, limit, asked_for) in EXAMPLES {
        let rules = rules(yaml);
        assert_eq!(
            (rules.dialect, rules.limit.to_string().as_str()),
            (dialect, limit),
            "{line}"
        );
        assert!(rules.selector.matches(&selected_labels()), "{line}");
        for label in asked_for {
            let mut other = selected_labels();
            other.insert((*label).to_owned(), "another".to_owned());
            assert!(!rules.selector.matches(&other), "{line}: {label}");
        }
    }
}

#[test]
fn examples_judge_after_300_seconds_and_10_minutes() {
    for (line, yaml, dialect, ..) in EXAMPLES {
        let rules = rules(yaml);
        let said = |edit: &dyn Fn(&mut Target)| {
            let mut target = worker("w");
            edit(&mut target);
            summary(dialect, &judge_machine(&rules, &cluster(), &target, now()))
        };
        for status in ["False", "Unknown"] {
            let after = |seconds| said(&|target| target.set_ready(status, seconds));
            assert_eq!(after(301), "unhealthy: UnhealthyNode", "{line}: Ready={status}");
            assert_eq!(
                after(300),
                "waiting: Grace until after 0 s",
                "{line}: Ready={status}"
            );
        }
        assert_eq!(
            said(&|target| target.set_ready("True", 9_000)),
            "healthy",
            "{line}"
        );
        // 002:89 and 003:42: also where nothing is said.
        let without_node = |seconds| {
            said(&|target| {
                target.node = Ok(NodeState::Unset);
                let machine = target.machine();
                (machine.created, machine.last_updated) = (ago(seconds), Some(ago(seconds)));
            })
        };
        assert_eq!(without_node(601), "unhealthy: NodeStartupTimeout", "{line}");
        assert_eq!(
            without_node(600),
            "waiting: NodeStartup until after 0 s",
            "{line}"
        );
    }
}

#[test]
fn examples_short_circuit_where_they_say() {
    for (line, yaml, size, unhealthy, allowed) in [
        ("000:129", OKD_BARE_METAL, 25, 10, true),
        ("000:130", OKD_BARE_METAL, 25, 11, false),
        ("000:134", OKD_BARE_METAL, 6, 2, true),
        ("000:135", OKD_BARE_METAL, 6, 3, false),
        ("002:108", ENHANCEMENT, 5, 2, true),
        ("002:108", ENHANCEMENT, 5, 3, false),
        ("003:177", CLUSTER_API_WORKERS, 25, 10, true),
        ("003:178", CLUSTER_API_WORKERS, 25, 11, false),
        ("003:181", CLUSTER_API_WORKERS, 6, 2, true),
        ("003:182", CLUSTER_API_WORKERS, 6, 3, false),
        ("003:162", CLUSTER_API_CONTROL_PLANE, 3, 3, true),
    ] {
        let machines = pool(size, unhealthy);
        let all: Vec<&Target> = machines.iter().collect();
        let assessment = assess(&rules(yaml), false, &cluster(), &all, now());
        let stopped = (!allowed).then_some(Stopped::TooManyUnhealthy);
        assert_eq!(assessment.stopped, stopped, "{line}");
        let expected = if allowed { unhealthy } else { 0 };
        assert_eq!(assessment.remediate().len(), expected, "{line}");
    }
}

#[test]
fn the_status_of_an_example_is_what_is_counted() {
    let machines = pool(5, 0);
    let all: Vec<&Target> = machines.iter().collect();
    let assessment = assess(&rules(ENHANCEMENT), false, &cluster(), &all, now());
    assert_eq!(assessment.counts, counts(5, 5), "002:130, 002:131");
    let status = read(ENHANCEMENT).status.unwrap();
    assert_eq!(
        (status.expected_machines, status.current_healthy),
        (Some(5), Some(5))
    );
}

/// A Machine as it stands in a cluster.
fn machine(role: &str) -> Machine {
    let mut of_role = selected_labels();
    let label = "machine.openshift.io/cluster-api-machine-role";
    of_role.insert(label.to_owned(), role.to_owned());
    let metadata = json!({"name": "w", "namespace": "openshift-machine-api", "uid": "u", "labels": of_role});
    serde_json::from_value(json!({"metadata": metadata, "spec": {}})).unwrap()
}

#[test]
fn power_cycles_are_asked_for_by_the_annotation_and_else_the_answer_is_deletion() {
    for (line, yaml, asks) in [
        ("000:19 to 000:23, 000:62", OKD_BARE_METAL, true),
        ("000:70 to 000:89", OKD_OTHER, false),
    ] {
        let check = read(yaml);
        assert_eq!(check.asks_for_power_cycles(), asks, "{line}");
        let heard = [check.facts_for(&machine("worker"))];
        let found: Result<Vec<&HealthCheck>, Obstacle> = vouching(&heard);
        let found = found
            .map(|checks| checks.len())
            .map_err(|obstacle| obstacle.reason);
        assert_eq!(
            found,
            if asks { Ok(1) } else { Err(Reason::NoHealthCheck) },
            "{line}"
        );
    }
}

/// What a Machine itself says against a power cycle of its host.
fn refused(machine: &Machine) -> Option<Reason> {
    let facts = machine.facts();
    let node = Lookup::Unreadable("it was not read".to_owned());
    let candidate = Candidate::of_trigger(Lookup::Present(&facts), &node, &[]);
    let obstacles = eligibility::examine(&candidate, now()).err()?;
    let by_itself = |rule| {
        matches!(
            rule,
            Rule::MachineStays | Rule::MachineIsOurs | Rule::ControlPlane
        )
    };
    let first = obstacles.iter().find(|one| by_itself(one.rule))?;
    Some(first.obstacle.reason)
}

#[test]
fn limitations_of_the_example() {
    let without_owner = machine("worker");
    assert_eq!(without_owner.facts().controller_owner, None);
    // Of deletion only: a power cycle needs nobody who would make another Machine.
    assert_eq!(refused(&without_owner), None, "000:25");
    let check = read(OKD_BARE_METAL);
    assert!(
        matches!(check.facts_for(&without_owner), Lookup::Present(_)),
        "000:25"
    );

    let master = machine("master");
    assert_eq!(
        refused(&master),
        Some(Reason::ControlPlaneRefused),
        "000:13, 000:26, 002:420"
    );
    assert_eq!(check.facts_for(&master), Lookup::Absent, "nor is it selected");
}
