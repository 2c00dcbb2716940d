//! Whether a host is one at which a fault could have an effect.

use super::check::{Wrong, wrong};
use super::{Fault, Injection, IpmiFault};
use crate::RequestClass;

/// What a fault meets at the host that it is meant for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    /// Ids of the cipher suites that it offers over IPMI; absent = it does not speak it.
    pub(crate) ipmi_suites: Option<Vec<u8>>,
    /// Ids of the systems that are machines.
    pub(crate) systems: Vec<String>,
    /// Its HTTPS is behind the same port as that of others.
    pub(crate) behind_one_port: bool,
}

impl Injection {
    pub(super) fn check_target(&self, target: &Target) -> Result<(), Wrong> {
        self.check_systems(target)?;
        let Some(suites) = &target.ipmi_suites else {
            if self.on.is_some_and(RequestClass::is_ipmi) {
                return wrong("on", "this host has no IPMI: give it some, or write another kind");
            }
            if matches!(self.fault, Fault::Ipmi(_)) {
                return wrong(
                    "fault",
                    "this host has no IPMI: give it some, or leave the fault out",
                );
            }
            return self.check_port(target);
        };
        if let Fault::Ipmi(IpmiFault::RefuseSuite { suite: Some(id), .. }) = self.fault
            && !suites.contains(&id)
        {
            return wrong(
                "suite",
                "this host does not offer this cipher suite: write one that it offers, or leave it out",
            );
        }
        self.check_port(target)
    }

    fn check_systems(&self, target: &Target) -> Result<(), Wrong> {
        let missing = |id: &String| !target.systems.contains(id);
        let expected = || {
            format!(
                "no machine here is this system: write one of {}",
                target.systems.join(", ")
            )
        };
        if self.system.as_ref().is_some_and(missing) {
            return Err(("system", expected()));
        }
        let Fault::WrongNode { executes_on } = &self.fault else {
            return Ok(());
        };
        if missing(executes_on) {
            return Err(("executesOn", expected()));
        }
        if target.systems.len() < 2 || self.system.as_ref() == Some(executes_on) {
            return wrong(
                "executesOn",
                "this is the right node: write another system of the same BMC",
            );
        }
        Ok(())
    }

    fn check_port(&self, target: &Target) -> Result<(), Wrong> {
        let instead = if self.fault == Fault::RefuseConnections {
            "reset-on-connect"
        } else if self.fault == Fault::Blackhole {
            "accept-then-hang"
        } else {
            return Ok(());
        };
        if !target.behind_one_port {
            return Ok(());
        }
        let reason = format!(
            "behind one port every connection is taken before it is known whose it is: use `{instead}`, or \
             give the host a port of its own"
        );
        Err(("fault", reason))
    }
}
