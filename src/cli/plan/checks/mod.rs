//! What the MachineHealthChecks say of each Machine.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediationTemplate;
use remediator_api::guarded::Guarded;
use remediator_api::views::MachineHealthCheck;
use remediator_core::checker::evaluator::{self, Evaluator};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::health::assess::{AssessedMachine, Assessment, Exempt, Stopped};
use remediator_core::health::dialect::Dialect;
use remediator_core::health::overlap::{Check, Evaluation, evaluate};
use remediator_core::health::rules::{Malformed, Rules};
use remediator_core::health::verdict::{Unknown, Verdict};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;
use serde::Serialize;

use crate::cli::plan::decision::{Asks, Opinion, Remediation, Says, standing};
use crate::cli::plan::evaluators::EvaluatedBy;
use crate::cli::plan::snapshot::PlanSnapshot;
use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::{CheckKey, check_inputs};
use crate::watch::caches::Caches;
use crate::watch::machine_key::MachineKey;
use crate::watch::{caches, lookup};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckReport {
    pub(super) check: String,
    /// The template that it makes requests from; none where it asks for the trigger.
    pub(super) template: Option<String>,
    pub(super) evaluated_by: EvaluatedBy,
    /// `Healthy`, `Waiting`, `Unhealthy`, `Unknown` or `Skipped`.
    pub(super) verdict: &'static str,
    pub(super) why: Option<String>,
    /// When the verdict will be another one if nothing changes.
    pub(super) until: Option<Timestamp>,
    /// What its limit says, or what else stops it.
    pub(super) limit: String,
}

/// By Machine, what the checks say that select it, as it is shown and as it counts.
pub(super) type Reports = BTreeMap<MachineKey, Vec<(CheckReport, Opinion)>>;

/// What every check says that asks for remediations.
pub(super) fn reports(snapshot: &PlanSnapshot) -> Reports {
    let sources = &snapshot.sources;
    let mut reports = Reports::new();
    for api in MachineApi::ALL {
        for guarded in sources.caches.of(api).health_checks.all() {
            let Some((listed, check)) = Listed::of(snapshot, api, &guarded) else {
                continue;
            };
            let near = NamespaceSnapshot::of(&sources.caches, &listed.key);
            let targets = near.targets(&sources.clusters);
            // Ours regards the limits of all its checks, others those of each for itself.
            let checks = if listed.is_for_ours() {
                near.checks(&sources.caches)
            } else {
                vec![check]
            };
            let evaluation = evaluate(&checks, &targets, sources.clock.now());
            for target in targets.iter().map(|target| target.name.as_str()) {
                let machine = MachineKey {
                    api: Some(api),
                    namespace: listed.key.namespace.clone(),
                    name: target.to_owned(),
                };
                let report = listed.report(&sources.caches, &evaluation, target);
                reports.entry(machine).or_default().extend(report);
            }
        }
    }
    reports
}

/// A check that asks for remediations, and who evaluates it.
struct Listed {
    key: CheckKey,
    asks: Asks,
    template: Option<String>,
    evaluator: Evaluator,
    evaluated_by: EvaluatedBy,
}

impl Listed {
    /// Of one that cannot be read nobody knows what it asks for.
    fn of(
        snapshot: &PlanSnapshot,
        api: MachineApi,
        guarded: &Guarded<MachineHealthCheck>,
    ) -> Option<(Self, Check)> {
        let caches = &snapshot.sources.caches;
        let cluster = check_inputs::cluster_of(guarded).map_or(Lookup::Absent, |key| {
            lookup::cluster(caches, &key).map(|cluster| cluster.state)
        });
        let asks_for_any = |check: &MachineHealthCheck| {
            check.asks_for_power_cycles() || check.spec.remediation_template.is_some()
        };
        let check = check_inputs::check(guarded, asks_for_any, cluster)?;
        let namespace = guarded.namespace().unwrap_or_default();
        let readable = guarded.0.as_ref().ok();
        let named = readable.and_then(|check| Some((check, check.spec.remediation_template.as_ref()?)));
        let template = named.map(|(_, named)| format!("{} {namespace}/{}", named.kind, named.name));
        let (asks, how) = match (named, &template) {
            (Some((check, named)), _) if check.asks_by_template() => {
                let template = usable_template(caches, &namespace, &named.name);
                (Asks::Request(template.map(Box::new)), evaluator::Asks::ByTemplate)
            }
            (_, Some(template)) => (Asks::Another(template.clone()), evaluator::Asks::ByTemplate),
            (_, None) => (Asks::Trigger, evaluator::Asks::ByAnnotation),
        };
        let (evaluator, evaluated_by) = snapshot.evaluators.of_check(api, how);
        let name = guarded.name_any();
        let listed = Self {
            key: CheckKey { api, namespace, name },
            asks,
            template,
            evaluator,
            evaluated_by,
        };
        Some((listed, check))
    }

