//! What one health check says, as it is shown.

use jiff::Timestamp;
use remediator_core::health::assess::{Assessment, Stopped};
use remediator_core::health::dialect::Dialect;
use remediator_core::health::overlap::Assessed;
use remediator_core::health::verdict::Verdict;
use serde::Serialize;

use crate::cli::plan::decision::Asks;
use crate::cli::plan::evaluators::EvaluatedBy;
use crate::cli::plan::templates::KIND;

/// What one health check says of a Machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckReport {
    pub(super) check: String,
    /// Kind and name of the template that it makes requests from; none where it asks for the trigger.
    pub(super) template: Option<String>,
    pub(super) evaluated_by: EvaluatedBy,
    /// `Healthy`, `Waiting`, `Unhealthy`, `Unknown` or `Skipped`.
    pub(super) verdict: &'static str,
    pub(super) why: Option<String>,
    /// When the verdict will be another one if nothing changes.
    pub(super) until: Option<Timestamp>,
    /// What its limit says.
    pub(super) limit: String,
}

/// What a MachineHealthCheck says of a Machine; nothing where it does not select it.
pub(super) fn check_report(
    assessed: &Assessed<'_>,
    machine: &str,
    evaluated_by: &EvaluatedBy,
    asks: &Asks,
) -> Option<CheckReport> {
    let said = CheckReport {
        check: assessed.check.name.clone(),
        template: template(asks),
        evaluated_by: evaluated_by.clone(),
        verdict: "Unknown",
        why: None,
        until: None,
        limit: String::new(),
    };
    let (rules, assessment) = match &assessed.assessment {
        Ok(assessed) => assessed,
        // It selects nothing, and a person ought to know.
        Err(malformed) => {
            return Some(CheckReport {
                why: Some(malformed.to_string()),
                ..said
            });
        }
    };
    let judged = assessment.machines.iter().find(|one| one.name == machine)?;
    let (verdict, why) = verdict(&judged.verdict, rules.dialect);
    Some(CheckReport {
        verdict,
        why,
        until: judged.verdict.until(),
        limit: limit(assessment),
        ..said
    })
}

/// Kind and name of the template of a check.
fn template(asks: &Asks) -> Option<String> {
    match asks {
        Asks::Trigger => None,
        Asks::Request { template, .. } => Some(format!("{KIND} {template}")),
        Asks::Another(template) => Some(template.clone()),
    }
}

/// What the limit of a check says, or what else stops it.
pub(super) fn limit(assessment: &Assessment) -> String {
    match &assessment.stopped {
        Some(Stopped::CheckPaused) => "it is paused".to_owned(),
        Some(Stopped::ClusterPaused) => "its Cluster is paused".to_owned(),
        Some(Stopped::ClusterUnreadable(detail)) => detail.clone(),
        Some(Stopped::TooManyUnhealthy) | None => assessment.allowance.message.clone(),
    }
}

/// A verdict, and why.
fn verdict(verdict: &Verdict, dialect: Dialect) -> (&'static str, Option<String>) {
    match verdict {
        Verdict::Healthy => ("Healthy", None),
        Verdict::Skipped(why) => ("Skipped", Some(format!("{why:?}"))),
        Verdict::Waiting { why, .. } => ("Waiting", Some(format!("{why:?}"))),
        Verdict::Unhealthy { reason, message, .. } => {
            let name = reason.name(dialect);
            ("Unhealthy", Some(format!("{name}: {message}")))
        }
        Verdict::Unknown(unknown) => ("Unknown", Some(unknown.detail().to_owned())),
    }
}
