//! RemediationPolicy: the administrator's limits.

use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits_spec::LimitsSpec;
use super::log_level::LogLevel;
use super::readiness_rules::ReadinessRules;
use super::strategy_spec::StrategySpec;
use remediator_core::checker::activation::HealthChecker;
use remediator_core::eligibility::strategy_is_allowed;
use remediator_core::facts::{Allowed, ControlPlaneRule, Obstacle};
use remediator_core::phase::Reason;
use remediator_core::power::Protocol;
use remediator_core::strategy::Strategy;

/// Name of the one policy that counts.
pub const POLICY_NAME: &str = "default";

/// The administrator's limits. Without a policy named `default`, nothing is powered.
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "baremetal-remediator.io",
    version = "v1alpha1",
    kind = "RemediationPolicy",
    plural = "remediationpolicies",
    status = "PolicyStatus",
    shortname = "rpol",
    category = "remediation",
    doc = "RemediationPolicy holds the administrator's limits. The one named default counts; without it nothing is powered.",
    printcolumn(
        name = "Paused",
        type_ = "boolean",
        json_path = ".spec.paused",
        description = "Whether new remediations wait"
    ),
    printcolumn(
        name = "Networks",
        type_ = "string",
        json_path = ".spec.bmc.allowedNetworks",
        description = "Where BMCs may be"
    ),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].status",
        description = "Whether the policy is valid"
    ),
    printcolumn(
        name = "Allowed",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"RemediationAllowed\")].status",
        description = "Whether the limits let a remediation begin"
    ),
    printcolumn(
        name = "Why",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"RemediationAllowed\")].reason",
        description = "What holds everything up, if something does"
    ),
    printcolumn(
        name = "At work",
        type_ = "string",
        json_path = ".status.used.concurrent",
        description = "Hosts under remediation, of those that may be at once"
    ),
    printcolumn(
        name = "Window",
        type_ = "string",
        json_path = ".status.used.window",
        description = "Power-offs within the window, of those that may be"
    ),
    printcolumn(
        name = "Unhealthy",
        type_ = "string",
        json_path = ".status.used.unhealthyHosts",
        description = "Hosts that are unhealthy, of those with which something may begin"
    ),
    printcolumn(
        name = "Failed",
        type_ = "string",
        json_path = ".status.used.failed",
        description = "Hosts that did not return within a day, of those with which nothing begins"
    ),
    printcolumn(
        name = "Domains",
        type_ = "string",
        json_path = ".status.used.failureDomains",
        priority = 1,
        description = "Hosts under remediation in each failure domain that has any, of those that may be"
    ),
    printcolumn(
        name = "Limits",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"RemediationAllowed\")].message",
        priority = 1,
        description = "What is used of the limits, what holds everything up, and how it is reset"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "!has(self.allowed.fencingModes) || self.triggers.fencingMode in self.allowed.fencingModes", "message": "triggers.fencingMode has to be among allowed.fencingModes"},
    {"rule": "!has(self.allowed.hostControls) || self.triggers.hostControl in self.allowed.hostControls", "message": "triggers.hostControl has to be among allowed.hostControls"},
    {"rule": "!has(self.allowed.escalations) || self.triggers.escalation in self.allowed.escalations", "message": "triggers.escalation has to be among allowed.escalations"},
]))]
#[serde(rename_all = "camelCase", default)]
pub struct RemediationPolicySpec {
    /// Nothing new is begun while true. Hosts that are off are still brought back.
    #[schemars(default)]
    pub paused: bool,
    /// How many hosts may be powered off, and when none may. It holds without a word, too.
    #[schemars(default)]
    pub limits: LimitsSpec,
    /// Rules for talking to BMCs.
    #[schemars(default)]
    pub bmc: BmcRules,
    /// Whether the daemon itself evaluates MachineHealthChecks that ask for power cycles.
    #[schemars(default)]
    pub health_checker: HealthChecker,
    /// Whether hosts of the control plane are power-cycled. Refuse: none is. WithQuorumOfNodes: one at a time, as long
    /// as more than half of the control-plane Nodes are other ones that are Ready and renew their Leases.
    /// WithQuorumOfEtcdPods: the same, and each of those other Nodes has to run a static etcd Pod that is Ready.
    #[schemars(default)]
    pub control_plane: ControlPlaneRule,
    /// What a remediation does that is made for a trigger, as of the moment at which it is made. Requests do what
    /// they, or the templates that they are made from, say themselves.
    #[schemars(default)]
    pub triggers: StrategySpec,
    /// What those who may create objects in a namespace may have done with them. Hosts that are off are brought back
    /// whatever this says.
    #[schemars(default)]
    pub allowed: Allowed,
    /// How much the replica that leads logs of its own work, from now on and without a restart. Absent: what it was
    /// started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
}

impl RemediationPolicySpec {
    /// What a remediation does that is made for a trigger; see [`StrategySpec::validated`].
    pub fn strategy_of_triggers(&self) -> Result<Strategy, Obstacle> {
        let strategy = self.triggers.validated_at("spec.triggers")?;
        self.allows(&strategy).map_err(|obstacle| {
            let detail = format!(
                "spec.triggers contradicts the rest of the policy: {}",
                obstacle.detail
            );
            Obstacle::new(Reason::SpecInvalid, detail)
        })?;
        Ok(strategy)
    }

    /// Whether a remediation may do what it has chosen.
    ///
    /// # Errors
    /// [`Reason::StrategyNotAllowed`], naming the field; what is wrong with the limits.
    pub fn allows(&self, strategy: &Strategy) -> Result<(), Obstacle> {
        strategy_is_allowed(&self.allowed, self.limits.limits()?.longest, strategy)
    }
}

