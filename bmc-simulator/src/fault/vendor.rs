//! Errors as vendors word them: clients tell them apart by the message id, which no standard defines.

use serde::{Deserialize, Serialize};

/// An error of a vendor: an HTTP status and a message id. In JSON by the name that the vendor gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VendorError {
    /// iDRAC has no data yet: 503 `IDRAC.2.8.SYS518`, with Base's `ServiceTemporarilyUnavailable` beside it
    /// (ironcore-dev/metal-operator issue 170).
    Sys518,
    /// iDRAC is not ready, as a client error: 400 `IDRAC.1.6.SWC0700` (quadsproject/badfish issue 129).
    Swc0700,
    /// iDRAC's table of sessions is full: 503 `IDRAC.2.1.RAC0218` (stmcginnis/gofish issue 75).
    Rac0218,
    /// iDRAC: the server is already on or off: 409 `IDRAC.1.6.PSU501`
    /// (dell/dellemc-openmanage-ansible-modules issue 132).
    Psu501,
    /// iLO cannot do this now: 400 `iLO.2.15.InvalidOperationForSystemState` (goldyfruit/ansible-ilo issue 1;
    /// id of iLO5: HewlettPackard/python-redfish-utility issue 72).
    InvalidOperationForSystemState,
    /// Supermicro wants a licence: 403 `SMC.1.0.OemLicenseNotPassed` (metal3-io/ironic-image issue 688).
    OemLicenseNotPassed,
    /// AMI MegaRAC of NVIDIA's DGX H100, spelt so: 503 `Ami.1.0.HMCCommuicationFailed`
    /// (NVIDIA/infra-controller issue 5418).
    HmcCommuicationFailed,
}

impl VendorError {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Sys518,
        Self::Swc0700,
        Self::Rac0218,
        Self::Psu501,
        Self::InvalidOperationForSystemState,
        Self::OemLicenseNotPassed,
        Self::HmcCommuicationFailed,
    ];

    /// The HTTP status that it comes with.
    pub fn status(self) -> u16 {
        match self {
            Self::Sys518 | Self::Rac0218 | Self::HmcCommuicationFailed => 503,
            Self::Swc0700 | Self::InvalidOperationForSystemState => 400,
            Self::Psu501 => 409,
            Self::OemLicenseNotPassed => 403,
        }
    }

    /// Registry, version and key of its message.
    pub fn message_id(self) -> &'static str {
        match self {
            Self::Sys518 => "IDRAC.2.8.SYS518",
            Self::Swc0700 => "IDRAC.1.6.SWC0700",
            Self::Rac0218 => "IDRAC.2.1.RAC0218",
            Self::Psu501 => "IDRAC.1.6.PSU501",
            Self::InvalidOperationForSystemState => "iLO.2.15.InvalidOperationForSystemState",
            Self::OemLicenseNotPassed => "SMC.1.0.OemLicenseNotPassed",
            Self::HmcCommuicationFailed => "Ami.1.0.HMCCommuicationFailed",
        }
    }
}
