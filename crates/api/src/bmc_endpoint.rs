//! BMCEndpoint: from a Machine or Node to its BMC, for clusters without metal3.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Where the BMC of one host is and how it is known.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "baremetal-remediator.io",
    version = "v1alpha1",
    kind = "BMCEndpoint",
    plural = "bmcendpoints",
    namespaced,
    status = "BMCEndpointStatus",
    shortname = "bmce",
    category = "remediation",
    doc = "BMCEndpoint says where the BMC of one Machine or Node is, for clusters without metal3.",
    printcolumn(
        name = "Machine",
        type_ = "string",
        json_path = ".spec.machineName",
        description = "The Machine on the host"
    ),
    printcolumn(
        name = "Node",
        type_ = "string",
        json_path = ".spec.nodeName",
        description = "The Node on the host"
    ),
    printcolumn(
        name = "Address",
        type_ = "string",
        json_path = ".spec.address",
        description = "Address of the BMC"
    ),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].status",
        description = "Whether the endpoint can be used"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].reason",
        description = "Why, or why not"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether a remediation of the host would work, as far as its BMC has a say"
    ),
    printcolumn(
        name = "Finding",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "What the last check of the BMC found"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "has(self.machineName) != has(self.nodeName)", "message": "exactly one of machineName and nodeName must be set"}]))]
#[serde(rename_all = "camelCase")]
pub struct BMCEndpointSpec {
    /// The Machine on this host, in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub machine_name: Option<String>,
    /// The Node on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub node_name: Option<String>,
    /// Address of the BMC as BareMetalHosts write it, such as
    /// `redfish+https://10.0.0.7/redfish/v1/Systems/1`, or `ipmi://10.0.0.7` where the policy allows
    /// IPMI. Without credentials.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "!self.contains('@')", "message": "must not contain credentials; put them into the Secret"}]))]
    #[schemars(length(min = 1, max = 2048))]
    pub address: String,
    /// Secret in the same namespace with the keys `username` and `password`; for IPMI perhaps `kg`, the
    /// key of the BMC.
    pub credentials_secret: SecretReference,
    /// How the BMC's certificate is verified. Default: the system's trust roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<EndpointTls>,
    /// System UUID of the host as its BMC reports it. Compared besides the Node's own, and instead of
    /// it where the Node reports none. Without it, the host is never powered off while its Machine has no Node:
    /// nothing else proves then which host it is. Take it from the host itself, and not from its BMC.
    #[serde(default, rename = "systemUUID", skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 36),
        regex(pattern = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
    )]
    pub system_uuid: Option<String>,
}

/// What the daemon found out about the endpoint.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BMCEndpointStatus {
    /// The generation of the spec that the status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Accepted`: whether the endpoint is valid and can be used. `Ready`: whether a remediation of the host would work,
    /// by the last check of its BMC.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
    /// The host that the BMC was found to be of, with the login of the endpoint. It stays while the BMC is silent, and goes
    /// when a BMC answers there that refuses the login or is another host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundHost>,
}

impl BMCEndpoint {
    /// The system UUID of the host that its own login has reached since it was last changed, if the last check did not
    /// find otherwise.
    pub fn proven_uuid(&self) -> Option<&str> {
        let found = self.status.as_ref()?.found.as_ref()?;
        let is_of_now = self.metadata.generation == Some(found.generation);
        is_of_now.then_some(found.system_uuid.as_str())
    }
}

/// A host that a BMC was found to be of.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundHost {
    /// The generation of the endpoint that was checked.
    pub generation: i64,
    /// System UUID of the host: that of its Node or, where there is none, the one that is stated; the BMC says the same.
    #[serde(rename = "systemUUID")]
    #[schemars(length(max = 36))]
    pub system_uuid: String,
}

/// A Secret in the same namespace.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// How a BMC's certificate is verified: by CA or by fingerprint, not both.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "(has(self.caBundle) ? 1 : 0) + (has(self.caBundleFrom) ? 1 : 0) + (has(self.fingerprints) && size(self.fingerprints) > 0 ? 1 : 0) + (has(self.insecureSkipVerify) && self.insecureSkipVerify ? 1 : 0) <= 1", "message": "at most one of caBundle, caBundleFrom, fingerprints and insecureSkipVerify can be set"}]))]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointTls {
    /// PEM certificates of the CAs that sign the BMC's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub ca_bundle: Option<String>,
    /// The same in a ConfigMap or Secret of this namespace, read each time it is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle_from: Option<CaSource>,
    /// SHA-256 fingerprints of the BMC's certificate, in hexadecimal, with or without colons. Several
    /// for rotation. Works for self-signed certificates of any kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 95)))]
    pub fingerprints: Vec<String>,
    /// Verify nothing. Only obeyed where the RemediationPolicy allows `UnverifiedTLS`.
    #[schemars(default)]
    pub insecure_skip_verify: bool,
}

/// Where CA certificates stand.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaSource {
    /// Of which kind the object is.
    pub kind: CaSourceKind,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key under which the PEM text stands.
    #[serde(default = "CaSource::usual_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

impl CaSource {
    /// As cert-manager and the CA injectors of Kubernetes name it.
    fn usual_key() -> String {
        "ca.crt".to_owned()
    }
}

/// What may hold CA certificates.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaSourceKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl CaSourceKind {
    /// Its name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}
