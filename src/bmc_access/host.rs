//! A host whose BMC can be reached: where, with which Secret, and how its certificate is verified.

use remediator_api::bmc_endpoint::CaSource;
use remediator_bmc::{BmcAddress, Fingerprint, ResourcePath, ServerTrust};
use remediator_core::facts::{Host, Obstacle};
use remediator_core::phase::Reason;

/// A host, and how to reach its BMC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedHost {
    pub(crate) host: Host,
    pub(crate) address: BmcAddress,
    pub(crate) secret: String,
    pub(crate) trust: HostTrust,
    /// Which system it was behind its BMC.
    pub(crate) known_system: Option<ResourcePath>,
}

impl ResolvedHost {
    /// Which BMC, for messages.
    pub(crate) fn place(&self) -> String {
        format!("{} at {}", self.host.reference, self.host.bmc)
    }
}

/// Where it is said how the BMC's certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostTrust {
    /// By the object that describes the host.
    Stated(ServerTrust),
    /// By a CA in another object, which is read when it is needed.
    AuthorityIn(CaSource),
    /// By the credentials Secret, with `certificateFingerprints` or `ca.crt`; else the system's roots hold.
    AsTheSecretSays,
}

/// Reads fingerprints of certificates; the obstacle names the place they stand in.
pub(crate) fn fingerprints(
    texts: &[String],
    place: &str,
    reason: Reason,
) -> Result<Vec<Fingerprint>, Obstacle> {
    let wrong = |error| Obstacle::new(reason, format!("{place}: {error}"));
    let parse = |text: &String| text.parse::<Fingerprint>().map_err(wrong);
    texts.iter().map(parse).collect()
}

/// Parses a BMC address; the obstacle names the field.
pub(crate) fn bmc_address(text: &str, field: &str) -> Result<BmcAddress, Obstacle> {
    text.parse()
        .map_err(|error| Obstacle::new(Reason::BmcAddressInvalid, format!("{field}: {error}")))
}
