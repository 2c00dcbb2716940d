//! The plans of a scenario: which of them are run, many at once, and what is told of them.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use harness::Cluster;

use world::fault::{Fault, What};
use world::front::views::View;

use super::plans::{Plan, changes};
use super::run::{Outcome, Setup, run};
use super::scenario::Scenario;

/// One plan, which is run alone.
const PLAN: &str = "FAULT_PLAN";
/// The only scenario that is run.
const SCENARIO: &str = "FAULT_SCENARIO";
/// `1/1` is all, `2/5` the second fifth.
const PART: &str = "FAULT_PART";

fn set(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Whether somebody has asked for more than the share that is always run.
pub(super) fn is_whole() -> bool {
    set(PART).is_some()
}

/// Whether plans of this scenario are run.
pub(super) fn is_wanted(scenario: Scenario) -> Result<bool> {
    let of_plan = set(PLAN).map(|plan| plan.parse::<Plan>()).transpose()?;
    let only = set(SCENARIO).map(|only| only.parse()).transpose()?;
    let only = of_plan.map(|plan| plan.scenario).or(only);
    Ok(only.is_none_or(|only| only == scenario))
}

/// One of so many parts of the plans: every so-manieth, beginning with this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selection {
    first: usize,
    of: usize,
}

impl Selection {
    /// One of so many, or what the environment says.
    pub(super) fn one_of(of: usize) -> Result<Self> {
        let Some(part) = set(PART) else {
            return Ok(Self { first: 0, of });
        };
        let (first, of) = part.split_once('/').context("FAULT_PART is like 2/5")?;
        let (first, of): (usize, usize) = (first.parse()?, of.parse()?);
        ensure!((1..=of).contains(&first), "FAULT_PART is like 2/5");
        let first = first.saturating_sub(1);
        Ok(Self { first, of })
    }

    /// All where somebody has asked for more than the share that is always run: the part is one of the first crashes.
    pub(super) fn upon(of: usize) -> Self {
        let of = if set(PART).is_some() { 1 } else { of };
        Self { first: 0, of }
    }

    fn of(self, plans: Vec<Plan>) -> Vec<Plan> {
        plans.into_iter().skip(self.first).step_by(self.of).collect()
    }
}

/// Which plans of a scenario are run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// Of the crashes after a change.
    pub(super) crashes: Selection,
    /// Of the crashes of the successor upon those, if any.
    pub(super) second: Option<Selection>,
    /// Of the other faults: one of each of these kinds.
    pub(super) others: &'static [What],
}

/// What happens to calls besides crashes, and to what is watched.
pub(super) static KINDS: [What; 6] = [
    What::See(View::Held),
    What::Freeze,
    What::See(View::Merged),
    What::Drop,
    What::See(View::Lost),
    What::Delay,
];

/// Those of the other faults that are always run: in the middle of what the daemon does, where most is at stake.
fn one_of_each(kinds: &[What], plans: Vec<Plan>) -> Result<Vec<Plan>> {
    if is_whole() {
        return Ok(Selection::one_of(1)?.of(plans));
    }
    let of = |kind: &What| {
        let is_of = |plan: &&Plan| plan.faults.iter().all(|fault| fault.what == *kind);
        let all: Vec<&Plan> = plans.iter().filter(is_of).collect();
        let middle = all.get(all.len() / 2).copied();
        middle.cloned().with_context(|| format!("no plan has {kind:?}"))
    };
    kinds.iter().map(of).collect()
}

/// Plans that were run, with what came of each.
type Done = Vec<(Plan, Result<Outcome>)>;

