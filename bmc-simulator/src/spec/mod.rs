//! What a simulated host is to be: its name, identity, login, address and delays.

mod chassis;
mod check;
mod identity;
mod layers;
mod machine;
mod uuids;

pub(crate) use chassis::Enclosure;
pub(crate) use check::{HostFlaw, Wrong, check_login};
pub(crate) use identity::{Identities, Identity};
pub(crate) use layers::{Fields, Layered, Misfit};
pub(crate) use machine::MachinePlan;
pub use machine::MachineSpec;
pub(crate) use uuids::{Shared, Uuids, check as check_uuids};

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::fault::Injection;
use crate::host::BootSequence;
use crate::ipmi::IpmiSpec;
use crate::personality::Personality;
use crate::power::{Delays, Power, PowerRestorePolicy};
use crate::redfish::RedfishSpec;
use layers::Change;

/// A login. `Debug` hides the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// User name.
    pub username: String,
    /// Password, in the clear: this is a simulator.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// A system that is listed before the real one, has another identity and is always off (as
/// NVIDIA's `HGX_Baseboard_0` or OpenBMC's `hypervisor`).
#[derive(Debug, Clone)]
pub struct DecoySpec {
    pub(crate) id: String,
    pub(crate) uuid: Option<String>,
}

impl DecoySpec {
    /// A decoy with this id in `/redfish/v1/Systems/{id}`.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            uuid: None,
        }
    }

    /// Its UUID; seeded when not given. Giving the real system's makes the two ambiguous.
    pub fn uuid(self, uuid: impl Into<String>) -> Self {
        Self {
            uuid: Some(uuid.into()),
            ..self
        }
    }
}

/// One host and its BMC, or a BMC with several machines. Whatever is not given comes from the simulator's
/// seed and the name.
#[derive(Clone)]
pub struct HostSpec {
    pub(crate) name: String,
    pub(crate) system_id: Option<String>,
    pub(crate) uuid: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) personality: Option<Personality>,
    pub(crate) manufacturer: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) username: String,
    pub(crate) password: Option<String>,
    pub(crate) bind: IpAddr,
    pub(crate) port: u16,
    usual_delays: Delays,
    delays: Option<Delays>,
    delay_changes: Vec<Change<Delays>>,
    pub(crate) power: Power,
    pub(crate) machines: Vec<MachineSpec>,
    pub(crate) chassis: Option<Vec<String>>,
    pub(crate) decoys: Vec<DecoySpec>,
    pub(crate) bmc_boot: Option<BootSequence>,
    bmc_boot_changes: Vec<Change<BootSequence>>,
    pub(crate) restore: PowerRestorePolicy,
    pub(crate) faults: Vec<Injection>,
    pub(crate) ipmi: Option<IpmiSpec>,
    redfish: Option<RedfishSpec>,
    redfish_changes: Vec<Change<RedfishSpec>>,
}