    /// Whether our health checker evaluates it, or would.
    fn is_for_ours(&self) -> bool {
        match &self.evaluator {
            Evaluator::Ours(_) | Evaluator::Nobody(_) | Evaluator::Unknown(_) => {
                matches!(self.asks, Asks::Trigger)
            }
            Evaluator::Platform
            | Evaluator::Both
            | Evaluator::NodeHealthCheckOperator
            | Evaluator::Stranger => false,
        }
    }

    /// What it says of a Machine; nothing where it does not select it. A malformed one selects nothing, and is shown
    /// all the same.
    fn report(
        &self,
        caches: &Caches,
        evaluation: &Evaluation<'_>,
        machine: &str,
    ) -> Option<(CheckReport, Opinion)> {
        let (mut checks, name) = (evaluation.checks.iter(), &self.key.name);
        let assessed = checks.find(|one| one.check.name == *name)?;
        let (verdict, why, until, limit, says) = match &assessed.assessment {
            Err(malformed) => (
                "Unknown",
                Some(malformed.to_string()),
                None,
                String::new(),
                Says::Nothing,
            ),
            Ok((_, assessment)) => {
                let judged = assessment.machines.iter().find(|one| one.name == machine)?;
                let (verdict, why) = verdict(&judged.verdict, &assessed.check.rules);
                let limit = limit(assessment);
                let says = match &assessment.stopped {
                    Some(_) if judged.verdict.is_unhealthy() => Says::Not(self.forbidden(&limit)),
                    Some(_) | None => self.says(caches, evaluation, judged),
                };
                (verdict, why, judged.verdict.until(), limit, says)
            }
        };
        let report = CheckReport {
            check: self.key.name.clone(),
            template: self.template.clone(),
            evaluated_by: self.evaluated_by.clone(),
            verdict,
            why,
            until,
            limit,
        };
        let opinion = Opinion {
            check: self.called(),
            asks: self.asks.clone(),
            evaluator: self.evaluator.clone(),
            says,
        };
        Some((report, opinion))
    }

    /// What its verdict comes to while nothing stops it.
    fn says(&self, caches: &Caches, evaluation: &Evaluation<'_>, judged: &AssessedMachine) -> Says {
        match judged.verdict {
            Verdict::Healthy | Verdict::Skipped(_) | Verdict::Unknown(_) => return Says::Nothing,
            Verdict::Waiting { until, .. } => return until.map_or(Says::Nothing, Says::Later),
            Verdict::Unhealthy { .. } => {}
        }
        match (&self.asks, judged.exempt.and_then(|exempt| self.heeds(exempt))) {
            (_, Some(why)) => Says::Not(Remediation::new("NotNeeded", why)),
            (Asks::Trigger, None) => {
                let mut forbidden = evaluation.forbidden.iter();
                let forbidden = forbidden.find(|one| one.wanted.machine == judged.name);
                forbidden.map_or(Says::Wanted, |by| {
                    let why = format!("MachineHealthCheck {} does not let it be: {}", by.check, by.why);
                    Says::Not(self.forbidden(&why))
                })
            }
            // A request has the name of its Machine.
            (Asks::Request(_), None) => {
                let ended = caches::find(&caches.remediations, Some(&self.key.namespace), &judged.name);
                let ended = ended.as_ref().and_then(|one| one.0.as_ref().ok());
                ended.map_or(Says::Wanted, |ended| Says::Ended(standing(ended)))
            }
            (Asks::Another(_), None) => Says::Wanted,
        }
    }