/// What the daemon says of the policy.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// The generation of the spec that the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Accepted`: whether the policy is valid and in force. `RemediationAllowed`: whether its limits let a remediation of
    /// the daemon's own cluster begin. `RoleComplete`: whether the daemon may watch all that it needs. `HealthChecker`
    /// and `ClusterAPIHealthChecker`: whether it evaluates MachineHealthChecks. `HealthChecksServed`: whether somebody
    /// evaluates each that asks for power cycles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
    /// What is used of the limits in the daemon's own cluster, each as `1 of 10`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<UsedLimits>,
    /// Power-offs of the last day whose remediations are deleted: they count all the same, also after another replica
    /// has taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_POWER_OFFS))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub power_offs: Vec<PastPowerOff>,
}

/// As many [`PolicyStatus::power_offs`] are kept.
pub const MOST_POWER_OFFS: usize = 1_000;

/// What is used of the limits.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsedLimits {
    /// Of `maxConcurrent`.
    #[schemars(length(max = 64))]
    pub concurrent: String,
    /// Of `maxPerWindow`.
    #[schemars(length(max = 64))]
    pub window: String,
    /// Of `maxUnhealthy`, of the hosts.
    #[schemars(length(max = 64))]
    pub unhealthy_hosts: String,
    /// Of `maxFailed`.
    #[schemars(length(max = 64))]
    pub failed: String,
    /// Of `failureDomain.maxConcurrent`, for each domain with hosts under remediation.
    #[schemars(length(max = 4096))]
    pub failure_domains: String,
}

/// A power-off whose remediation is deleted.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastPowerOff {
    /// UID of the remediation.
    #[schemars(length(max = 64))]
    pub remediation: String,
    /// When it was sent.
    #[schemars(with = "String", length(max = 64), extend("format" = "date-time"))]
    pub at: Timestamp,
    /// Namespace and name of the Cluster of the Node, `namespace/name`; none for the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    pub cluster: Option<String>,
    /// System UUID of the host.
    #[serde(default, rename = "systemUUID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub system_uuid: Option<String>,
}

/// Rules for talking to BMCs.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "!has(self.fallbackToIPMI) || (has(self.protocols) && 'IPMI' in self.protocols)", "message": "fallbackToIPMI needs IPMI among protocols"}]))]
#[serde(rename_all = "camelCase", default)]
pub struct BmcRules {
    /// Networks, in CIDR form, in which BMC addresses must lie. Empty allows none. Loopback,
    /// link-local and similar ranges, and what the cluster uses for Services, pods, Nodes and its API
    /// server, are only allowed by networks that lie within them.
    #[schemars(with = "Vec<Cidr>", length(max = 256), default)]
    pub allowed_networks: Vec<IpNet>,
    /// The protocols that BMCs may be spoken to with. Which one is used is up to the BMC's address;
    /// none is tried instead of another unless `fallbackToIPMI` says so.
    #[serde(default = "redfish_only")]
    #[schemars(length(min = 1, max = 2), extend("x-kubernetes-list-type" = "set"))]
    pub protocols: Vec<Protocol>,
    /// Speaks IPMI to a BMC whose address names Redfish while its Redfish service is silent: does not take
    /// connections or does not answer, twice in a row. Not when it answers anything, rejects the login, or
    /// fails in TLS. The same credentials are used, of which IPMI carries a user name of 16 bytes and a
    /// password of 20; the system GUID has to be the Node's UUID, or nothing is done. Who can silence
    /// the Redfish port of a BMC makes the daemon speak the weaker protocol by that: who listens can then
    /// try passwords offline (CVE-2013-4786), and who knows the password can play the BMC. Absent: IPMI
    /// is never tried instead of Redfish.
    #[serde(rename = "fallbackToIPMI", skip_serializing_if = "Option::is_none")]
    pub fallback_to_ipmi: Option<FallbackToIpmi>,
    /// The weakest transport over which credentials may be sent to a Redfish service.
    #[schemars(default)]
    pub minimum_transport: Transport,
    /// Checks whether remediations would work, before they are needed.
    #[schemars(default)]
    pub readiness: ReadinessRules,
}

impl Default for BmcRules {
    fn default() -> Self {
        Self {
            allowed_networks: Vec::new(),
            protocols: redfish_only(),
            fallback_to_ipmi: None,
            minimum_transport: Transport::default(),
            readiness: ReadinessRules::default(),
        }
    }
}

fn redfish_only() -> Vec<Protocol> {
    vec![Protocol::Redfish]
}

/// How IPMI is spoken in place of Redfish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FallbackToIpmi {
    /// UDP port of IPMI at the host that the address names.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

impl Default for FallbackToIpmi {
    fn default() -> Self {
        Self { port: 623 }
    }
}

/// Text of a network in CIDR form, checked by the API server.
#[derive(JsonSchema)]
#[schemars(transparent)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "isCIDR(self)", "message": "must be a network in CIDR form, such as 10.0.0.0/8"}]))]
#[allow(dead_code)]
struct Cidr(#[schemars(length(min = 3, max = 49), regex(pattern = r"^[0-9a-fA-F.:]+/[0-9]{1,3}$"))] String);

/// How well the BMC at the other end must be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// TLS, and the certificate is verified by a CA or by its fingerprint.
    #[default]
    VerifiedTLS,
    /// TLS without verification where the host asks for that. Anybody on the network can read the
    /// credentials.
    UnverifiedTLS,
    /// Plain HTTP where the address asks for that. Everybody on the network can read the credentials.
    PlainHTTP,
}

#[cfg(test)]
mod tests;
