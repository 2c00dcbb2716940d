//! What is counted and measured, for Prometheus.
//!
//! Names and units: <https://prometheus.io/docs/practices/naming/>. Labels are bounded: by the hosts that
//! are there, and by closed sets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use remediator_core::readiness::schedule::HostKey;

/// Begins every name.
const PREFIX: &str = "baremetal_remediator";

/// Upper bounds for the durations of checks, in seconds. A check takes some tenths of a second; its deadline
/// is around a minute.
const CHECK_SECONDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

type HostLabels = [(&'static str, String); 2];
type OneLabel = [(&'static str, &'static str); 1];
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

/// What kind of number is read when somebody asks.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Goes up and down.
    Gauge,
    /// Goes up; `_total` is added to its name.
    Counter,
}

impl Metrics {
    /// Adds numbers that are read when somebody asks: one for each value of the label, which has to be of a closed set.
    pub fn collect(
        &self,
        (name, help): (&'static str, &'static str),
        number: Number,
        label: &'static str,
        read: impl Fn() -> BTreeMap<&'static str, u64> + Send + Sync + 'static,
    ) {
        let collected = Collected {
            name,
            help,
            label,
            number,
            read: Box::new(read),
        };
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let own = registry.sub_registry_with_prefix(PREFIX);
        own.register_collector(Box::new(collected));
    }

    /// All of it in the text format of OpenMetrics 1.0, which Prometheus reads.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        text::encode(&mut out, &registry)?;
        Ok(out)
    }
}

struct Collected {
    name: &'static str,
    help: &'static str,
    label: &'static str,
    number: Number,
    read: Box<dyn Fn() -> BTreeMap<&'static str, u64> + Send + Sync>,
}

impl fmt::Debug for Collected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let kind = match self.number {
            Number::Gauge => MetricType::Gauge,
            Number::Counter => MetricType::Counter,
        };
        let mut family = encoder.encode_descriptor(self.name, self.help, None, kind)?;
        for (value, count) in (self.read)() {
            let labels: OneLabel = [(self.label, value)];
            let one = family.encode_family(&labels)?;
            match self.number {
                Number::Gauge => ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX)).encode(one)?,
                Number::Counter => ConstCounter::new(count).encode(one)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
