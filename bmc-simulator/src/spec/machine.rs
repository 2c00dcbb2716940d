//! What each of several machines behind one BMC is to be.

use std::sync::Arc;

use super::HostSpec;
use super::layers::{Change, Fields, Misfit, overlay};
use crate::per_machine::PerMachine;
use crate::personality::Personality;
use crate::power::{Delays, Power, PowerRestorePolicy};

/// The only enclosure of a machine of which nothing else is said.
const CHASSIS: &str = "1";

/// One of several machines behind one BMC, as in a chassis with many nodes. Whatever is not given is as
/// its [`HostSpec`] says, and identities come from the simulator's seed.
#[derive(Clone)]
pub struct MachineSpec {
    pub(crate) id: String,
    pub(crate) uuid: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) power: Option<Power>,
    pub(crate) restore: Option<PowerRestorePolicy>,
    pub(crate) chassis: Option<Vec<String>>,
    delays: Option<Change<Delays>>,
}

impl std::fmt::Debug for MachineSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("MachineSpec")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl MachineSpec {
    /// A machine with this id in `/redfish/v1/Systems/{id}`.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            uuid: None,
            serial: None,
            power: None,
            restore: None,
            chassis: None,
            delays: None,
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

    /// Begins with this power; the host's when not given.
    pub fn power(self, power: Power) -> Self {
        Self {
            power: Some(power),
            ..self
        }
    }

    /// How long it takes, all four delays; the host's when not given.
    pub fn delays(self, delays: Delays) -> Self {
        Self {
            delays: Some(Arc::new(move |_| delays)),
            ..self
        }
    }

    /// What it does when the mains are back; the host's when not given.
    pub fn power_restore_policy(self, restore: PowerRestorePolicy) -> Self {
        Self {
            restore: Some(restore),
            ..self
        }
    }

    /// Where it is, as [`HostSpec::chassis`]; with the others of its host when not given.
    pub fn chassis<Id: Into<String>>(self, path: impl IntoIterator<Item = Id>) -> Self {
        Self {
            chassis: Some(path.into_iter().map(Into::into).collect()),
            ..self
        }
    }

    /// Puts single delays over those of the host.
    ///
    /// # Errors
    /// Of serde, with the path, when a field is unknown or has a wrong value.
    pub(crate) fn delay_fields(self, fields: &Fields) -> Result<Self, Misfit> {
        overlay(&Delays::default(), fields)?;
        let fields = fields.clone();
        Ok(Self {
            delays: Some(Arc::new(move |whole| overlay(&whole, &fields).unwrap_or(whole))),
            ..self
        })
    }
}

/// A machine as it is to be, with nothing left open but its identity.
#[derive(Debug, Clone)]
pub(crate) struct MachinePlan {
    pub(crate) id: String,
    pub(crate) uuid: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) host_name: String,
    pub(crate) power: Power,
    pub(crate) delays: Delays,
    pub(crate) restore: PowerRestorePolicy,
    /// Chassis that it is in, the outermost first.
    pub(crate) chassis: Vec<String>,
    /// Name of its streams of chance.
    pub(crate) stream: String,
}

impl HostSpec {
    /// Adds one of several machines, in place of the one that a BMC has by itself. The first is the one
    /// that IPMI reaches.
    pub fn machine(mut self, machine: MachineSpec) -> Self {
        self.machines.push(machine);
        self
    }

    /// Chassis that its machines are in, the outermost first, such as `["Enclosure", "Blade0"]`; the
    /// personality's when not given, else one, `1`.
    pub fn chassis<Id: Into<String>>(self, path: impl IntoIterator<Item = Id>) -> Self {
        Self {
            chassis: Some(path.into_iter().map(Into::into).collect()),
            ..self
        }
    }

    /// The machines behind this BMC: those that were described, or its one.
    pub(super) fn plan_machines(&self, delays: Delays) -> PerMachine<MachinePlan> {
        let Some((first, others)) = self.machines.split_first() else {
            return PerMachine::new(self.only_machine(delays), Vec::new());
        };
        let others = others.iter().map(|machine| MachinePlan {
            // A machine that is added or taken away changes no other.
            stream: format!("{}/machine/{}", self.name, machine.id),
            ..self.plan_machine(machine, delays)
        });
        PerMachine::new(self.plan_machine(first, delays), others.collect())
    }

    fn only_machine(&self, delays: Delays) -> MachinePlan {
        MachinePlan {
            id: self
                .system_id
                .clone()
                .unwrap_or_else(|| self.usual_system_id().to_owned()),
            uuid: self.uuid.clone(),
            serial: self.serial.clone(),
            host_name: self.name.clone(),
            power: self.power,
            delays,
            restore: self.restore,
            chassis: self.chassis_or_usual(),
            stream: self.name.clone(),
        }
    }

    fn plan_machine(&self, machine: &MachineSpec, delays: Delays) -> MachinePlan {
        let chassis = machine.chassis.clone();
        MachinePlan {
            id: machine.id.clone(),
            uuid: machine.uuid.clone(),
            serial: machine.serial.clone(),
            host_name: format!("{}-{}", self.name, machine.id.to_ascii_lowercase()),
            power: machine.power.unwrap_or(self.power),
            delays: machine.delays.as_ref().map_or(delays, |change| change(delays)),
            restore: machine.restore.unwrap_or(self.restore),
            chassis: chassis.unwrap_or_else(|| self.chassis_or_usual()),
            stream: self.name.clone(),
        }
    }

    fn chassis_or_usual(&self) -> Vec<String> {
        let usual = self
            .personality
            .map_or(&[CHASSIS] as &[&str], Personality::chassis);
        let usual = || usual.iter().map(|id| (*id).to_owned()).collect();
        self.chassis.clone().unwrap_or_else(usual)
    }

    fn usual_system_id(&self) -> &'static str {
        self.personality.map_or("1", Personality::system_id)
    }
}
