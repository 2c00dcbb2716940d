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
use prometheus_client::registry::Registry;
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
        let registry = root.sub_registry_with_prefix(PREFIX);
        let ready = Family::<HostLabels, Gauge>::default();
        registry.register(
            "bmc_ready",
            "1 if a remediation of the host would work by the last check of its BMC, else 0",
            ready.clone(),
        );
        let certificate_expiry = Family::<HostLabels, Gauge>::default();
        registry.register(
            "bmc_certificate_expiry_timestamp_seconds",
            "Last moment of the certificate that the BMC presented, in seconds since 1970",
            certificate_expiry.clone(),
        );
        let checks = Family::<OneLabel, Counter>::default();
        registry.register("bmc_checks", "Checks of BMCs, by what they found", checks.clone());
        let check_duration = Histogram::new(CHECK_SECONDS);
        registry.register(
            "bmc_check_duration_seconds",
            "How long checks of BMCs took",
            check_duration.clone(),
        );
        let standing_in = Family::<OneLabel, Gauge>::default();
        registry.register(
            "health_checker_standing_in",
            "1 while this process evaluates the MachineHealthChecks of an API, else 0",
            standing_in.clone(),
        );
        let unserved = Family::<OneLabel, Gauge>::default();
        registry.register(
            "unserved_health_checks",
            "Health checks that ask for power cycles and that nobody evaluates, by kind",
            unserved.clone(),
        );
        let (nodes_covered, short_circuit, remediation_success) = established(&mut root);
        Self {
            registry: Arc::new(Mutex::new(root)),
            ready,
            certificate_expiry,
            checks,
            check_duration,
            standing_in,
            unserved,
            nodes_covered,
            short_circuit,
            remediation_success,
        }
    }
}

/// Metrics of health checks under the names that dashboards and alerts know, for whoever evaluates them.
/// Source: machine-api-operator `pkg/metrics/metrics.go`.
fn established(
    root: &mut Registry,
) -> (
    Family<CheckLabels, Gauge>,
    Family<CheckLabels, Gauge>,
    Family<CheckLabels, Counter>,
) {
    let covered = Family::<CheckLabels, Gauge>::default();
    root.register(
        "mapi_machinehealthcheck_nodes_covered",
        "Machines that a MachineHealthCheck selects",
        covered.clone(),
    );
    let short_circuit = Family::<CheckLabels, Gauge>::default();
    root.register(
        "mapi_machinehealthcheck_short_circuit",
        "1 while the limit of a MachineHealthCheck forbids remediations, else 0",
        short_circuit.clone(),
    );
    let success = Family::<CheckLabels, Counter>::default();
    root.register(
        "mapi_machinehealthcheck_remediation_success",
        "Remediations of a MachineHealthCheck's Machines that succeeded",
        success.clone(),
    );
    (covered, short_circuit, success)
}

/// How a host is told from others.
pub(super) fn host_labels(key: &HostKey) -> HostLabels {
    [
        ("namespace", key.namespace.clone()),
        ("host", format!("{}/{}", key.kind.as_str(), key.name)),
    ]
}

/// What kind of number is read when somebody asks.
#[derive(Clone, Copy, Debug)]
enum Number {
    Gauge,
    Counter,
}

impl Metrics {
    /// Adds a gauge that is read when somebody asks: `read` answers with a value for each value of the label,
    /// which has to be of a closed set.
    pub fn gauge_of(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> BTreeMap<&'static str, u64> + Send + Sync + 'static,
    ) {
        self.collect(name, help, label, Number::Gauge, Box::new(read));
    }

    /// The same for a counter; `_total` is added to its name.
    pub fn counter_of(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> BTreeMap<&'static str, u64> + Send + Sync + 'static,
    ) {
        self.collect(name, help, label, Number::Counter, Box::new(read));
    }

    fn collect(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        number: Number,
        read: Box<dyn Fn() -> BTreeMap<&'static str, u64> + Send + Sync>,
    ) {
        let collected = Collected {
            name,
            help,
            label,
            number,
            read,
        };
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry
            .sub_registry_with_prefix(PREFIX)
            .register_collector(Box::new(collected));
    }

    /// All of it in the text format of OpenMetrics 1.0, which Prometheus reads.
    ///
    /// # Errors
    /// Formatting failed.
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
                Number::Gauge => {
                    ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX)).encode(one)?;
                }
                Number::Counter => ConstCounter::new(count).encode(one)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
