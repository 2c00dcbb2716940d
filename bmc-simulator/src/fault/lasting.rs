//! What faults mean to the BMC that are not about single requests.

use super::{CertificateDefect, Fault, FaultSet};

impl FaultSet {
    /// What is wrong with the certificate that is presented.
    pub(crate) fn certificate_defect(&self) -> Option<CertificateDefect> {
        self.find(|fault| {
            if let Fault::Certificate(defect) = fault {
                Some(*defect)
            } else {
                None
            }
        })
    }

    /// Requests in one second at which the BMC gives up.
    pub(crate) fn rate_limit(&self) -> Option<u32> {
        self.find(|fault| {
            if let Fault::CrashAbove { requests_per_second } = fault {
                Some(*requests_per_second)
            } else {
                None
            }
        })
    }
}
