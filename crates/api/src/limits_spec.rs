//! The brakes as administrators write them.

use std::borrow::Cow;

use jiff::SignedDuration;
use kube::core::Duration;
use remediator_core::brakes::{Limits, Share};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::go_duration;
use super::strategy_spec::GO_DURATION;

/// How many hosts of a cluster may be powered off, and when none may. Counts, or percentages of its hosts, which are one
/// host at the least. Hosts are the Nodes that a BMCEndpoint or a BareMetalHost describes. Those that are off are brought
/// back whatever this says.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitsSpec {
    /// Hosts under remediation at once.
    pub max_concurrent: ShareText,
    /// Power-offs that are begun within `window`.
    pub max_per_window: ShareText,
    /// How long a power-off counts for `maxPerWindow`.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('1s') && duration(self) <= duration('24h')", "message": "must be between 1s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub window: Duration,
    /// Limits within a rack, a zone, or whatever else fails together.
    #[schemars(default)]
    pub failure_domain: FailureDomain,
    /// Nothing is begun while more hosts, or more Nodes of all Nodes, are unhealthy: what so many have in common is rarely
    /// their hosts. A percentage is two at the least.
    pub max_unhealthy: ShareText,
    /// How long after that nothing is begun, so that every Node is seen anew.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('0s') && duration(self) <= duration('24h')", "message": "must be between 0s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub cool_down: Duration,
    /// How long after its start the daemon only watches; `coolDown`, where that is longer.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('0s') && duration(self) <= duration('1h')", "message": "must be between 0s and 1h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub startup_hold: Duration,
    /// Nothing is begun once so many hosts did not return within a day. A percentage is three hosts at the least.
    /// Deleting the remediations that failed resets it.
    pub max_failed: ShareText,
    /// No power-off begins of a host that was powered off so often within a day, whoever asked for it.
    #[schemars(range(min = 1, max = 1000))]
    pub max_per_host: u32,
    /// How long a remediation may take by its own `deadlines` and `retries`, all attempts and the pauses between them
    /// together: others wait for it. What could take longer is not begun.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('1m') && duration(self) <= duration('8760h')", "message": "must be between 1m and 8760h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub max_duration: Duration,
}

/// What fails together.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureDomain {
    /// The label of Nodes that names theirs, such as `topology.kubernetes.io/zone` or `example.org/rack`. A Node without
    /// it has none.
    #[schemars(
        length(max = 317),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
        )
    )]
    pub label: String,
    /// Hosts under remediation at once in each.
    pub max_concurrent: ShareText,
}

impl Default for LimitsSpec {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            max_concurrent: ShareText(limits.at_once),
            max_per_window: ShareText(limits.in_window),
            window: to_go(limits.window),
            failure_domain: FailureDomain::default(),
            max_unhealthy: ShareText(limits.unhealthy),
            cool_down: to_go(limits.cool_down),
            startup_hold: to_go(limits.startup_hold),
            max_failed: ShareText(limits.failed),
            max_per_host: limits.per_host,
            max_duration: to_go(limits.longest),
        }
    }
}

impl Default for FailureDomain {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            label: limits.domain_label,
            max_concurrent: ShareText(limits.in_domain),
        }
    }
}

impl LimitsSpec {
    /// The limits in force.
    ///
    /// # Errors
    /// [`Reason::PolicyUnreadable`], naming the field, where a duration is negative or longer than can be.
    pub fn limits(&self) -> Result<Limits, Obstacle> {
        let length = |field: &str, duration: Duration| {
            let length = SignedDuration::try_from(std::time::Duration::from(duration)).ok();
            length.filter(|_| !duration.is_negative()).ok_or_else(|| {
                let detail = format!("spec.limits.{field} must be a duration such as 10m");
                Obstacle::new(Reason::PolicyUnreadable, detail)
            })
        };
        Ok(Limits {
            at_once: self.max_concurrent.0,
            in_window: self.max_per_window.0,
            window: length("window", self.window)?,
            in_domain: self.failure_domain.max_concurrent.0,
            domain_label: self.failure_domain.label.clone(),
            unhealthy: self.max_unhealthy.0,
            cool_down: length("coolDown", self.cool_down)?,
            startup_hold: length("startupHold", self.startup_hold)?,
            failed: self.max_failed.0,
            per_host: self.max_per_host,
            longest: length("maxDuration", self.max_duration)?,
        })
    }
}

fn to_go(duration: SignedDuration) -> Duration {
    Duration::from(duration.unsigned_abs())
}

/// A count, or a percentage such as `10%`; as in Kubernetes' `IntOrString`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareText(pub Share);

impl Serialize for ShareText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Share::Count(count) => serializer.serialize_u32(count),
            Share::Percent(_) => serializer.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for ShareText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), ToOwned::to_owned);
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for ShareText {
    fn schema_name() -> Cow<'static, str> {
        "ShareText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "nullable": false,
            "x-kubernetes-validations": [{
                "rule": "type(self) == int ? (self >= 0 && self <= 2147483647) : self.matches('^(100|[0-9]{1,2})%$')",
                "message": "must be a count, or a percentage from 0% to 100%",
            }],
        })
    }
}
