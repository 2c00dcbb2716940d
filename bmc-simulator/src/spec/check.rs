//! Whether a host can be served as it was described.

use super::layers::Layered;
use super::{HostSpec, chassis};
use crate::SimError;
use crate::ipmi::{LONGEST_NAME, LONGEST_PASSWORD};

/// What is wrong with a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The field, as a fleet file names it.
    pub(crate) field: String,
    /// Why, and what to write instead.
    pub(crate) reason: &'static str,
}

impl Wrong {
    pub(crate) fn of(field: impl Into<String>, reason: &'static str) -> Self {
        Self {
            field: field.into(),
            reason,
        }
    }

    /// The same, of a part of a host.
    pub(crate) fn in_part(self, part: &str) -> Self {
        Self {
            field: format!("{part}.{}", self.field),
            ..self
        }
    }

    /// The error of the host of this name.
    pub(crate) fn of_host(self, name: &str) -> SimError {
        SimError::InvalidHost {
            name: name.to_owned(),
            field: self.field,
            reason: self.reason,
        }
    }
}

/// What keeps a host from being served.
#[derive(Debug)]
pub(crate) enum HostFlaw {
    Host(Wrong),
    /// One of its faults, as [`SimError::InvalidFault`].
    Fault(SimError),
}

impl HostFlaw {
    /// The error of the host of this name.
    pub(crate) fn of_host(self, name: &str) -> SimError {
        match self {
            Self::Host(wrong) => wrong.of_host(name),
            Self::Fault(error) => error,
        }
    }
}

impl From<Wrong> for HostFlaw {
    fn from(wrong: Wrong) -> Self {
        Self::Host(wrong)
    }
}

impl HostSpec {
    /// # Errors
    /// The first thing that is wrong with it.
    pub(crate) fn check(&self, behind_one_port: bool) -> Result<(), HostFlaw> {
        let layered = self.layered();
        if !plain(&self.name) {
            let reason = "the name must be letters, digits, `-`, `_` and `.`: choose such a name";
            return Err(Wrong::of("name", reason).into());
        }
        if behind_one_port && !is_dns_label(&self.name) {
            let reason = "behind one port the name is a part of a DNS name: choose 1 to 63 letters, digits, `_` and \
                          `-`, with no `-` at either end";
            return Err(Wrong::of("name", reason).into());
        }
        self.check_ids(&layered)?;
        self.check_chassis(&layered)?;
        let target = layered.target(behind_one_port);
        let checked = self.faults.iter().try_for_each(|fault| fault.check_at(&target));
        checked.map_err(HostFlaw::Fault)?;
        if self.bind.is_unspecified() {
            let reason = "no certificate can name the unspecified address: bind one real address";
            return Err(Wrong::of("address", reason).into());
        }
        check_login(&self.username, self.password.as_deref(), self.ipmi.is_some())?;
        if let Some(ipmi) = &layered.ipmi {
            ipmi.check(self, &layered)?;
        }
        let redfish = layered.redfish.check();
        Ok(redfish.map_err(|wrong| wrong.in_part("redfish"))?)
    }

    fn check_ids(&self, layered: &Layered) -> Result<(), Wrong> {
        let of_one = [
            ("systemId", &self.system_id),
            ("uuid", &self.uuid),
            ("serialNumber", &self.serial),
        ];
        let of_one = of_one.iter().find(|(_, said)| said.is_some());
        if let Some((field, _)) = of_one.filter(|_| !self.machines.is_empty()) {
            let reason =
                "with several machines each has its own id, UUID and serial number: say them of the machine";
            return Err(Wrong::of(*field, reason));
        }
        let mut known: Vec<&str> = Vec::new();
        for (field, id) in self.ids(layered) {
            if !plain(id) {
                let reason = "a system id must be letters, digits, `-`, `_` and `.`: choose such an id";
                return Err(Wrong::of(field, reason));
            }
            if known.contains(&id) {
                let reason = "two systems have the same id: give each its own";
                return Err(Wrong::of(field, reason));
            }
            known.push(id);
        }
        Ok(())
    }

    /// Ids of all systems, with the fields in which they are said.
    fn ids<'a>(&'a self, layered: &'a Layered) -> impl Iterator<Item = (String, &'a str)> {
        let decoys = layered.decoys.iter().enumerate().map(|(index, decoy)| {
            let before = layered.decoys.iter().take(index);
            let before = before.filter(|other| other.id == decoy.id).count();
            let said = self.decoys.iter().enumerate();
            let said = said.filter(|(_, said)| said.id == decoy.id).nth(before);
            let field = said.map_or("personality".to_owned(), |(index, _)| {
                format!("decoys[{index}].id")
            });
            (field, decoy.id.as_str())
        });
        let machines = layered.machines.iter().enumerate().map(|(index, machine)| {
            let only = self.machines.is_empty();
            let field = if only {
                "systemId".to_owned()
            } else {
                format!("machines[{index}].id")
            };
            (field, machine.id.as_str())
        });
        // What is usual comes before what was said, and so is not blamed.
        machines.chain(decoys)
    }

    fn check_chassis(&self, layered: &Layered) -> Result<(), Wrong> {
        let field = |index: usize| {
            let own = self.machines.get(index);
            match own.filter(|machine| machine.chassis.is_some()) {
                Some(_) => format!("machines[{index}].chassis"),
                None => "chassis".to_owned(),
            }
        };
        for (index, machine) in layered.machines.iter().enumerate() {
            let path = &machine.chassis;
            if path.is_empty() || !path.iter().all(|id| plain(id)) {
                let reason = "a chassis is a list of ids of letters, digits, `-`, `_` and `.`, one or more: write such ids";
                return Err(Wrong::of(field(index), reason));
            }
        }
        if let Some(index) = chassis::astray(&layered.machines) {
            let reason = "a chassis is in two places: let its id come after the same ids wherever it comes";
            return Err(Wrong::of(field(index), reason));
        }
        Ok(())
    }
}

/// Whether a text can stand in a URI as it is.
fn plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether a name that is [`plain`] can be one label of a DNS name (RFC 1035, section 2.3.1).
fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && !name.contains('.') && !name.starts_with('-') && !name.ends_with('-')
}

/// What of a login no client could send, and what to write instead. A password that is absent is made later.
pub(crate) fn check_login(username: &str, password: Option<&str>, over_ipmi: bool) -> Result<(), Wrong> {
    let fits = |text: &str, longest: usize| !over_ipmi || text.len() <= longest;
    if username.is_empty() || username.contains(':') {
        let reason = "HTTP Basic cannot carry an empty user name or one with a colon: choose another";
        return Err(Wrong::of("username", reason));
    }
    if username.contains(char::is_control) {
        let reason = "a user name has no control characters: choose another";
        return Err(Wrong::of("username", reason));
    }
    if !fits(username, LONGEST_NAME) {
        let reason = "IPMI: user names have 1 to 16 bytes: choose a shorter one";
        return Err(Wrong::of("username", reason));
    }
    let Some(password) = password else {
        return Ok(());
    };
    if password.is_empty() || password.contains(char::is_control) {
        let reason = "a password is not empty and has no control characters: choose another";
        return Err(Wrong::of("password", reason));
    }
    if !fits(password, LONGEST_PASSWORD) {
        let reason = "IPMI: passwords have at most 20 bytes: choose a shorter one";
        return Err(Wrong::of("password", reason));
    }
    Ok(())
}
