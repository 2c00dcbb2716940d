//! Changing what a BMC is like while it runs.

use super::Host;
use crate::SimError;
use crate::redfish::{self, RedfishSpec};

impl Host {
    /// How its Redfish service behaves now.
    pub fn redfish(&self) -> RedfishSpec {
        self.core.act(|acting| acting.state.redfish.spec().clone())
    }

    /// Changes how its Redfish service behaves, from the next request on; `change` gets what is so now.
    ///
    /// # Errors
    /// [`SimError::InvalidHost`] for what could not work; then nothing has changed.
    pub fn change_redfish(&self, change: impl FnOnce(RedfishSpec) -> RedfishSpec) -> Result<(), SimError> {
        self.core.act(|acting| {
            let wanted = change(acting.state.redfish.spec().clone());
            let checked = wanted.check().map_err(|wrong| wrong.in_part("redfish"));
            checked.map_err(|wrong| wrong.of_host(&acting.core.name))?;
            redfish::respecify(acting, wanted);
            Ok(())
        })
    }
}
