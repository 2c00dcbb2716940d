//! What a simulated host is to be: its name, identity, login, address and delays.

use std::net::{IpAddr, Ipv4Addr};

use crate::SimError;
use crate::fault::Injection;
use crate::host::BootSequence;
use crate::ipmi::IpmiSpec;
use crate::personality::Personality;
use crate::power::{Delays, Power, PowerRestorePolicy};
use crate::redfish::RedfishSpec;
use crate::seed::Seeded;

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

/// One host and its BMC. Whatever is not given comes from the simulator's seed and the name.
#[derive(Clone)]
pub struct HostSpec {
    pub(crate) name: String,
    pub(crate) system_id: String,
    pub(crate) uuid: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) manufacturer: String,
    pub(crate) model: String,
    pub(crate) username: String,
    pub(crate) password: Option<String>,
    pub(crate) bind: IpAddr,
    pub(crate) port: u16,
    pub(crate) delays: Delays,
    pub(crate) power: Power,
    pub(crate) decoys: Vec<DecoySpec>,
    pub(crate) bmc_boot: BootSequence,
    pub(crate) restore: PowerRestorePolicy,
    pub(crate) faults: Vec<Injection>,
    pub(crate) ipmi: Option<IpmiSpec>,
    pub(crate) redfish: RedfishSpec,
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
            system_id: "1".to_owned(),
            uuid: None,
            serial: None,
            manufacturer: "Simulated".to_owned(),
            model: "bmc-simulator".to_owned(),
            username: "admin".to_owned(),
            password: None,
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            delays: Delays::default(),
            power: Power::On,
            decoys: Vec::new(),
            bmc_boot: BootSequence::default(),
            restore: PowerRestorePolicy::default(),
            faults: Vec::new(),
            ipmi: None,
            redfish: RedfishSpec::default(),
        }
    }

    /// Makes it a BMC of this family. What is said after it wins.
    pub fn personality(self, personality: Personality) -> Self {
        personality.apply(self)
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

    /// The id in `/redfish/v1/Systems/{id}`; `1` when not given.
    pub fn system_id(self, id: impl Into<String>) -> Self {
        Self {
            system_id: id.into(),
            ..self
        }
    }

    /// Manufacturer and model.
    pub fn product(self, manufacturer: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            manufacturer: manufacturer.into(),
            model: model.into(),
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

    /// How long the machine takes; all zero with a hung operating system when not given.
    pub fn delays(self, delays: Delays) -> Self {
        Self { delays, ..self }
    }

    /// Changes the delays that it has, such as those of its personality.
    pub fn change_delays(self, change: impl FnOnce(Delays) -> Delays) -> Self {
        let delays = change(self.delays);
        Self { delays, ..self }
    }

    /// Begins off instead of on.
    pub fn initially_off(self) -> Self {
        Self {
            power: Power::Off,
            ..self
        }
    }

    /// How the BMC itself comes up after a reboot.
    pub fn bmc_boot(self, bmc_boot: BootSequence) -> Self {
        Self { bmc_boot, ..self }
    }

    /// What the machine does when the mains are back.
    pub fn power_restore_policy(self, restore: PowerRestorePolicy) -> Self {
        Self { restore, ..self }
    }

    /// Begins with this fault in force.
    pub fn fault(mut self, fault: impl Into<Injection>) -> Self {
        self.faults.push(fault.into());
        self
    }

    /// Adds a decoy system, listed before the real one.
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

    /// How its Redfish service behaves.
    pub fn redfish(self, redfish: RedfishSpec) -> Self {
        Self { redfish, ..self }
    }

    pub(crate) fn check(&self) -> Result<(), SimError> {
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
        let ids: Vec<&str> = self.ids().collect();
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
        let ipmi = self.ipmi.as_ref();
        let checked = ipmi.map_or(Ok(()), |ipmi| ipmi.check(self));
        checked.and_then(|()| self.redfish.check()).or_else(refuse)
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let decoys = self.decoys.iter().map(|decoy| decoy.id.as_str());
        decoys.chain(std::iter::once(self.system_id.as_str()))
    }
}

/// What a system says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) uuid: String,
    pub(crate) serial: String,
    pub(crate) manufacturer: String,
    pub(crate) model: String,
    pub(crate) host_name: String,
}

/// All identities behind one BMC.
#[derive(Debug)]
pub(crate) struct Identities {
    pub(crate) real: Identity,
    /// What the real system claims to be under [`Fault::WrongUuid`](crate::Fault::WrongUuid).
    pub(crate) wrong: Identity,
    pub(crate) decoys: Vec<Identity>,
    pub(crate) service_uuid: String,
}

impl Identities {
    pub(crate) fn of(spec: &HostSpec, seeded: &mut Seeded) -> Self {
        // Always drawn, so that giving one value does not change the others.
        let (uuid, serial) = (seeded.uuid(), format!("SIM{:012X}", seeded.next() >> 16));
        let real = Identity {
            id: spec.system_id.clone(),
            uuid: spec.uuid.clone().unwrap_or(uuid),
            serial: spec.serial.clone().unwrap_or(serial),
            manufacturer: spec.manufacturer.clone(),
            model: spec.model.clone(),
            host_name: spec.name.clone(),
        };
        let mut other = |id: &str, uuid: Option<&String>, host_name: &str| {
            let (fresh, serial) = (seeded.uuid(), format!("SIM{:012X}", seeded.next() >> 16));
            Identity {
                id: id.to_owned(),
                uuid: uuid.cloned().unwrap_or(fresh),
                serial,
                host_name: host_name.to_owned(),
                ..real.clone()
            }
        };
        let wrong = other(&spec.system_id, None, "another-machine");
        let decoys = spec
            .decoys
            .iter()
            .map(|decoy| other(&decoy.id, decoy.uuid.as_ref(), &decoy.id))
            .collect();
        let service_uuid = seeded.uuid();
        Self {
            real,
            wrong,
            decoys,
            service_uuid,
        }
    }
}
