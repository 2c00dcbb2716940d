//! Whether a host can be served as it was described.

use super::HostSpec;
use super::chassis;
use super::layers::Layered;
use crate::SimError;

impl HostSpec {
    /// # Errors
    /// [`SimError::InvalidHost`] and [`SimError::InvalidFault`], with what to write instead.
    pub(crate) fn check(&self, behind_one_port: bool) -> Result<(), SimError> {
        let layered = self.layered();
        let refuse = |reason| {
            Err(SimError::InvalidHost {
                name: self.name.clone(),
                reason,
            })
        };
        if !plain(&self.name) {
            return refuse("the name must be letters, digits, `-`, `_` and `.`: choose such a name");
        }
        let ids: Vec<&str> = Self::ids(&layered).collect();
        if !ids.iter().all(|id| plain(id)) {
            return refuse("a system id must be letters, digits, `-`, `_` and `.`: choose such an id");
        }
        if ids
            .iter()
            .enumerate()
            .any(|(index, id)| ids.iter().take(index).any(|other| other == id))
        {
            return refuse("two systems have the same id: give each its own");
        }
        self.check_machines(&layered).or_else(refuse)?;
        let target = layered.target(behind_one_port);
        self.faults.iter().try_for_each(|fault| fault.check_at(&target))?;
        if self.bind.is_unspecified() {
            return refuse("no certificate can name the unspecified address: bind one real address");
        }
        if self.username.is_empty() || self.username.contains(':') {
            return refuse("HTTP Basic cannot carry an empty user name or one with a colon: choose another");
        }
        let ipmi = layered.ipmi.as_ref();
        let checked = ipmi.map_or(Ok(()), |ipmi| ipmi.check(self));
        checked.and_then(|()| layered.redfish.check()).or_else(refuse)
    }

    fn check_machines(&self, layered: &Layered) -> Result<(), &'static str> {
        let of_one = [&self.system_id, &self.uuid, &self.serial];
        if !self.machines.is_empty() && of_one.iter().any(|said| said.is_some()) {
            return Err(
                "with several machines each has its own id, UUID and serial number: say them of the machine",
            );
        }
        let mut paths = layered.machines.iter().map(|machine| &machine.chassis);
        if !paths.all(|path| !path.is_empty() && path.iter().all(|id| plain(id))) {
            return Err(
                "a chassis is a list of ids of letters, digits, `-`, `_` and `.`, one or more: write such ids",
            );
        }
        if !chassis::is_a_tree(&layered.machines) {
            return Err("a chassis is in two places: let its id come after the same ids wherever it comes");
        }
        Ok(())
    }

    fn ids(layered: &Layered) -> impl Iterator<Item = &str> {
        let decoys = layered.decoys.iter().map(|decoy| decoy.id.as_str());
        decoys.chain(layered.machines.iter().map(|machine| machine.id.as_str()))
    }
}

/// Whether a text can stand in a URI as it is.
fn plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
