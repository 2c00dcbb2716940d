//! Numbers that are read when somebody asks for the metrics.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// What kind of number is read when somebody asks.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Goes up and down.
    Gauge,
    /// Goes up; `_total` is added to its name.
    Counter,
}

/// What reads them.
pub(super) enum Read {
    /// A single number.
    One(Box<dyn Fn() -> u64 + Send + Sync>),
    /// One for each value of this label.
    By(
        &'static str,
        Box<dyn Fn() -> BTreeMap<&'static str, u64> + Send + Sync>,
    ),
}

pub(super) struct Collected {
    name: &'static str,
    help: &'static str,
    number: Number,
    read: Read,
}

impl Collected {
    pub(super) fn new((name, help): (&'static str, &'static str), number: Number, read: Read) -> Self {
        Self {
            name,
            help,
            number,
            read,
        }
    }

    fn write(&self, value: u64, to: MetricEncoder<'_>) -> fmt::Result {
        match self.number {
            Number::Gauge => ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(to),
            Number::Counter => ConstCounter::new(value).encode(to),
        }
    }
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
        match &self.read {
            Read::One(read) => self.write(read(), family),
            Read::By(label, read) => {
                for (value, count) in read() {
                    self.write(count, family.encode_family(&[(*label, value)])?)?;
                }
                Ok(())
            }
        }
    }
}
