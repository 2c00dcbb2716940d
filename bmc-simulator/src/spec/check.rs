//! Whether a host can be served as it was described.

use super::HostSpec;
use super::layers::Layered;
use crate::SimError;
use crate::fault::Injection;

impl HostSpec {
    /// # Errors
    /// [`SimError::InvalidHost`] and [`SimError::InvalidFault`], with what to write instead.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        let layered = self.layered();
        let refuse = |reason| {
            Err(SimError::InvalidHost {
                name: self.name.clone(),
                reason,
            })
        };
        let plain = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if !plain(&self.name) {
            return refuse("the name must be letters, digits, `-`, `_` and `.`: choose such a name");
        }
        let ids: Vec<&str> = self.ids(&layered).collect();
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
        self.faults.iter().try_for_each(Injection::check)?;
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

    fn ids<'a>(&'a self, layered: &'a Layered) -> impl Iterator<Item = &'a str> {
        let decoys = layered.decoys.iter().map(|decoy| decoy.id.as_str());
        decoys.chain(std::iter::once(self.system_id.as_str()))
    }
}
