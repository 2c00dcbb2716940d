//! What faults mean that are not about single requests.

use std::time::Duration;

use super::{CertificateDefect, Fault, FaultSet};
use crate::power::{Behaviour, OffHandling};

impl FaultSet {
    /// What the faults mean to the machine.
    pub(crate) fn behaviour(&self) -> Behaviour {
        let offs = if self.has(&Fault::LieOffWhileOn) {
            OffHandling::Ignored
        } else if self.has(&Fault::StuckPoweringOff) {
            OffHandling::Stuck
        } else {
            OffHandling::Normal
        };
        Behaviour {
            offs,
            ignore_commands: self.has(&Fault::AcceptAndIgnore),
            restart_hangs: self.has(&Fault::ForceRestartHangs),
            lose_on_while_powering_off: self.has(&Fault::LoseOnWhilePoweringOff),
            powers_on_by_itself: self.find(|fault| {
                if let Fault::PowersOnByItself { after } = fault {
                    Some(*after)
                } else {
                    None
                }
            }),
            lose_on_after_off: self.find(|fault| {
                if let Fault::OnLostAfterOff { within } = fault {
                    Some(*within)
                } else {
                    None
                }
            }),
        }
    }

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

    /// How old what is reported is.
    pub(crate) fn report_age(&self) -> Option<Duration> {
        self.find(|fault| {
            if let Fault::StaleReads { age } = fault {
                Some(*age)
            } else {
                None
            }
        })
    }

    /// How long the truth and its opposite are reported in turn.
    pub(crate) fn report_flaps(&self) -> Option<Duration> {
        self.find(|fault| {
            if let Fault::ReportFlaps { every } = fault {
                Some(*every)
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

    /// How long an On to a machine that is on shows as `PoweringOn`.
    pub(crate) fn on_shows_powering_on(&self) -> Option<Duration> {
        self.find(|fault| {
            if let Fault::OnShowsPoweringOn { during } = fault {
                Some(*during)
            } else {
                None
            }
        })
    }

    /// The word to report when the machine's own is `honest`; absent = null.
    pub(crate) fn reported(&self, honest: &str) -> Option<String> {
        let literal = self.find(|fault| {
            if let Fault::ReportLiteral(literal) = fault {
                Some(literal.clone())
            } else {
                None
            }
        });
        let lie = self.has(&Fault::LieOffWhileOn);
        literal.unwrap_or_else(|| Some(if lie { "Off" } else { honest }.to_owned()))
    }
}