    /// Why whoever evaluates the check leaves an unhealthy Machine alone. A request is made whatever the Machine is
    /// otherwise.
    ///
    /// Sources: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`, `remediate`;
    /// cluster-api `core/reconcilers/machinehealthcheck/`, `patchUnhealthyTargets`; medik8s/node-healthcheck-operator
    /// `internal/controller/machinehealthcheck_controller.go`.
    fn heeds(&self, exempt: Exempt) -> Option<&'static str> {
        let is_by_trigger = matches!(self.asks, Asks::Trigger);
        match exempt {
            Exempt::UnderRemediation => Some("a remediation is under way"),
            Exempt::Deleting if is_by_trigger || self.evaluator == Evaluator::NodeHealthCheckOperator => {
                Some("it is being deleted")
            }
            Exempt::PhaseFailed if is_by_trigger => {
                Some("it is in phase Failed, to which the answer is its deletion")
            }
            Exempt::Triggered if is_by_trigger => Some("the trigger is there already"),
            Exempt::Deleting | Exempt::PhaseFailed | Exempt::Triggered => None,
        }
    }

    fn forbidden(&self, why: &str) -> Remediation {
        Remediation::new("Forbidden", format!("{}: {why}", self.called()))
    }

    fn called(&self) -> String {
        format!("MachineHealthCheck {}", self.key.name)
    }
}

/// The template of ours of a name, if requests can be made from it.
pub(super) fn usable_template(
    caches: &Caches,
    namespace: &str,
    name: &str,
) -> Result<PowerCycleRemediationTemplate, Remediation> {
    let called = format!("PowerCycleRemediationTemplate {namespace}/{name}");
    let Some(found) = caches::find(&caches.templates, Some(namespace), name) else {
        let why =
            format!("{called} does not exist, so no request can be made from it. Create it, or name another");
        return Err(Remediation::new("TemplateNotFound", why));
    };
    let validated = match &found.0 {
        Ok(template) => template.spec.validated().map(|_| template.clone()),
        Err(invalid) => Err(Obstacle::new(Reason::SpecInvalid, &invalid.error)),
    };
    validated.map_err(|wrong| {
        let wrong = wrong.detail;
        let why = format!("no request can be made from {called}: {wrong}. Correct the field that is named");
        Remediation::new("TemplateInvalid", why)
    })
}

fn limit(assessment: &Assessment) -> String {
    match &assessment.stopped {
        Some(Stopped::CheckPaused) => "it is paused".to_owned(),
        Some(Stopped::ClusterPaused) => "its Cluster is paused".to_owned(),
        Some(Stopped::ClusterUnreadable(detail)) => detail.clone(),
        Some(Stopped::TooManyUnhealthy) | None => assessment.allowance.message.clone(),
    }
}

fn verdict(verdict: &Verdict, rules: &Result<Rules, Malformed>) -> (&'static str, Option<String>) {
    let dialect = rules.as_ref().map_or(Dialect::OpenShift, |rules| rules.dialect);
    match verdict {
        Verdict::Healthy => ("Healthy", None),
        Verdict::Skipped(why) => ("Skipped", Some(format!("{why:?}"))),
        Verdict::Waiting { why, .. } => ("Waiting", Some(format!("{why:?}"))),
        Verdict::Unhealthy { reason, message, .. } => {
            ("Unhealthy", Some(format!("{}: {message}", reason.name(dialect))))
        }
        Verdict::Unknown(
            Unknown::Machine(why)
            | Unknown::Node(why)
            | Unknown::NodeUnreachable(why)
            | Unknown::Cluster(why),
        ) => ("Unknown", Some(why.clone())),
    }
}
