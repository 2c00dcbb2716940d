//! The schemes of metal3, today's and yesterday's.

use super::{AddressError, Transport};

/// What a scheme asks for.
pub(super) enum Kind {
    /// Redfish over this transport.
    Redfish(Transport),
    /// IPMI 2.0.
    Ipmi,
}

impl Kind {
    /// Reads a lower-case scheme.
    ///
    /// Of the drivers that baremetal-operator has removed, `ilo5`, `ibmc` and `idrac` belong to
    /// BMCs that speak Redfish; for the others the administrator has to choose.
    pub(super) fn of(scheme: &str) -> Result<Self, AddressError> {
        let (family, transport) = match scheme.split_once('+') {
            Some((family, "https")) => (family, Some(Transport::Https)),
            Some((family, "http")) => (family, Some(Transport::Http)),
            Some(_) => return Err(unknown(scheme)),
            None => (scheme, None),
        };
        match (family, transport) {
            (
                "redfish"
                | "ilo5-redfish"
                | "idrac-redfish"
                | "redfish-virtualmedia"
                | "ilo5-virtualmedia"
                | "idrac-virtualmedia"
                | "redfish-uefihttp"
                | "ibmc"
                | "idrac",
                transport,
            ) => Ok(Self::Redfish(transport.unwrap_or(Transport::Https))),
            ("ilo5", None) => Ok(Self::Redfish(Transport::Https)),
            ("ipmi" | "libvirt", None) => Ok(Self::Ipmi),
            ("irmc", None) => Err(AddressError::RemovedScheme {
                scheme: "irmc",
                advice: "write redfish:// if this iRMC speaks Redfish, else ipmi://.",
            }),
            ("ilo4", None) => Err(AddressError::RemovedScheme {
                scheme: "ilo4",
                advice: ILO4,
            }),
            ("ilo4-virtualmedia", None) => Err(AddressError::RemovedScheme {
                scheme: "ilo4-virtualmedia",
                advice: ILO4,
            }),
            _ => Err(unknown(scheme)),
        }
    }
}

const ILO4: &str = "write redfish:// if this iLO 4 has firmware 2.30 or later, else ipmi://.";

fn unknown(scheme: &str) -> AddressError {
    AddressError::UnknownScheme {
        scheme: scheme.chars().take(32).collect(),
    }
}
