//! One figure that was measured, beside its goal and what others need, as a line that `benches/run.py` gathers.

use serde_json::json;

/// One figure.
#[derive(Debug)]
pub(crate) struct Figure {
    /// What was measured, and among how many.
    what: String,
    measured: f64,
    unit: &'static str,
    /// The most that is aimed at. None where it is told for comparison.
    at_most: Option<f64>,
    /// What others need for the same, and who; empty where nothing is to be compared.
    anchor: String,
}

impl Figure {
    pub(crate) fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            measured,
            unit,
            at_most: None,
            anchor: String::new(),
        }
    }

    pub(crate) fn at_most(mut self, most: f64) -> Self {
        self.at_most = Some(most);
        self
    }

    pub(crate) fn beside(mut self, anchor: impl Into<String>) -> Self {
        self.anchor = anchor.into();
        self
    }

    /// One JSON object on one line.
    pub(crate) fn line(&self) -> String {
        json!({
            "figure": self.what, "measured": self.measured, "unit": self.unit,
            "atMost": self.at_most, "others": self.anchor,
        })
        .to_string()
    }
}
