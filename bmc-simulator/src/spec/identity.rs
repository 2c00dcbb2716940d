//! Who the systems behind one BMC say they are.

use super::HostSpec;
use super::layers::Layered;
use crate::seed::Seeded;

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
    pub(crate) fn of(spec: &HostSpec, layered: &Layered, seeded: &mut Seeded) -> Self {
        // Always drawn, so that giving one value does not change the others.
        let (uuid, serial) = (seeded.uuid(), format!("SIM{:012X}", seeded.next() >> 16));
        let real = Identity {
            id: spec.system_id.clone(),
            uuid: spec.uuid.clone().unwrap_or(uuid),
            serial: spec.serial.clone().unwrap_or(serial),
            manufacturer: layered.manufacturer.clone(),
            model: layered.model.clone(),
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
        let decoys = layered
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
