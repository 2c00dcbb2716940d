//! `machine.openshift.io/v1beta1`: which Machines a check selects, and which of them are remediated.

use super::objects::Change as _;
use super::objects::{labels, now, pool, rules, rules_for_all, worker};
use crate::facts::Lookup;
use crate::health::assess::assess;
use crate::health::dialect::Dialect;
use crate::health::overlap::{Check, evaluate};

#[test]
fn targets_are_selected_by_label_and_an_empty_selector_selects_all() {
    let mut machines = pool(3, 0);
    machines[1].labels = labels(&[("role", "master")]);
    machines[2].labels = labels(&[]);
    for (rules, selected) in [
        (rules(Dialect::OpenShift), vec!["w00"]),
        (rules_for_all(Dialect::OpenShift), vec!["w00", "w01", "w02"]),
    ] {
        let check = [Check {
            name: "workers".to_owned(),
            paused: false,
            rules: Ok(rules),
            cluster: Lookup::Absent,
        }];
        let evaluation = evaluate(&check, &machines, now());
        let (_, assessment) = evaluation.checks[0].assessment.as_ref().unwrap();
        let names: Vec<&str> = assessment.machines.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, selected);
    }
}

#[test]
fn external_path_needs_no_owner_and_leaves_failed_and_deleted_machines_alone() {
    let mut machines = pool(4, 4);
    machines[1].machine().failed = true;
    machines[2].machine().deleting = true;
    machines[3] = worker("w03");
    let all: Vec<_> = machines.iter().collect();
    let assessment = assess(&rules(Dialect::OpenShift), false, &Lookup::Absent, &all, now());
    assert_eq!((assessment.counts.expected, assessment.counts.healthy), (4, 1));
    let names: Vec<&str> = assessment
        .remediate()
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["w00"]);
}
