//! Plans: which faults happen in which scenario, as one line that can be run again.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use world::fault::{Fault, What, When};

use super::scenario::Scenario;

/// For how long a write whose answer nobody got may still be carried out (kube-apiserver, `--request-timeout`).
const MAY_ARRIVE: Duration = Duration::from_mins(1);

/// Its text is the scenario and its faults, with spaces between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) scenario: Scenario,
    /// The second one is met after the first, by the daemon that runs then.
    pub(super) faults: Vec<Fault>,
}

impl Plan {
    pub(super) fn none(scenario: Scenario) -> Self {
        Self {
            scenario,
            faults: Vec::new(),
        }
    }

    /// The same, and then this.
    fn and(&self, fault: Fault) -> Self {
        let mut plan = self.clone();
        plan.faults.push(fault);
        plan
    }

    /// Every fault at every one of these calls. Reads of the API server are not frozen at nor delayed, and what is
    /// watched stands still from calls on that change something.
    pub(super) fn singles(&self, calls: &[String]) -> Vec<Self> {
        let mut plans = Vec::new();
        for call in calls {
            for (what, when) in kinds() {
                let is_worth_it = match what {
                    What::Kill | What::Drop => true,
                    What::Freeze | What::Delay => changes(call) || call.contains("/bmc-"),
                    What::See(_) => changes(call),
                };
                if what.can_be(when) && is_worth_it {
                    plans.push(self.and(fault(what, when, call)));
                }
            }
        }
        plans
    }

    /// After this crash another one at every boundary of the successor: after each of its calls that changes
    /// something. What it reads between them leaves the world as it is.
    pub(super) fn crashes_upon(&self, calls: &[String]) -> Vec<Self> {
        let boundaries = calls.iter().filter(|call| changes(call));
        let plans = boundaries.map(|call| self.and(fault(What::Kill, When::During, call)));
        plans.collect()
    }

    /// How long it may take. A crash that leaves it open whether a hold is on its way to the API server costs the minute
    /// in which that may arrive.
    pub(super) fn takes(&self) -> Duration {
        let hides_a_hold = |fault: &Fault| {
            let is_sent =
                fault.call.contains("/journal-Holding#") || fault.call.starts_with("Holding/patch-");
            fault.what == What::Kill && is_sent
        };
        if self.faults.iter().any(hides_a_hold) {
            self.scenario.takes().saturating_add(MAY_ARRIVE)
        } else {
            self.scenario.takes()
        }
    }

    /// Whether it is a crash at a boundary, upon which another crash is a plan of its own.
    pub(super) fn is_boundary(&self) -> bool {
        let is =
            |fault: &Fault| (fault.what, fault.when) == (What::Kill, When::During) && changes(&fault.call);
        matches!(&self.faults[..], [one] if is(one))
    }
}

fn kinds() -> impl Iterator<Item = (What, When)> {
    What::ALL
        .into_iter()
        .flat_map(|what| When::ALL.map(|when| (what, when)))
}

fn fault(what: What, when: When, call: &str) -> Fault {
    Fault {
        what,
        when,
        call: call.to_owned(),
    }
}

/// Whether a call changes anything that outlives the daemon.
pub(super) fn changes(call: &str) -> bool {
    !call.contains("/get-") && !call.contains("/bmc-get-")
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.scenario)?;
        self.faults.iter().try_for_each(|fault| write!(out, " {fault}"))
    }
}

impl FromStr for Plan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split_whitespace();
        let scenario = words.next().context("a plan begins with its scenario")?.parse()?;
        let faults = words.map(str::parse).collect::<Result<_>>()?;
        Ok(Self { scenario, faults })
    }
}
