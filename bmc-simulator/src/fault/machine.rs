//! What faults mean to one machine, and to what is reported of it.

use std::time::Duration;

use super::{Fault, FaultSet};
use crate::power::{Behaviour, OffHandling};

/// The faults in force for one system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultsOf<'a> {
    all: &'a FaultSet,
    system: &'a str,
}

impl FaultSet {
    /// Those of the system with this id.
    pub(crate) fn of<'a>(&'a self, system: &'a str) -> FaultsOf<'a> {
        FaultsOf { all: self, system }
    }
}

impl FaultsOf<'_> {
    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.find(|present| (present == fault).then_some(())).is_some()
    }

    fn find<T>(&self, wanted: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        self.all.find_of(Some(self.system), wanted)
    }

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
