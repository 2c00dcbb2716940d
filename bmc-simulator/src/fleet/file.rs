//! The shape of a fleet file.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::fault::Injection;
use crate::ipmi::Privilege;
use crate::personality::Personality;
use crate::power::{Power, PowerRestorePolicy};
use crate::spec::Fields;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct File {
    pub(super) seed: Option<u64>,
    /// Where the control API listens.
    pub(super) control: Option<Spanned<SocketAddr>>,
    /// One address and port for the HTTPS of all BMCs.
    pub(super) one_port: Option<SocketAddr>,
    /// Whether searches over SSDP are answered.
    #[serde(default)]
    pub(super) ssdp: bool,
    /// What holds for every group that does not say otherwise.
    #[serde(default)]
    pub(super) defaults: Traits,
    pub(super) hosts: Spanned<Vec<Group>>,
}

/// One host, or many that are alike.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Group {
    /// In a group `{}` stands for the number of the host, counted from 1.
    pub(super) name: Spanned<String>,
    pub(super) count: Option<Spanned<u16>>,
    /// Of the first host; the others of the group follow.
    pub(super) address: Option<Spanned<IpAddr>>,
    pub(super) port: Option<Spanned<u16>>,
    pub(super) uuid: Option<String>,
    pub(super) serial_number: Option<String>,
    // The traits again, one by one: serde cannot flatten and name unknown fields at once.
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    pub(super) system_id: Option<String>,
    pub(super) manufacturer: Option<String>,
    pub(super) model: Option<String>,
    pub(super) power: Option<Power>,
    pub(super) delays: Option<Fields>,
    pub(super) bmc_boot: Option<Fields>,
    pub(super) power_restore_policy: Option<PowerRestorePolicy>,
    pub(super) machines: Option<Vec<Machine>>,
    pub(super) chassis: Option<Vec<String>>,
    pub(super) decoys: Option<Vec<Decoy>>,
    pub(super) faults: Option<Vec<Injection>>,
    pub(super) redfish: Option<Fields>,
    #[serde(default, deserialize_with = "even_empty")]
    pub(super) ipmi: Option<Ipmi>,
    pub(super) personality: Option<Personality>,
}

/// What hosts can have in common.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Traits {
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    pub(super) system_id: Option<String>,
    pub(super) manufacturer: Option<String>,
    pub(super) model: Option<String>,
    pub(super) power: Option<Power>,
    pub(super) delays: Option<Fields>,
    pub(super) bmc_boot: Option<Fields>,
    pub(super) power_restore_policy: Option<PowerRestorePolicy>,
    pub(super) machines: Option<Vec<Machine>>,
    pub(super) chassis: Option<Vec<String>>,
    pub(super) decoys: Option<Vec<Decoy>>,
    pub(super) faults: Option<Vec<Injection>>,
    pub(super) redfish: Option<Fields>,
    #[serde(deserialize_with = "even_empty")]
    pub(super) ipmi: Option<Ipmi>,
    pub(super) personality: Option<Personality>,
}

/// IPMI beside Redfish, at the same address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Ipmi {
    /// UDP port; 623 for a host with an address of its own, else any free one.
    pub(super) port: Option<u16>,
    /// Ids of the cipher suites that it offers.
    pub(super) cipher_suites: Option<Vec<u8>>,
    /// The highest privilege that the BMC's login may ask for.
    pub(super) login_limit: Option<Privilege>,
    /// Whether a reset of a machine that is off is refused.
    pub(super) reset_while_off_refused: Option<bool>,
}

impl Ipmi {
    /// These fields, and those of the defaults that are not among them.
    fn over(&self, defaults: &Self) -> Self {
        Self {
            port: self.port.or(defaults.port),
            cipher_suites: or(self.cipher_suites.as_ref(), defaults.cipher_suites.as_ref()),
            login_limit: self.login_limit.or(defaults.login_limit),
            reset_while_off_refused: self.reset_while_off_refused.or(defaults.reset_while_off_refused),
        }
    }
}

/// `ipmi:` with nothing after it asks for IPMI as much as `ipmi: {}` does.
fn even_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ipmi>, D::Error> {
    let said = Option::deserialize(deserializer)?;
    Ok(Some(said.unwrap_or_default()))
}

/// A system that is listed before the real one.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Decoy {
    pub(super) id: String,
    pub(super) uuid: Option<String>,
}

/// One of several machines behind one BMC.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) id: String,
    pub(super) uuid: Option<String>,
    pub(super) serial_number: Option<String>,
    pub(super) power: Option<Power>,
    pub(super) delays: Option<Fields>,
    pub(super) power_restore_policy: Option<PowerRestorePolicy>,
    pub(super) chassis: Option<Vec<String>>,
}

impl Group {
    /// What this group says, and what the defaults say where it says nothing: blocks of fields field by
    /// field, lists whole.
    pub(super) fn traits(&self, defaults: &Traits) -> Traits {
        Traits {
            username: or(self.username.as_ref(), defaults.username.as_ref()),
            password: or(self.password.as_ref(), defaults.password.as_ref()),
            system_id: or(self.system_id.as_ref(), defaults.system_id.as_ref()),
            manufacturer: or(self.manufacturer.as_ref(), defaults.manufacturer.as_ref()),
            model: or(self.model.as_ref(), defaults.model.as_ref()),
            power: self.power.or(defaults.power),
            delays: merged(self.delays.as_ref(), defaults.delays.as_ref()),
            bmc_boot: merged(self.bmc_boot.as_ref(), defaults.bmc_boot.as_ref()),
            power_restore_policy: self.power_restore_policy.or(defaults.power_restore_policy),
            machines: or(self.machines.as_ref(), defaults.machines.as_ref()),
            chassis: or(self.chassis.as_ref(), defaults.chassis.as_ref()),
            decoys: or(self.decoys.as_ref(), defaults.decoys.as_ref()),
            faults: or(self.faults.as_ref(), defaults.faults.as_ref()),
            redfish: merged(self.redfish.as_ref(), defaults.redfish.as_ref()),
            ipmi: match (&self.ipmi, &defaults.ipmi) {
                (Some(own), Some(default)) => Some(own.over(default)),
                (own, default) => or(own.as_ref(), default.as_ref()),
            },
            personality: self.personality.or(defaults.personality),
        }
    }
}

fn or<T: Clone>(own: Option<&T>, default: Option<&T>) -> Option<T> {
    own.or(default).cloned()
}

fn merged(own: Option<&Fields>, default: Option<&Fields>) -> Option<Fields> {
    let (Some(own), Some(default)) = (own, default) else {
        return or(own, default);
    };
    let mut fields = default.clone();
    fields.extend(own.clone());
    Some(fields)
}
