//! How a BMC is reached, as it is journalled: a host is brought back also when the objects are gone that said so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the BMC was reached when the identity of the host was proven. There is no credential in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct Route {
    /// Name of the Secret with the login, in the namespace of the remediation.
    #[schemars(length(max = 253))]
    pub secret: String,
    /// Whether the certificate of the BMC is not verified.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
    /// Whether nothing was stated of its certificate, so that the Secret says by what it is verified. Only then another
    /// certificate than the one below may be believed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trust_in_secret: bool,
    /// SHA-256 of the certificate that the BMC showed, in hexadecimal. By that it is known again, whatever became of
    /// the CA. None over plain HTTP and IPMI.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 95))]
    pub certificate: Option<String>,
    /// Fingerprints that were stated for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 95)))]
    pub fingerprints: Vec<String>,
    /// The allowed networks of the RemediationPolicy in which it may be; they count where there is no policy any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 49)))]
    pub networks: Vec<String>,
    /// The privilege that an IPMI session asks for, where the address says another than the usual one.
    #[serde(rename = "ipmiPrivilege", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub ipmi_privilege: Option<String>,
    /// UDP port of IPMI, where the policy let it be spoken in place of a silent Redfish service.
    #[serde(rename = "ipmiPort", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub ipmi_port: Option<i32>,
}
