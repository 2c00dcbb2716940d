//! The strategy as users write it, and its validation into [`Strategy`].

use jiff::SignedDuration;
use kube::core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::go_duration;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use remediator_core::strategy::{Deadlines, Escalation, FencingMode, HostControl, Retries, Strategy};

/// How a host is to be power-cycled.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StrategySpec {
    /// How workloads are released once the host is proven off.
    #[schemars(default)]
    pub fencing_mode: FencingMode,
    /// Whether a host that a BareMetalHost manages may be powered directly. Ironic may revert a
    /// direct power change.
    #[schemars(default)]
    pub host_control: HostControl,
    /// The longest each phase may take, as Go durations such as `5m` or `1h30m`.
    #[schemars(default)]
    pub deadlines: DeadlinesSpec,
    /// How many attempts, and how far apart.
    #[schemars(default)]
    pub retries: RetriesSpec,
    /// What is done about the Machine when its host was proven off in the last attempt and did not come back.
    /// A replaced Machine usually loses the disks of its host.
    #[schemars(default)]
    pub escalation: Escalation,
}

/// The longest each phase may take.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeadlinesSpec {
    /// Until the host may be acted on. Pauses, and the time in which another remediation is at work on the same
    /// host, do not count. After the first attempt others wait for this one: then of the pauses only that of the policy
    /// does not count.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('1s') && duration(self) <= duration('168h')", "message": "must be between 1s and 168h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub pending: Duration,
    /// From the power-off to the proof of Off.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('10s') && duration(self) <= duration('24h')", "message": "must be between 10s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub power_off: Duration,
    /// From the proof of Off until nothing is left to clean up; the host is powered on then anyway.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('10s') && duration(self) <= duration('24h')", "message": "must be between 10s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub fencing: Duration,
    /// From the power-on until the BMC says On.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('10s') && duration(self) <= duration('24h')", "message": "must be between 10s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub power_on: Duration,
    /// From On until the Node is Ready with a new boot ID.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('10s') && duration(self) <= duration('24h')", "message": "must be between 10s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub boot: Duration,
}

/// How many attempts, and how far apart.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RetriesSpec {
    /// Power-offs at the most.
    #[schemars(range(min = 1, max = 10))]
    pub attempts: i32,
    /// Pause after the first failed attempt; it doubles with each further one.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('1s') && duration(self) <= duration('24h')", "message": "must be between 1s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub backoff: Duration,
    /// The longest pause.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "duration(self) >= duration('1s') && duration(self) <= duration('24h')", "message": "must be between 1s and 24h"}]))]
    #[schemars(with = "String", length(max = 32), regex(pattern = GO_DURATION))]
    #[serde(deserialize_with = "go_duration::deserialize")]
    pub max_backoff: Duration,
}

/// Go's duration syntax without signs.
pub(crate) const GO_DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

impl Default for DeadlinesSpec {
    fn default() -> Self {
        let defaults = Strategy::default().deadlines;
        Self {
            pending: to_go(defaults.pending),
            power_off: to_go(defaults.power_off),
            fencing: to_go(defaults.fencing),
            power_on: to_go(defaults.power_on),
            boot: to_go(defaults.boot),
        }
    }
}

impl Default for RetriesSpec {
    fn default() -> Self {
        let defaults = Strategy::default().retries;
        Self {
            attempts: i32::try_from(defaults.attempts).unwrap_or(1),
            backoff: to_go(defaults.backoff),
            max_backoff: to_go(defaults.max_backoff),
        }
    }
}

impl StrategySpec {
    /// Validates what the API server's schema may not have: an object written before an upgrade, or without validation.
    ///
    /// # Errors
    /// [`Reason::SpecInvalid`], naming the field.
    pub fn validated(&self) -> Result<Strategy, Obstacle> {
        self.validated_at("spec")
    }

    /// The same where the strategy stands elsewhere in its object; `place` is the path to it.
    pub fn validated_at(&self, place: &str) -> Result<Strategy, Obstacle> {
        let invalid = |field: &str, expected: &str| {
            Obstacle::new(Reason::SpecInvalid, format!("{place}.{field} must be {expected}"))
        };
        let positive = |field: &str, duration: Duration| {
            let length = SignedDuration::try_from(std::time::Duration::from(duration)).ok();
            length
                .filter(|length| !duration.is_negative() && length.is_positive())
                .ok_or_else(|| invalid(field, "a positive duration such as 5m"))
        };
        let deadlines = &self.deadlines;
        let attempts = u32::try_from(self.retries.attempts).ok();
        let attempts = attempts.filter(|attempts| (1..=10).contains(attempts));
        Ok(Strategy {
            fencing: self.fencing_mode,
            host_control: self.host_control,
            deadlines: Deadlines {
                pending: positive("deadlines.pending", deadlines.pending)?,
                power_off: positive("deadlines.powerOff", deadlines.power_off)?,
                fencing: positive("deadlines.fencing", deadlines.fencing)?,
                power_on: positive("deadlines.powerOn", deadlines.power_on)?,
                boot: positive("deadlines.boot", deadlines.boot)?,
            },
            retries: Retries {
                attempts: attempts.ok_or_else(|| invalid("retries.attempts", "a number from 1 to 10"))?,
                backoff: positive("retries.backoff", self.retries.backoff)?,
                max_backoff: positive("retries.maxBackoff", self.retries.max_backoff)?,
            },
            escalation: self.escalation,
        })
    }
}

fn to_go(duration: SignedDuration) -> Duration {
    Duration::from(duration.unsigned_abs())
}
