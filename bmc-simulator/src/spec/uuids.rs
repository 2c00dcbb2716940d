//! UUIDs that were said: each is one machine's own. Those that are drawn differ.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::HostSpec;
use crate::SimError;
use crate::ipmi::guid;

/// What firmware says that knows no UUID (RFC 9562, sections 5.9 and 5.10): of many machines the same.
const OF_NOBODY: [[u8; 16]; 2] = [[0; 16], [0xff; 16]];

/// UUIDs of machines, each with the name of its host.
#[derive(Debug, Default)]
pub(crate) struct Uuids(BTreeMap<[u8; 16], String>);

/// A UUID that another machine has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The field that says it, as a fleet file names it.
    pub(crate) field: String,
    /// The other's host.
    pub(crate) other: String,
}

impl Uuids {
    /// Takes those of one more host. A decoy may have that of a machine, for some BMCs list one under two ids;
    /// what is no UUID is the business of others.
    ///
    /// # Errors
    /// [`Shared`] for the first that is taken.
    pub(crate) fn take(&mut self, host: &HostSpec) -> Result<(), Shared> {
        for (field, uuid) in host.said_uuids() {
            let Some(uuid) = guid(uuid).filter(|uuid| !OF_NOBODY.contains(uuid)) else {
                continue;
            };
            match self.0.entry(uuid) {
                Entry::Vacant(free) => {
                    free.insert(host.name.clone());
                }
                Entry::Occupied(taken) => {
                    let other = taken.get().clone();
                    return Err(Shared { field, other });
                }
            }
        }
        Ok(())
    }
}

/// Refuses two machines with one UUID: what tells machines apart would mix them up.
///
/// # Errors
/// [`SimError::DuplicateUuid`].
pub(crate) fn check(hosts: &[HostSpec]) -> Result<(), SimError> {
    let mut uuids = Uuids::default();
    hosts.iter().try_for_each(|host| {
        uuids
            .take(host)
            .map_err(|Shared { field, other }| SimError::DuplicateUuid {
                name: host.name.clone(),
                field,
                other,
            })
    })
}

impl HostSpec {
    /// The UUIDs that were said of its machines, with the fields that say them.
    pub(crate) fn said_uuids(&self) -> impl Iterator<Item = (String, &str)> {
        let own = self.uuid.as_deref().map(|uuid| ("uuid".to_owned(), uuid));
        let machines = self.machines.iter().enumerate();
        let of_machines = machines.filter_map(|(index, machine)| {
            let uuid = machine.uuid.as_deref()?;
            Some((format!("machines[{index}].uuid"), uuid))
        });
        own.into_iter().chain(of_machines)
    }
}
