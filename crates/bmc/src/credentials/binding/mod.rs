//! For which BMCs a Secret is meant, where its annotations say so. Who may name a Secret need not be one who may read
//! it: with this it is offered to no BMC that its owner did not mean.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::address::host_and_port;
use crate::{BmcAddress, BmcTarget, Fingerprint, Host, Protocol, ServerTrust, Transport};

/// What annotations of this kind begin with. One that is not known here may be a slip of the pen.
const PREFIX: &str = "baremetal-remediator.io/for-";

/// Hosts, or hosts and ports, with commas between them.
pub const FOR_ADDRESSES: &str = "baremetal-remediator.io/for-addresses";

/// SHA-256 fingerprints of certificates, with commas between them.
pub const FOR_FINGERPRINTS: &str = "baremetal-remediator.io/for-fingerprints";

/// For which BMCs a Secret is meant; by default for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    addresses: Option<Vec<(Host, Option<u16>)>>,
    fingerprints: Option<Vec<Fingerprint>>,
}

/// Why a Secret is not offered to a BMC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// It cannot be understood; the annotation, and what it has to hold.
    #[error("its annotation {0} must hold {1}, with commas between them. Correct or remove it.")]
    Unreadable(&'static str, &'static str),
    /// An annotation that is not known.
    #[error(
        "it has the annotation {0}, and only {FOR_ADDRESSES} and {FOR_FINGERPRINTS} are known. Correct or remove it."
    )]
    Unknown(String),
    /// Another BMC.
    #[error("its annotation {FOR_ADDRESSES} does not name {0}. Add it there if this BMC is meant.")]
    OtherAddress(String),
    /// A BMC that is not known by its fingerprint.
    #[error(
        "its annotation {FOR_FINGERPRINTS} binds it to certificates, and this BMC is not verified by fingerprints. Give the host a redfish:// address and the fingerprint."
    )]
    NotPinned,
    /// A BMC that is known by another fingerprint.
    #[error(
        "its annotation {FOR_FINGERPRINTS} names none of the fingerprints by which this BMC is verified. Add the right one if this BMC is meant."
    )]
    OtherFingerprints,
}

impl Binding {
    /// Reads the annotations of a Secret.
    ///
    /// # Errors
    /// [`BindingError`]: `Unreadable`, `Unknown`.
    pub fn of(annotations: &BTreeMap<String, String>) -> Result<Self, BindingError> {
        let mut binding = Self::default();
        for (key, value) in annotations.iter().filter(|(key, _)| key.starts_with(PREFIX)) {
            match key.as_str() {
                FOR_ADDRESSES => {
                    let read: Option<_> = value.split(',').map(|text| host_and_port(text.trim())).collect();
                    let wrong = BindingError::Unreadable(
                        FOR_ADDRESSES,
                        "hosts, or hosts and ports such as 192.0.2.10:443",
                    );
                    binding.addresses = Some(read.ok_or(wrong)?);
                }
                FOR_FINGERPRINTS => {
                    let read: Result<_, _> = value.split(',').map(str::parse).collect();
                    let wrong = |_| {
                        BindingError::Unreadable(FOR_FINGERPRINTS, "SHA-256 fingerprints of certificates")
                    };
                    binding.fingerprints = Some(read.map_err(wrong)?);
                }
                _ => return Err(BindingError::Unknown(key.clone())),
            }
        }
        Ok(binding)
    }

    /// A target that the Secret is meant for: verified by nothing but the fingerprints that the Secret names, and over IPMI
    /// in place of Redfish only where the Secret is meant for that, too.
    ///
    /// # Errors
    /// [`BindingError`]: `OtherAddress`, `NotPinned`, `OtherFingerprints`.
    pub fn narrow(&self, mut target: BmcTarget) -> Result<BmcTarget, BindingError> {
        let BmcAddress { host, port, .. } = &target.address;
        if !self.names(host, *port) {
            return Err(BindingError::OtherAddress(format!("{}:{port}", host.bracketed())));
        }
        target.fallback = target.fallback.filter(|port| self.names(host, *port));
        let Some(bound) = &self.fingerprints else {
            return Ok(target);
        };
        let over_tls =
            (target.address.protocol, target.address.transport) == (Protocol::Redfish, Transport::Https);
        let pins = match &target.trust {
            ServerTrust::Fingerprints(pins) if over_tls => pins,
            ServerTrust::Fingerprints(_)
            | ServerTrust::CertificateAuthority(_)
            | ServerTrust::SystemRoots
            | ServerTrust::Unverified => return Err(BindingError::NotPinned),
        };
        let both: Vec<_> = pins.iter().filter(|pin| bound.contains(pin)).copied().collect();
        if both.is_empty() {
            return Err(BindingError::OtherFingerprints);
        }
        target.trust = ServerTrust::Fingerprints(both);
        // IPMI has no certificate.
        target.fallback = None;
        Ok(target)
    }

    fn names(&self, host: &Host, port: u16) -> bool {
        let is_it = |(named, on): &(Host, Option<u16>)| named == host && on.is_none_or(|on| on == port);
        self.addresses
            .as_ref()
            .is_none_or(|named| named.iter().any(is_it))
    }
}
