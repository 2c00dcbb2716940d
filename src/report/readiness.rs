//! Events when it changes whether a remediation of a host would work, and metrics.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use remediator_core::readiness::schedule::HostKey;

use crate::report::Reporter;
use crate::report::metrics::host_labels;

/// How a host stood before a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadinessState {
    /// Nobody knew.
    Unknown,
    /// Ready.
    Ready,
    /// Not ready, by this reason.
    NotReady(String),
}

impl ReadinessState {
    /// As a condition says it.
    pub fn of(status: &str, reason: &str) -> Self {
        match status {
            "True" => Self::Ready,
            "False" => Self::NotReady(reason.to_owned()),
            _ => Self::Unknown,
        }
    }
}

/// A check of one host that found something out.
#[derive(Clone, Debug)]
pub struct HostCheck {
    /// The host.
    pub host: HostKey,
    /// The object that people look at: the Machine, or what stands for it.
    pub regarding: ObjectReference,
    /// How it stood before.
    pub before: ReadinessState,
    /// What was found.
    pub verdict: Result<String, Obstacle>,
    /// When the certificate of the BMC expires, if it has one and that is known.
    pub certificate_expiry: Option<Timestamp>,
    /// How long the check took.
    pub took: Duration,
}

impl HostCheck {
    fn reason(&self) -> Reason {
        let verdict = self.verdict.as_ref();
        verdict.map_or_else(|obstacle| obstacle.reason, |_| Reason::BmcReady)
    }
}

impl Reporter {
    /// Counts and measures a check.
    pub fn host_checked(&self, check: &HostCheck) {
        let metrics = &self.metrics;
        let result = [("result", check.reason().as_str())];
        metrics.checks.get_or_create(&result).inc();
        metrics.check_duration.observe(check.took.as_secs_f64());
        self.host_stands(&check.host, check.verdict.is_ok());
        let (labels, expiries) = (host_labels(&check.host), &metrics.certificate_expiry);
        if let Some(expiry) = check.certificate_expiry {
            expiries.get_or_create(&labels).set(expiry.as_second());
        } else if check.verdict.is_ok() {
            // While the BMC cannot be asked, what an earlier check saw stays.
            expiries.remove(&labels);
        }
    }

    /// Tells people of a check that found something else than the one before.
    pub async fn tell_of_host(&self, check: &HostCheck) {
        let host = format!("{}/{}", check.host.kind.as_str(), check.host.name);
        let object = format!("{}/{}", check.host.namespace, check.host.name);
        let reason = check.reason().as_str();
        let (kind, note) = match (&check.verdict, &check.before) {
            (Ok(_), ReadinessState::Ready | ReadinessState::Unknown) => return,
            (Err(_), ReadinessState::NotReady(before)) if *before == reason => return,
            (Ok(seen), ReadinessState::NotReady(_)) => {
                tracing::info!(%object, reason, "{host} is ready again: {seen}");
                let note = format!("{host}: a remediation would work again: {seen}");
                (EventType::Normal, note)
            }
            (
                Err(obstacle),
                ReadinessState::Ready | ReadinessState::Unknown | ReadinessState::NotReady(_),
            ) => {
                let said = obstacle.for_people();
                tracing::warn!(%object, reason, "{host} is not ready: {said}");
                let works = obstacle.reason == Reason::BmcOnlyOverIpmi;
                let verdict = if works {
                    ""
                } else {
                    "a remediation would not work: "
                };
                (EventType::Warning, format!("{host}: {verdict}{said}"))
            }
        };
        self.publish(kind, reason, &note, "Check", &check.regarding, None)
            .await;
    }

    /// Notes how a host stands, without a check.
    pub fn host_stands(&self, host: &HostKey, ready: bool) {
        let gauge = self.metrics.ready.get_or_create(&host_labels(host));
        gauge.set(i64::from(ready));
    }

    /// Nothing more is known of a host.
    pub fn host_gone(&self, host: &HostKey) {
        let labels = host_labels(host);
        self.metrics.ready.remove(&labels);
        self.metrics.certificate_expiry.remove(&labels);
    }
}
