//! What holds for every limit, every Machine and every set of health checks.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::generators::{at_most, check, checks, dialect, limit, machine, machines};
use super::objects::{cluster, counts, now, rules, worker};
use crate::checker::machine_health::{MachineHealth, unsaid};
use crate::checker::pass::outcome;
use crate::facts::{Lookup, NodeCondition, Obstacle};
use crate::health::UnhealthyCondition;
use crate::health::dialect::Dialect;
use crate::health::limit::{Amount, Limit};
use crate::health::overlap::{Check, Evaluation, around, evaluate, select};
use crate::health::rules::{DEFAULT_NODE_STARTUP_TIMEOUT, Rules};
use crate::health::target::{MachineState, NodeState, Readiness, Target};
use crate::health::verdict::{Unknown, Verdict};
use crate::phase::Reason;

fn remediated(checks: &[Check], machines: &[Target]) -> BTreeSet<String> {
    let evaluation = evaluate(checks, machines, now());
    evaluation.remediate.into_iter().map(|one| one.machine).collect()
}

/// Whether a check could call a Machine unhealthy, said once more and without its order of checks. (The Machines
/// and checks are those of the generators: Cluster and infrastructure have been ready for long.)
fn is_ill(check: &Check, target: &Target, machine: &MachineState) -> bool {
    let Ok(rules) = &check.rules else { return false };
    let over = |since: Timestamp, timeout| now().duration_since(since) > timeout;
    let held = |wanted: &[UnhealthyCondition], listed: &[NodeCondition]| {
        wanted.iter().any(|wanted| {
            let mut alike = listed
                .iter()
                .filter(|one| one.kind == wanted.kind && one.status == wanted.status);
            alike.any(|one| one.since.is_some_and(|since| over(since, wanted.timeout)))
        })
    };
    let (by_machine, start) = match rules.dialect {
        Dialect::OpenShift => (false, machine.last_updated),
        Dialect::ClusterApiV1Beta1 => {
            let failure = machine.failure_reason.is_some() || machine.failure_message.is_some();
            (machine.remediate || failure, Some(machine.created))
        }
        Dialect::ClusterApiV1Beta2 => {
            let held = held(&rules.machine_conditions, &machine.conditions);
            (machine.remediate || held, Some(machine.created))
        }
    };
    let no_node = start.is_some_and(|start| over(start, DEFAULT_NODE_STARTUP_TIMEOUT));
    // Before there is a control plane nothing is asked about Nodes.
    let control_plane = check.cluster.clone().map(|cluster| cluster.control_plane);
    let is_early = rules.dialect.is_cluster_api() && control_plane == Lookup::Present(Readiness::No);
    let by_node = match &target.node {
        Ok(NodeState::Unset) => Some(no_node),
        Ok(NodeState::Gone(_)) => Some(true),
        Ok(NodeState::Present { conditions, .. }) => Some(held(&rules.node_conditions, conditions)),
        Err(_) => None,
    };
    let by_node = if is_early { Some(no_node) } else { by_node };
    rules.selector.matches(&target.labels) && by_node.is_some_and(|by_node| by_node || by_machine)
}

