//! The faults of one host, as tests set and clear them.

use super::Host;
use crate::SimError;
use crate::fault::Injection;

impl Host {
    /// Adds a fault to those in force. Faults injected earlier win where two would answer, and those of
    /// the personality come last.
    ///
    /// # Errors
    /// [`SimError::InvalidFault`] when it could have no effect as it is.
    pub fn inject(&self, fault: impl Into<Injection>) -> Result<(), SimError> {
        let injection = fault.into();
        injection.check_at(&self.core.target)?;
        self.core.act(|acting| {
            acting.state.faults.add(injection);
            acting.apply_faults();
        });
        Ok(())
    }

    /// Replaces all injected faults by these; those of the personality stay.
    ///
    /// # Errors
    /// [`SimError::InvalidFault`] for the first bad one; then nothing has changed.
    pub fn set_faults(&self, faults: Vec<Injection>) -> Result<(), SimError> {
        let target = &self.core.target;
        faults.iter().try_for_each(|fault| fault.check_at(target))?;
        self.core.act(|acting| acting.set_faults(faults));
        Ok(())
    }

    /// Ends all injected faults; those of the personality stay. What they did to the machine stays done; a
    /// stuck power-off is forgotten; requests that hang go on hanging.
    pub fn clear_faults(&self) {
        self.core.act(|acting| {
            acting.state.faults.clear();
            acting.apply_faults();
        });
    }

    /// Ends the faults that belong to the personality, for good. Its other traits stay.
    pub fn clear_personality_faults(&self) {
        self.core.act(|acting| {
            acting.state.faults.set_personality(Vec::new());
            acting.apply_faults();
        });
    }

    /// Faults that were injected and are not used up, with the times they have left.
    pub fn faults(&self) -> Vec<Injection> {
        self.core.act(|acting| acting.state.faults.list())
    }

    /// Faults that belong to the personality.
    pub fn personality_faults(&self) -> Vec<Injection> {
        self.core.act(|acting| acting.state.faults.of_personality())
    }
}