/// Runs plans of a scenario.
pub(super) async fn run_scenario(scenario: Scenario, cluster: &Cluster, shares: Shares) -> Result<()> {
    let (setup, began) = (Setup::new(cluster, scenario).await?, Instant::now());
    if let Some(plan) = set(PLAN) {
        return judge(&run_all(&setup, vec![plan.parse()?]).await);
    }
    let learnt = Plan::none(scenario);
    let Outcome { calls, .. } = Box::pin(run(&setup, &learnt)).await.context("without a fault")?;
    let calls = calls.first().context("there was no daemon")?;
    let mut plans = learnt.singles(calls);
    let boundaries: Vec<Plan> = plans.extract_if(.., |plan| plan.is_boundary()).collect();
    let (all_boundaries, all_others) = (boundaries.len(), plans.len());
    let crashes = run_all(&setup, shares.crashes.of(boundaries));
    let others = run_all(&setup, one_of_each(shares.others, plans)?);
    let (mut done, others) = tokio::join!(crashes, others);
    let crashes = done.len();
    let upon = pairs_after(&done);
    let all_upon = upon.len();
    let second = shares.second.map(|second| second.of(upon)).unwrap_or_default();
    let pairs = second.len();
    done.extend(run_all(&setup, second).await);
    tell(&format!(
        "{scenario}: {} calls; {crashes} of {all_boundaries} crashes after a change, {pairs} of {all_upon} crashes upon \
         them, {} of {all_others} other faults; {} s",
        calls.len(),
        others.len(),
        began.elapsed().as_secs()
    ));
    done.extend(others);
    judge(&done)
}

/// Every second crash upon the crashes that were run.
fn pairs_after(done: &Done) -> Vec<Plan> {
    done.iter()
        .filter_map(|(plan, outcome)| Some(plan.crashes_upon(outcome.as_ref().ok()?.calls.get(1)?)))
        .flatten()
        .collect()
}

async fn run_all(setup: &Setup, plans: Vec<Plan>) -> Done {
    let done = plans.into_iter().map(async |plan| {
        let mut outcome = Box::pin(run(setup, &plan)).await;
        if outcome.as_ref().is_ok_and(has_missed) {
            outcome = Box::pin(run(setup, &plan)).await;
        }
        if let Err(error) = &outcome {
            tell(&format!("FAILED {plan}: {error:#}"));
        }
        (plan, outcome)
    });
    futures::future::join_all(done).await
}

#[allow(
    clippy::print_stdout,
    reason = "whoever runs all plans reads how far they are"
)]
fn tell(text: &str) {
    println!("{text}");
}

/// Whether a fault that never came is no failure: at a read or a repetition, for what is read when, and how often,
/// depends on how busy the machine is; where it is told what is waited for, which may be there already; and at a logout,
/// which is ordered with nothing, and over IPMI the only request of Booting beside reads.
fn may_stay_away(fault: &Fault) -> bool {
    let call = &fault.call;
    let may_be_spared = [
        "Pending/journal-Pending#",
        "/bmc-delete-session#",
        "Booting/bmc-request#",
    ];
    !call.ends_with("#1") || !changes(call) || may_be_spared.iter().any(|spared| call.contains(spared))
}

/// Whether its fault never came, although that is of what the daemon does: where a machine is busy, phases may be gone
/// through in another order than they were learnt in. It is run once more then.
fn has_missed(outcome: &Outcome) -> bool {
    outcome.unmet.as_ref().is_some_and(|fault| !may_stay_away(fault))
}

/// Fails by every plan that did, or whose fault never came.
fn judge(done: &Done) -> Result<()> {
    let (mut failed, mut away) = (String::new(), 0_usize);
    for (plan, outcome) in done {
        match outcome {
            Err(error) => writeln!(failed, "{plan}\n    {error:#}")?,
            Ok(outcome) => match &outcome.unmet {
                Some(fault) if has_missed(outcome) => {
                    writeln!(failed, "{plan}\n    {fault} never came")?;
                }
                Some(fault) => {
                    away = away.saturating_add(1);
                    tell(&format!("{plan}: {fault} never came"));
                }
                None => {}
            },
        }
    }
    tell(&format!(
        "{away} of {} plans had a fault that never came",
        done.len()
    ));
    // Few may; where many do, the plans are not of what the daemon does.
    ensure!(
        away <= done.len().div_ceil(10),
        "{away} of {} plans had a fault that never came; see above which",
        done.len()
    );
    ensure!(
        failed.is_empty(),
        "these plans failed; run one again alone with make fault-matrix PLAN='...':\n{failed}"
    );
    Ok(())
}
