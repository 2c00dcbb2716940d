//! What a BMC would let us do, and the same in the words of the core, which knows no protocols.

use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

use super::{BmcTarget, PowerRead, PresentedCertificate, Protocol, ServerTrust, Verb};
use remediator_core::readiness::{BmcReport, Certificate};

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Power state and identity, and what became of the last command.
    Power,
    /// Power state, identity, and what could be commanded.
    Everything,
}

/// What a BMC would let us do, found out without changing anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// Power state and identity.
    pub reading: PowerRead,
    /// When the request was sent whose answer says the power state, at the latest.
    pub sent: Instant,
    /// How long after that the reading was complete.
    pub took: Duration,
    /// How we are logged in.
    pub login: Login,
    /// The certificate that it presented; `None` without TLS.
    pub certificate: Option<PresentedCertificate>,
    /// The version of TLS, as OpenSSL writes it.
    pub tls_version: Option<&'static str>,
    /// The reset types that it says it offers; `None` if it does not say or was not asked.
    pub offers: Option<Vec<String>>,
}

impl Inspection {
    /// The verbs that it does not offer although it lists what it offers.
    pub fn missing(&self) -> Vec<Verb> {
        let offers = self.offers.as_deref().unwrap_or_default();
        let lacks = |verb: &Verb| !offers.is_empty() && !offers.iter().any(|word| word == verb.reset_type());
        let verbs = [Verb::PowerOff, Verb::PowerOn, Verb::Restart];
        verbs.into_iter().filter(lacks).collect()
    }

    /// What the core judges. `target` is what was inspected.
    pub fn found(&self, target: &BmcTarget) -> BmcReport {
        let dates_matter = match &target.trust {
            ServerTrust::CertificateAuthority(_) | ServerTrust::SystemRoots => true,
            ServerTrust::Fingerprints(_) | ServerTrust::Unverified => false,
        };
        let login = match self.login {
            Login::Session => "a session".to_owned(),
            Login::Basic => "HTTP Basic".to_owned(),
            Login::CipherSuite(number) => format!("cipher suite {number}"),
        };
        let source = self.reading.protocol;
        let stands_alone = target
            .fallback
            .filter(|_| source == Protocol::Redfish)
            .and_then(|_| target.credentials.check_for_ipmi().err());
        let alone = stands_alone.map(|error| format!(" and nothing to fall back to ({error})"));
        BmcReport {
            took: SignedDuration::try_from(self.took).unwrap_or(SignedDuration::MAX),
            how: format!("{source} with {login}{}", alone.unwrap_or_default()),
            fallback: self.reading.fallback.clone(),
            power: self.reading.power,
            said: self.reading.literal.clone(),
            uuid: self.reading.uuid.clone(),
            system: self.reading.system.clone(),
            missing: self.missing(),
            certificate: self.certificate.as_ref().map(|certificate| Certificate {
                not_after: certificate.not_after,
                dates_matter,
            }),
        }
    }
}

/// How we are known to a BMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// By a Redfish session.
    Session,
    /// By HTTP Basic.
    Basic,
    /// By an IPMI session with the cipher suite of this number.
    CipherSuite(u8),
}
