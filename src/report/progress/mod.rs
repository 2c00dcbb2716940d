//! Metrics of remediations and of what limits them.

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::brakes::{Figure, Told};
use remediator_core::journal::Journal;
use remediator_core::phase::Reason;

use crate::report::Reporter;

impl Reporter {
    /// Measures the phase that a journal write has ended, and counts a remediation that is over by it. One write does
    /// that, so a process that comes next tells nothing again.
    pub(super) fn measure(&self, remediation: &PowerCycleRemediation, before: &Journal, after: &Journal) {
        if before.phase == after.phase {
            return;
        }
        let created = remediation.creation_timestamp().map(|time| time.0);
        if let (Some(began), Some(ended)) = (before.phase_started.or(created), after.phase_started) {
            let seconds = ended.duration_since(began).as_secs_f64().max(0.0);
            let label = [("phase", before.phase.as_str())];
            self.metrics.phase_duration.get_or_create(&label).observe(seconds);
        }
        if after.phase.is_final() {
            // Of a later version of ours, perhaps.
            let reason = Reason::named(&after.reason).map_or("Unknown", Reason::as_str);
            let labels = [("outcome", after.phase.as_str()), ("reason", reason)];
            self.metrics.finished.get_or_create(&labels).inc();
        }
    }

    /// Notes what is used of the limits.
    pub fn limits_are(&self, told: &Told) {
        for (limit, Figure { used, allowed }) in [
            ("maxConcurrent", told.at_once),
            ("maxPerWindow", told.in_window),
            ("maxUnhealthy", told.unhealthy),
            ("maxFailed", told.failed),
        ] {
            let label = [("limit", limit)];
            let number = |value| i64::try_from(value).unwrap_or(i64::MAX);
            self.metrics.limit_used.get_or_create(&label).set(number(used));
            self.metrics
                .limit_allowed
                .get_or_create(&label)
                .set(number(allowed));
        }
    }

    /// Notes why nothing may begin, if something holds it up.
    pub fn held_up_by(&self, why: Option<Reason>) {
        let can_be = |reason: &&Reason| reason.is_brake() || **reason == Reason::PolicyPaused;
        for reason in Reason::ALL.iter().filter(can_be) {
            let gauge = self.metrics.held_up.get_or_create(&[("reason", reason.as_str())]);
            gauge.set(i64::from(why == Some(*reason)));
        }
    }
}

#[cfg(test)]
mod tests;
