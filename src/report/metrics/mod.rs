//! What is counted and measured, for Prometheus.
//!
//! Names and units: <https://prometheus.io/docs/practices/naming/>. Labels are bounded: by the hosts that
//! are there, and by closed sets.

mod collected;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};
use remediator_core::readiness::schedule::HostKey;

pub use self::collected::Number;
use self::collected::{Collected, Read};

const PREFIX: &str = "baremetal_remediator";

/// Upper bounds for the durations of checks, in seconds. A check takes some tenths of a second; its deadline
/// is around a minute.
const CHECK_SECONDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Upper bounds for the durations of phases, in seconds: a power-off takes some, a boot minutes, and what waits for a
/// person or for a limit hours.
const PHASE_SECONDS: [f64; 12] = [
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0,
];

fn phase_seconds() -> Histogram {
    Histogram::new(PHASE_SECONDS)
}

type HostLabels = [(&'static str, String); 2];
type OneLabel = [(&'static str, &'static str); 1];
type TwoLabels = [(&'static str, &'static str); 2];
/// Name and namespace of a health check.
pub(super) type CheckLabels = [(&'static str, String); 2];

/// All metrics of this process.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    pub(super) ready: Family<HostLabels, Gauge>,
    pub(super) certificate_expiry: Family<HostLabels, Gauge>,
    pub(super) checks: Family<OneLabel, Counter>,
    pub(super) check_duration: Histogram,
    pub(super) phase_duration: Family<OneLabel, Histogram, fn() -> Histogram>,
    pub(super) finished: Family<TwoLabels, Counter>,
    pub(super) limit_used: Family<OneLabel, Gauge>,
    pub(super) limit_allowed: Family<OneLabel, Gauge>,
    pub(super) held_up: Family<OneLabel, Gauge>,
    watch_event: Family<OneLabel, Gauge>,
    watch_interrupted: Family<OneLabel, Counter>,
    pub(super) standing_in: Family<OneLabel, Gauge>,
    pub(super) unserved: Family<OneLabel, Gauge>,
    pub(super) nodes_covered: Family<CheckLabels, Gauge>,
    pub(super) short_circuit: Family<CheckLabels, Gauge>,
    pub(super) remediation_success: Family<CheckLabels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut root = Registry::default();
        let own = root.sub_registry_with_prefix(PREFIX);
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        own.register("build", "The version of this process", version);
        let (watch_event, watch_interrupted) = of_watches(own);
        Self {
            ready: registered(
                own,
                "bmc_ready",
                "1 if a remediation of the host would work by the last check of its BMC, else 0",
                Family::default(),
            ),
            certificate_expiry: registered(
                own,
                "bmc_certificate_expiry_timestamp_seconds",
                "Last moment of the certificate that the BMC presented, in seconds since 1970",
                Family::default(),
            ),
            checks: registered(
                own,
                "bmc_checks",
                "Checks of BMCs, by what they found",
                Family::default(),
            ),
            check_duration: registered(
                own,
                "bmc_check_duration_seconds",
                "How long checks of BMCs took",
                Histogram::new(CHECK_SECONDS),
            ),
            phase_duration: registered(
                own,
                "remediation_phase_duration_seconds",
                "How long remediations were in a phase, observed when they have left it",
                Family::new_with_constructor(phase_seconds),
            ),
            finished: registered(
                own,
                "remediations_finished",
                "Remediations that are over, by their final phase and its reason",
                Family::default(),
            ),
            limit_used: registered(
                own,
                "limit_used",
                "What is used of a limit of the RemediationPolicy, as its status says",
                Family::default(),
            ),
            limit_allowed: registered(
                own,
                "limit_allowed",
                "What a limit of the RemediationPolicy allows, as its status says",
                Family::default(),
            ),
            held_up: registered(
                own,
                "remediations_held_up",
                "1 while the RemediationPolicy lets no remediation begin for this reason, else 0",
                Family::default(),
            ),
            watch_event,
            watch_interrupted,
            standing_in: registered(
                own,
                "health_checker_standing_in",
                "1 while this process evaluates the MachineHealthChecks of an API, else 0",
                Family::default(),
            ),
            unserved: registered(
                own,
                "unserved_health_checks",
                "Health checks that ask for power cycles and that nobody evaluates, by kind",
                Family::default(),
            ),
            // Names that dashboards and alerts know. Source: machine-api-operator `pkg/metrics/metrics.go`.
            nodes_covered: registered(
                &mut root,
                "mapi_machinehealthcheck_nodes_covered",
                "Machines that a MachineHealthCheck selects",
                Family::default(),
            ),
            short_circuit: registered(
                &mut root,
                "mapi_machinehealthcheck_short_circuit",
                "1 while the limit of a MachineHealthCheck forbids remediations, else 0",
                Family::default(),
            ),
            remediation_success: registered(
                &mut root,
                "mapi_machinehealthcheck_remediation_success",
                "Remediations of a MachineHealthCheck's Machines that succeeded",
                Family::default(),
            ),
            registry: Arc::new(Mutex::new(root)),
        }
    }
}

fn of_watches(own: &mut Registry) -> (Family<OneLabel, Gauge>, Family<OneLabel, Counter>) {
    let event = registered(
        own,
        "watch_last_event_timestamp_seconds",
        "When the watch of a kind said something last, in seconds since 1970",
        Family::default(),
    );
    let interrupted = registered(
        own,
        "watch_interruptions",
        "How often the watch of a kind broke off or was refused",
        Family::default(),
    );
    (event, interrupted)
}

fn registered<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

pub(super) fn host_labels(key: &HostKey) -> HostLabels {
    [
        ("namespace", key.namespace.clone()),
        ("host", format!("{}/{}", key.kind.as_str(), key.name)),
    ]
}

impl Metrics {
    /// Adds numbers that are read when somebody asks: one for each value of the label, which has to be of a closed set.
    pub fn collect(
        &self,
        described: (&'static str, &'static str),
        number: Number,
        label: &'static str,
        read: impl Fn() -> BTreeMap<&'static str, u64> + Send + Sync + 'static,
    ) {
        self.add(Collected::new(described, number, Read::By(label, Box::new(read))));
    }

    /// Adds one number that goes up and down, and is read when somebody asks.
    pub fn collect_one(
        &self,
        described: (&'static str, &'static str),
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.add(Collected::new(
            described,
            Number::Gauge,
            Read::One(Box::new(read)),
        ));
    }

    fn add(&self, collected: Collected) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let own = registry.sub_registry_with_prefix(PREFIX);
        own.register_collector(Box::new(collected));
    }

    /// What notes that the watch of a kind has said something, and that it was interrupted.
    pub fn of_watch(&self, kind: &'static str) -> OfWatch {
        let label = [("kind", kind)];
        OfWatch {
            event: self.watch_event.get_or_create_owned(&label),
            interrupted: self.watch_interrupted.get_or_create_owned(&label),
        }
    }

    /// All of it in the text format of OpenMetrics 1.0, which Prometheus reads.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        text::encode(&mut out, &registry)?;
        Ok(out)
    }
}

/// How the watch of one kind does.
#[derive(Debug)]
pub struct OfWatch {
    event: Gauge,
    interrupted: Counter,
}

impl OfWatch {
    /// It has said something.
    pub fn said(&self) {
        self.event.set(Timestamp::now().as_second());
    }

    /// It broke off or was refused.
    pub fn broke_off(&self) {
        self.interrupted.inc();
    }
}

#[cfg(test)]
mod tests;