impl std::fmt::Debug for HostSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not derived: the password is in there.
        formatter
            .debug_struct("HostSpec")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl HostSpec {
    /// A host that is on and booted, with a BMC on a free port of 127.0.0.1.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            system_id: None,
            uuid: None,
            serial: None,
            personality: None,
            manufacturer: None,
            model: None,
            username: "admin".to_owned(),
            password: None,
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            usual_delays: Delays::default(),
            delays: None,
            delay_changes: Vec::new(),
            power: Power::On,
            machines: Vec::new(),
            chassis: None,
            decoys: Vec::new(),
            bmc_boot: None,
            bmc_boot_changes: Vec::new(),
            restore: PowerRestorePolicy::default(),
            faults: Vec::new(),
            ipmi: None,
            redfish: None,
            redfish_changes: Vec::new(),
        }
    }

    /// Makes it a BMC of this family. What is said besides wins, before or after.
    pub fn personality(self, personality: Personality) -> Self {
        Self {
            personality: Some(personality),
            ..self
        }
    }

    /// The system's UUID as Redfish reports it.
    pub fn system_uuid(self, uuid: impl Into<String>) -> Self {
        Self {
            uuid: Some(uuid.into()),
            ..self
        }
    }

    /// The system's serial number.
    pub fn serial_number(self, serial: impl Into<String>) -> Self {
        Self {
            serial: Some(serial.into()),
            ..self
        }
    }

    /// The id in `/redfish/v1/Systems/{id}`; the personality's when not given, else `1`.
    pub fn system_id(self, id: impl Into<String>) -> Self {
        Self {
            system_id: Some(id.into()),
            ..self
        }
    }

    /// Manufacturer and model; the personality's when not given.
    pub fn product(self, manufacturer: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            manufacturer: Some(manufacturer.into()),
            model: Some(model.into()),
            ..self
        }
    }

    /// The BMC's login.
    pub fn credentials(self, username: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            username: username.into(),
            password: Some(password.into()),
            ..self
        }
    }

    /// The BMC's user name, with a seeded password; `admin` when neither this nor
    /// [`credentials`](Self::credentials) is given.
    pub fn username(self, username: impl Into<String>) -> Self {
        Self {
            username: username.into(),
            password: None,
            ..self
        }
    }

    /// The BMC's address, for example any of 127.0.0.0/8.
    pub fn bind(self, address: IpAddr) -> Self {
        Self {
            bind: address,
            ..self
        }
    }

    /// The BMC's TCP port; 0 (any free one) when not given.
    pub fn port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// How long the machine takes, all four delays; the personality's when not given, else
    /// [`usual_delays`](Self::usual_delays).
    pub fn delays(self, delays: Delays) -> Self {
        Self {
            delays: Some(delays),
            ..self
        }
    }

    /// The delays of which the personality says nothing; all zero with a hung operating system when not
    /// given. The program and fleet files have [`Delays::USUAL`].
    pub fn usual_delays(self, usual_delays: Delays) -> Self {
        Self { usual_delays, ..self }
    }

    /// Changes the delays that it has, whether they were given or are the personality's.
    pub fn change_delays(mut self, change: impl Fn(Delays) -> Delays + Send + Sync + 'static) -> Self {
        self.delay_changes.push(Arc::new(change));
        self
    }

    /// Begins off instead of on.
    pub fn initially_off(self) -> Self {
        Self {
            power: Power::Off,
            ..self
        }
    }

    /// How the BMC itself comes up after a reboot; as the personality's when not given.
    pub fn bmc_boot(self, bmc_boot: BootSequence) -> Self {
        Self {
            bmc_boot: Some(bmc_boot),
            ..self
        }
    }

    /// What the machine does when the mains are back.
    pub fn power_restore_policy(self, restore: PowerRestorePolicy) -> Self {
        Self { restore, ..self }
    }

    /// Begins with this fault in force, beside those of the personality.
    pub fn fault(mut self, fault: impl Into<Injection>) -> Self {
        self.faults.push(fault.into());
        self
    }

    /// Adds a decoy system, listed before the real one, or describes the one with this id that the
    /// personality has.
    pub fn decoy(mut self, decoy: DecoySpec) -> Self {
        self.decoys.push(decoy);
        self
    }

    /// Lets the BMC speak IPMI, too, at the same address; it does not when this is not given.
    pub fn ipmi(self, ipmi: IpmiSpec) -> Self {
        Self {
            ipmi: Some(ipmi),
            ..self
        }
    }

    /// How its Redfish service behaves. Fields that are as in [`RedfishSpec::default`] say nothing: they
    /// are the personality's. [`change_redfish`](Self::change_redfish) says them all the same.
    pub fn redfish(self, redfish: RedfishSpec) -> Self {
        Self {
            redfish: Some(redfish),
            ..self
        }
    }

    /// Changes the settings that its Redfish service has, whether they were given or are the
    /// personality's.
    pub fn change_redfish(
        mut self,
        change: impl Fn(RedfishSpec) -> RedfishSpec + Send + Sync + 'static,
    ) -> Self {
        self.redfish_changes.push(Arc::new(change));
        self
    }
}
