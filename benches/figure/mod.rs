//! One figure that was measured, beside its goal and what others need: a line for people, and one for machines,
//! which `benches/run.py` gathers.

#![allow(dead_code, reason = "no bench measures every kind of figure")]

use serde_json::json;

/// What is aimed at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// One figure.
#[derive(Debug)]
pub(crate) struct Figure {
    /// What was measured, and among how many.
    pub(crate) what: String,
    pub(crate) measured: f64,
    pub(crate) unit: &'static str,
    /// None where it is told for comparison.
    pub(crate) goal: Option<Goal>,
    /// What others need for the same, and who; empty where nothing is to be compared.
    pub(crate) anchor: String,
}

impl Figure {
    pub(crate) fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            measured,
            unit,
            goal: None,
            anchor: String::new(),
        }
    }

    pub(crate) fn at_most(mut self, most: f64) -> Self {
        self.goal = Some(Goal::AtMost(most));
        self
    }

    pub(crate) fn at_least(mut self, least: f64) -> Self {
        self.goal = Some(Goal::AtLeast(least));
        self
    }

    pub(crate) fn beside(mut self, anchor: impl Into<String>) -> Self {
        self.anchor = anchor.into();
        self
    }

    /// One JSON object on one line.
    pub(crate) fn line(&self) -> String {
        let (goal, is_met) = match self.goal {
            Some(Goal::AtMost(most)) => (json!({"atMost": most}), json!(self.measured <= most)),
            Some(Goal::AtLeast(least)) => (json!({"atLeast": least}), json!(self.measured >= least)),
            None => (json!(null), json!(null)),
        };
        json!({
            "figure": self.what, "measured": self.measured, "unit": self.unit,
            "goal": goal, "met": is_met, "anchor": self.anchor,
        })
        .to_string()
    }
}
