//! Events about health checks, by the names that machine-api-operator established, and their metrics.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType as KubeEventType;
use remediator_core::checker::activation::Activation;
use remediator_core::checker::events::{Event, EventType};
use remediator_core::health::assess::Assessment;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::report::Reporter;
use crate::report::metrics::{CheckLabels, Metrics};

impl Reporter {
    /// Publishes an event about something that a pass over a health check found.
    pub async fn health_check_event(&self, regarding: &ObjectReference, event: &Event) {
        let kind = regarding.kind.as_deref().unwrap_or_default();
        let name = regarding.name.as_deref().unwrap_or_default();
        let namespace = regarding.namespace.as_deref().unwrap_or_default();
        let object = format!("{kind} {namespace}/{name}");
        let kind = match event.kind {
            EventType::Normal => {
                tracing::info!(%object, reason = event.reason, "{}", event.note);
                KubeEventType::Normal
            }
            EventType::Warning => {
                tracing::warn!(%object, reason = event.reason, "{}", event.note);
                KubeEventType::Warning
            }
        };
        let (reason, note) = (event.reason, &event.note);
        self.publish(kind, reason, note, "HealthCheck", regarding, None)
            .await;
    }

    /// Notes the numbers of a health check, of namespace and name; none for one that selects nothing.
    pub fn check_numbers(&self, check: &(String, String), assessment: Option<&Assessment>) {
        let labels = labels(check);
        let Metrics {
            nodes_covered: covered,
            short_circuit: stopped,
            ..
        } = &self.metrics;
        if let Some(assessment) = assessment {
            covered
                .get_or_create(&labels)
                .set(i64::from(assessment.counts.expected));
            stopped
                .get_or_create(&labels)
                .set(i64::from(assessment.is_short_circuited()));
        } else {
            covered.remove(&labels);
            stopped.remove(&labels);
        }
    }

    /// Counts remediations of a health check's Machines that have succeeded.
    pub fn check_succeeded(&self, check: &(String, String), remediations: usize) {
        let by = u64::try_from(remediations).unwrap_or(u64::MAX);
        let family = &self.metrics.remediation_success;
        family.get_or_create(&labels(check)).inc_by(by);
    }

    /// Nothing more is known of a health check.
    pub fn check_gone(&self, check: &(String, String)) {
        self.check_numbers(check, None);
        self.metrics.remediation_success.remove(&labels(check));
    }

    /// Reports that our health checker is active, or is not any more.
    pub fn health_checker_stands(&self, api: MachineApi, standing: &Activation) {
        let group = api.group();
        let gauge = self.metrics.standing_in.get_or_create(&[("api", group)]);
        gauge.set(i64::from(standing.is_active()));
        match standing {
            Activation::Active(why) | Activation::Alongside(why) => {
                let reason = Reason::StandingIn.as_str();
                tracing::info!(group, reason, "evaluating MachineHealthChecks: {why}");
            }
            Activation::Inactive(obstacle) => {
                tracing::info!(
                    group,
                    reason = obstacle.reason.as_str(),
                    "not evaluating MachineHealthChecks: {}",
                    obstacle.for_people()
                );
            }
        }
    }

    /// Notes how many health checks of each kind ask for power cycles in vain.
    pub fn unserved(&self, kinds: [(&'static str, usize); 2]) {
        for (kind, number) in kinds {
            let gauge = self.metrics.unserved.get_or_create(&[("kind", kind)]);
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }
}

fn labels((namespace, name): &(String, String)) -> CheckLabels {
    [("name", name.clone()), ("namespace", namespace.clone())]
}
