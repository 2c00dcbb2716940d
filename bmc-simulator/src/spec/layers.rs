//! A host is its personality, and over it what was said besides, in whatever order it was said.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::machine::MachinePlan;
use super::{DecoySpec, HostSpec};
use crate::fault::{Fault, Injection, Target};
use crate::host::BootSequence;
use crate::ipmi::IpmiSpec;
use crate::per_machine::PerMachine;
use crate::personality::Personality;
use crate::power::Delays;
use crate::redfish::RedfishSpec;

/// Single fields of something: what is not among them stays as it is.
pub(crate) type Fields = Map<String, Value>;

/// What is done to a value that the personality may have set.
pub(super) type Change<T> = Arc<dyn Fn(T) -> T + Send + Sync>;

/// What a personality and what was said besides come to.
#[derive(Debug)]
pub(crate) struct Layered {
    pub(crate) manufacturer: String,
    pub(crate) model: String,
    pub(crate) machines: PerMachine<MachinePlan>,
    pub(crate) redfish: RedfishSpec,
    pub(crate) ipmi: Option<IpmiSpec>,
    pub(crate) decoys: Vec<DecoySpec>,
    pub(crate) bmc_boot: BootSequence,
    /// Those that belong to the personality.
    pub(crate) personality_faults: Vec<Injection>,
}

impl Layered {
    /// What faults meet here.
    pub(crate) fn target(&self, behind_one_port: bool) -> Target {
        Target {
            systems: self.machines.iter().map(|machine| machine.id.clone()).collect(),
            ipmi_suites: self.ipmi.as_ref().map(|ipmi| ipmi.suite_ids().to_vec()),
            behind_one_port,
        }
    }
}

impl HostSpec {
    /// Puts single fields over the settings of Redfish that the personality has.
    ///
    /// # Errors
    /// Of serde, with the path, when a field is unknown or has a wrong value.
    pub(crate) fn redfish_fields(mut self, fields: &Fields) -> Result<Self, Misfit> {
        overlay(&RedfishSpec::default(), fields)?;
        let fields = fields.clone();
        self.redfish_changes
            .push(Arc::new(move |whole| overlay(&whole, &fields).unwrap_or(whole)));
        Ok(self)
    }

    /// Puts single delays over those that the personality has.
    ///
    /// # Errors
    /// As [`redfish_fields`](Self::redfish_fields).
    pub(crate) fn delay_fields(self, fields: &Fields) -> Result<Self, Misfit> {
        overlay(&Delays::default(), fields)?;
        let fields = fields.clone();
        Ok(self.change_delays(move |whole| overlay(&whole, &fields).unwrap_or(whole)))
    }

    /// Puts single steps of how the BMC comes up over those that the personality has.
    ///
    /// # Errors
    /// As [`redfish_fields`](Self::redfish_fields).
    pub(crate) fn bmc_boot_fields(mut self, fields: &Fields) -> Result<Self, Misfit> {
        overlay(&BootSequence::default(), fields)?;
        let fields = fields.clone();
        self.bmc_boot_changes
            .push(Arc::new(move |whole| overlay(&whole, &fields).unwrap_or(whole)));
        Ok(self)
    }

    pub(crate) fn layered(&self) -> Layered {
        let family = self.personality;
        let (manufacturer, model) = family.map_or(("Simulated", "bmc-simulator"), Personality::product);
        let said = |said: &Option<String>, usual: &str| said.clone().unwrap_or_else(|| usual.to_owned());
        Layered {
            manufacturer: said(&self.manufacturer, manufacturer),
            model: said(&self.model, model),
            machines: self.plan_machines(self.layered_delays()),
            redfish: self.layered_redfish(),
            ipmi: self.ipmi.clone().map(|ipmi| match family {
                Some(family) => family.ipmi(ipmi),
                None => ipmi,
            }),
            decoys: self.layered_decoys(),
            bmc_boot: self.layered_bmc_boot(),
            personality_faults: self.personality_faults(),
        }
    }

    /// Those over IPMI only where there is IPMI.
    fn personality_faults(&self) -> Vec<Injection> {
        let mut faults = self.personality.map(Personality::faults).unwrap_or_default();
        faults.retain(|fault| self.ipmi.is_some() || !matches!(fault.fault, Fault::Ipmi(_)));
        faults
    }

    fn layered_delays(&self) -> Delays {
        let usual = self.usual_delays;
        let of_family = self.personality.and_then(|family| family.delays(usual));
        let base = self.delays.or(of_family).unwrap_or(usual);
        let changes = self.delay_changes.iter();
        changes.fold(base, |delays, change| change(delays))
    }

    fn layered_bmc_boot(&self) -> BootSequence {
        let of_family = self.personality.map(Personality::bmc_boot);
        let base = self.bmc_boot.or(of_family).unwrap_or_default();
        let changes = self.bmc_boot_changes.iter();
        changes.fold(base, |sequence, change| change(sequence))
    }

    fn layered_redfish(&self) -> RedfishSpec {
        let plain = RedfishSpec::default();
        let of_family = match self.personality {
            Some(family) => family.redfish(plain.clone()),
            None => plain.clone(),
        };
        let base = match &self.redfish {
            Some(said) => differing(said, &plain)
                .and_then(|fields| overlay(&of_family, &fields))
                .unwrap_or_else(|_| said.clone()),
            None => of_family,
        };
        let changes = self.redfish_changes.iter();
        changes.fold(base, |redfish, change| change(redfish))
    }

    /// Those of the personality first. One that was described besides is as described.
    fn layered_decoys(&self) -> Vec<DecoySpec> {
        let described = |id: &str| self.decoys.iter().find(|decoy| decoy.id == id);
        let ids = self.personality.map(Personality::decoys).unwrap_or_default();
        let of_family = ids
            .iter()
            .map(|id| described(id).cloned().unwrap_or_else(|| DecoySpec::new(*id)));
        let others = self
            .decoys
            .iter()
            .filter(|decoy| !ids.contains(&decoy.id.as_str()));
        of_family.chain(others.cloned()).collect()
    }
}

/// A field that does not fit, with its path.
pub(crate) type Misfit = serde_path_to_error::Error<serde_json::Error>;

/// The whole with these fields in place of its own.
pub(super) fn overlay<T: Serialize + DeserializeOwned>(whole: &T, fields: &Fields) -> Result<T, Misfit> {
    let mut merged = to_fields(whole)?;
    merged.extend(fields.clone());
    serde_path_to_error::deserialize(Value::Object(merged))
}

/// The fields in which one differs from another: of the others nobody can tell whether they were said.
fn differing<T: Serialize>(said: &T, plain: &T) -> Result<Fields, Misfit> {
    let plain = to_fields(plain)?;
    let mut fields = to_fields(said)?;
    fields.retain(|name, value| plain.get(name) != Some(value));
    Ok(fields)
}

fn to_fields<T: Serialize>(whole: &T) -> Result<Fields, Misfit> {
    // What is no object has no fields to put over it.
    let value = serde_json::to_value(whole).unwrap_or_default();
    serde_path_to_error::deserialize(value)
}
