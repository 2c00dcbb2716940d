//! An inspection in the words of the core, which knows no protocols.

use super::{BmcTarget, Inspection, Login, PowerCommand, ServerTrust};
use crate::core::readiness::{Certificate, Found};

impl Inspection {
    /// What the core judges. `target` is what was inspected.
    pub fn found(&self, target: &BmcTarget) -> Found {
        let dates_matter = match &target.trust {
            ServerTrust::CertificateAuthority(_) | ServerTrust::SystemRoots => true,
            ServerTrust::Fingerprints(_) | ServerTrust::Unverified => false,
        };
        let login = match self.login {
            Login::Session => "a session".to_owned(),
            Login::Basic => "HTTP Basic".to_owned(),
            Login::CipherSuite(number) => format!("cipher suite {number}"),
        };
        Found {
            how: format!("{} with {login}", target.address.protocol),
            power: self.reading.power,
            said: self.reading.literal.clone(),
            uuid: self.reading.uuid.clone(),
            system: self.reading.system.clone(),
            missing: self.missing().into_iter().map(PowerCommand::as_str).collect(),
            certificate: self.certificate.as_ref().map(|certificate| Certificate {
                not_after: certificate.not_after,
                dates_matter,
            }),
        }
    }
}