proptest! {
    #[test]
    fn one_more_unhealthy_allows_nothing_except_from_below_a_range(
        dialect in dialect(), limit in limit(), expected in 1_u32..40, healthy in 0_u32..40,
    ) {
        let healthy = healthy.min(expected);
        prop_assume!(healthy > 0);
        let before = limit.allowance(dialect, counts(expected, healthy));
        let after = limit.allowance(dialect, counts(expected, healthy.saturating_sub(1)));
        let below = match limit {
            Limit::InRange { from, .. } => expected.saturating_sub(healthy) < from,
            Limit::AtMost(_) => false,
        };
        prop_assert!(before.allowed || !after.allowed || below);
        prop_assert!(below || after.remediations <= before.remediations);
    }

    #[test]
    fn a_lower_limit_allows_no_more(
        dialect in dialect(), max in 0_i64..40, less in 0_i64..40, expected in 0_u32..40, healthy in 0_u32..40,
    ) {
        let healthy = healthy.min(expected);
        for amount in [Amount::Machines, Amount::Percent] {
            let generous = Limit::AtMost(amount(max)).allowance(dialect, counts(expected, healthy));
            let strict = Limit::AtMost(amount(max.saturating_sub(less))).allowance(dialect, counts(expected, healthy));
            prop_assert!(generous.allowed || !strict.allowed);
            prop_assert!(strict.remediations <= generous.remediations);
        }
    }

    #[test]
    fn counts_add_up(checks in checks(), machines in machines()) {
        for one in evaluate(&checks, &machines, now()).checks {
            let Ok((rules, assessment)) = one.assessment else { continue };
            let selected = machines.iter().filter(|one| rules.selector.matches(&one.labels)).count();
            prop_assert_eq!(assessment.machines.len(), selected);
            let skipped = assessment.machines.iter().filter(|one| matches!(one.verdict, Verdict::Skipped(_)));
            let skipped = u32::try_from(skipped.count()).unwrap();
            prop_assert_eq!(assessment.counts.expected.checked_add(skipped), u32::try_from(selected).ok());
            let not_healthy = assessment.machines.iter().filter(|one| {
                one.verdict.is_expected() && !one.verdict.counts_as_healthy()
            });
            let not_healthy = u32::try_from(not_healthy.count()).unwrap();
            prop_assert_eq!(assessment.counts.healthy.checked_add(not_healthy), Some(assessment.counts.expected));
            let wanted = u32::try_from(assessment.remediate().len()).unwrap();
            prop_assert!(wanted <= not_healthy);
            prop_assert!(wanted == 0 || assessment.allowance.allowed);
        }
    }

    #[test]
    fn the_order_of_machines_and_checks_does_not_matter(
        checks in checks(), machines in machines(), by in 0_usize..14,
    ) {
        let mut other_checks = checks.clone();
        other_checks.reverse();
        let mut other_machines = machines.clone();
        other_machines.reverse();
        let middle = by.min(machines.len());
        other_machines.rotate_left(middle);
        prop_assert_eq!(
            evaluate(&checks, &machines, now()),
            evaluate(&other_checks, &other_machines, now())
        );
    }

    /// What has no say in what comes of a check may be left out.
    #[test]
    fn a_check_is_judged_by_what_is_around_it_as_by_all(
        checks in checks(), machines in machines(), which: prop::sample::Index,
    ) {
        let name = which.get(&checks).name.clone();
        let near = around(checks.clone(), &name, machines.iter().map(|one| &one.labels));
        let selected = machines.iter().filter(|one| select(&near, &one.labels)).cloned();
        let selected: Vec<Target> = selected.collect();
        let (by_all, by_near) = (evaluate(&checks, &machines, now()), evaluate(&near, &selected, now()));
        let refusal = |machine: &str| machine.ends_with('1').then(|| Obstacle::new(Reason::HostPaused, machine));
        prop_assert_eq!(outcome(&by_near, &name, refusal), outcome(&by_all, &name, refusal));
        let stands = |_: &MachineHealth, _| false;
        prop_assert_eq!(unsaid(&by_near, &name, stands), unsaid(&by_all, &name, stands));
        let own = |evaluation: &Evaluation<'_>| {
            let found = evaluation.checks.iter().find(|one| one.check.name == name);
            found.map(|one| format!("{:?}", one.assessment))
        };
        prop_assert_eq!(own(&by_near), own(&by_all));
    }

    /// Whatever else is wrong with it: a check that wants no more than one that is there makes it no more.
    #[test]
    fn a_stricter_overlapping_check_never_allows_more(
        checks in checks(), machines in machines(), which: prop::sample::Index, strict in at_most(),
    ) {
        let before = remediated(&checks, &machines);
        let mut stricter = which.get(&checks).clone();
        "stricter".clone_into(&mut stricter.name);
        stricter.rules = stricter.rules.map(|rules| match rules.limit {
            Limit::AtMost(_) => Rules { limit: strict, ..rules },
            Limit::InRange { .. } => rules,
        });
        let mut more = checks.clone();
        more.push(stricter);
        // Where it is more generous, the other forbids what it wants.
        prop_assert!(remediated(&more, &machines).is_subset(&before));
    }

    #[test]
    fn a_paused_or_malformed_check_never_adds_anything(
        checks in checks(), machines in machines(), more in dialect().prop_flat_map(|dialect| check(dialect, 70)),
    ) {
        prop_assume!(more.paused || more.rules.is_err());
        let before = remediated(&checks, &machines);
        let mut all = checks.clone();
        all.push(Check { name: "more".to_owned(), ..more });
        prop_assert!(remediated(&all, &machines).is_subset(&before));
    }

    /// With a maximum; below a range one more may open it.
    #[test]
    fn a_machine_that_gets_worse_gets_no_other_remediated(
        dialect in dialect(), limit in at_most(), machines in machines(), worse in machine(), which: prop::sample::Index,
    ) {
        prop_assume!(!machines.is_empty());
        let check = [Check {
            name: "c".to_owned(),
            paused: false,
            rules: Ok(Rules { limit, ..rules(dialect) }),
            cluster: cluster(),
        }];
        let which = which.index(machines.len());
        let mut well = machines.clone();
        well[which] = Target { name: machines[which].name.clone(), ..worker("w") };
        let mut ill = well.clone();
        let mut worse = worse;
        // One that is skipped leaves the total, which is a change of its own.
        if let Ok(machine) = &mut worse.machine {
            (machine.paused, machine.skip_remediation) = (false, false);
        }
        ill[which] = Target { name: machines[which].name.clone(), ..worse };
        let mut after = remediated(&check, &ill);
        after.remove(&machines[which].name);
        prop_assert!(after.is_subset(&remediated(&check, &well)));
    }

    /// With any limit: what cannot be read never opens a range either.
    #[test]
    fn a_machine_that_becomes_unknown_gets_nothing_remediated(
        checks in checks(), machines in machines(), which: prop::sample::Index, of_node: bool,
    ) {
        prop_assume!(!machines.is_empty());
        let mut less = machines.clone();
        let target = &mut less[which.index(machines.len())];
        if of_node {
            target.node = Err(Unknown::NodeUnreachable("timed out".to_owned()));
        } else {
            target.machine = Err("status".to_owned());
        }
        prop_assert!(remediated(&checks, &less).is_subset(&remediated(&checks, &machines)));
    }

    #[test]
    fn what_is_remediated_is_unhealthy_and_neither_skipped_unknown_failed_deleted_nor_under_way(
        checks in checks(), machines in machines(),
    ) {
        for name in remediated(&checks, &machines) {
            let target = machines.iter().find(|target| target.name == name).unwrap();
            let machine = target.machine.as_ref().unwrap();
            prop_assert!(!machine.deleting && !machine.triggered && !target.under_remediation);
            let wanting = checks.iter().find(|check| is_ill(check, target, machine));
            let Some(check) = wanting else {
                return Err(TestCaseError::fail(format!("nothing is wrong with {target:?}")));
            };
            match check.rules.as_ref().unwrap().dialect {
                Dialect::OpenShift => prop_assert!(!machine.failed),
                Dialect::ClusterApiV1Beta1 | Dialect::ClusterApiV1Beta2 => {
                    prop_assert!(!machine.paused && !machine.skip_remediation);
                }
            }
        }
    }

    /// Nothing changes before the next look, and something does at it.
    #[test]
    fn the_next_look_is_exact(checks in checks(), machines in machines(), early in 1_u64..600_000_000_000) {
        let evaluation = evaluate(&checks, &machines, now());
        let verdicts = |time| -> Vec<String> {
            let evaluation = evaluate(&checks, &machines, time);
            let unpaused = evaluation.checks.into_iter().filter(|one| !one.check.paused);
            let assessed = unpaused.filter_map(|one| one.assessment.ok());
            assessed
                .flat_map(|(_, one)| one.machines)
                // Reasons of one that is unhealthy may be added to.
                .map(|one| match one.verdict {
                    Verdict::Unhealthy { since, .. } => format!("unhealthy since {since:?}"),
                    verdict @ (Verdict::Healthy
                    | Verdict::Skipped(_)
                    | Verdict::Waiting { .. }
                    | Verdict::Unknown(_)) => format!("{verdict:?}"),
                })
                .collect()
        };
        let today = verdicts(now());
        match evaluation.look_again {
            None => prop_assert_eq!(verdicts(now().checked_add(SignedDuration::from_hours(90)).unwrap()), today),
            Some(look) => {
                prop_assert!(look > now());
                let back = SignedDuration::from_nanos(i64::try_from(early).unwrap());
                let before = look.checked_sub(back).unwrap().max(now());
                prop_assert_eq!(verdicts(before), today.clone());
                prop_assert_ne!(verdicts(look), today);
            }
        }
    }
}
