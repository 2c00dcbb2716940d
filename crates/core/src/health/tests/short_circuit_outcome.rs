//! The short circuit, each row of its rules, for OpenShift and Cluster API: what becomes of what is unhealthy.
//! Sources: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`; cluster-api
//! `internal/controllers/machinehealthcheck/machinehealthcheck_controller.go`.

use super::objects::Change as _;
use super::objects::{now, pool, worker};
use super::short_circuit::assessed;
use crate::facts::Lookup;
use crate::health::assess::{Exempt, Stopped};
use crate::health::dialect::Dialect;
use crate::health::limit::{Amount, IntOrText, Limit};
use crate::health::overlap::{Check, evaluate};
use crate::health::rules::Rules;
use crate::health::target::{NodeState, Target};
use crate::health::verdict::{Verdict, Wait};
use crate::health::{HealthCheck, rules_for, vouching};

/// Two that nothing was done about; three with a trigger or a request, one of which has recovered; and well ones.
fn with_some_begun() -> Vec<Target> {
    let mut machines = pool(9, 4);
    machines[1].machine().triggered = true;
    machines[2].under_remediation = true;
    machines[4].under_remediation = true;
    machines[5].machine().triggered = true;
    machines
}

#[test]
fn when_blocked() {
    for dialect in Dialect::ALL {
        let machines = with_some_begun();
        let blocked = assessed(dialect, Limit::AtMost(Amount::Machines(5)), &machines);
        assert_eq!(blocked.stopped, Some(Stopped::TooManyUnhealthy));
        assert_eq!(blocked.remediate(), Vec::<&_>::new(), "nothing new");
        assert_eq!(blocked.allowance.remediations, 0);

        let allowed = assessed(dialect, Limit::AtMost(Amount::Machines(6)), &machines);
        assert_eq!(allowed.remediate().len(), 2);
        assert_eq!(
            blocked.machines, allowed.machines,
            "what was begun is judged as if nothing blocked"
        );
        let exempt: Vec<Option<Exempt>> = blocked.machines.iter().map(|one| one.exempt).collect();
        let begun = [
            None,
            Some(Exempt::Triggered),
            Some(Exempt::UnderRemediation),
            None,
        ];
        assert_eq!(exempt[..4], begun, "triggers and requests stay");
        for (recovered, why) in [(4, Wait::UnderRemediation), (5, Wait::Triggered)] {
            let stays = Verdict::Waiting { why, until: None };
            assert_eq!(
                blocked.machines[recovered].verdict, stays,
                "so do those of recovered Machines"
            );
        }
    }
}

/// The limit is asked before a trigger is set, and not again by those who answer it.
#[test]
fn when_blocked_a_trigger_that_is_there_is_still_vouched_for() {
    let mut raw = super::objects::raw_rules();
    raw.max_unhealthy = Some(IntOrText::Integer(0));
    let rules = Rules::read(Dialect::OpenShift, &raw).unwrap();
    let evaluation_of = [Check {
        name: "workers".to_owned(),
        paused: false,
        rules: Ok(rules.clone()),
        cluster: Lookup::Absent,
    }];
    let machines = with_some_begun();
    assert!(evaluate(&evaluation_of, &machines, now()).remediate.is_empty());
    let heard = rules_for("workers", Ok(rules), &worker("w").labels);
    let check = heard.map(|rules| HealthCheck {
        name: "workers".to_owned(),
        external_baremetal: true,
        paused: false,
        has_template: false,
        conditions: Vec::new(),
        machine_conditions: Vec::new(),
        rules: rules.ok(),
        malformed: None,
    });
    let checks = [check];
    let names = vouching(&checks).map(|checks| checks.iter().map(|check| check.name.clone()).collect());
    assert_eq!(names, Ok(vec!["workers".to_owned()]));
}

#[test]
fn signal_and_retry() {
    let mut machines = pool(5, 3);
    machines[4].set_ready("False", 100);
    let assessment = assessed(Dialect::OpenShift, Limit::AtMost(Amount::Percent(40)), &machines);
    assert_eq!(
        assessment.allowance.message,
        "Remediation is not allowed: 4 of 5 Machines unhealthy or not started exceeds spec.maxUnhealthy 40%"
    );
    let look = assessment.look_again.unwrap();
    assert_eq!(
        look.duration_since(now()).as_secs(),
        200,
        "at the next change, not after 1 ms"
    );
    let range = Limit::InRange { from: 1, to: 2 };
    let assessment = assessed(Dialect::ClusterApiV1Beta1, range, &machines);
    assert_eq!(
        assessment.allowance.message,
        "Remediation is not allowed: 4 of 5 Machines unhealthy or not started is outside of \
         spec.unhealthyRange [1-2]"
    );
}

#[test]
fn when_allowed() {
    for dialect in Dialect::ALL {
        let mut machines = pool(9, 3);
        machines[1].set_ready("False", 9_000);
        machines[2].node = Ok(NodeState::Gone("node".to_owned()));
        let assessment = assessed(dialect, Limit::AtMost(Amount::Machines(3)), &machines);
        assert_eq!(assessment.allowance.remediations, 0, "information, not a cap");
        let wanted = assessment.remediate();
        let names: Vec<&str> = wanted.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            ["w02", "w01", "w00"],
            "all at once; without grace first, then the longest"
        );
    }
}
