//! What no two hosts of a fleet can share: names, addresses and UUIDs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;

use super::file::{File, Group};
use super::places::Flaw;
use crate::ipmi::guid;
use crate::spec::{HostSpec, Shared, Uuids};

/// What hosts have, each with whose it is.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Behind one port as TLS compares them, without regard to case.
    names: BTreeMap<String, String>,
    tcp: BTreeMap<SocketAddr, String>,
    udp: BTreeMap<SocketAddr, String>,
    uuids: Uuids,
}

impl Taken {
    /// What the file itself takes.
    pub(super) fn of(file: &File) -> Self {
        let mut taken = Self::default();
        if let Some(control) = &file.control {
            taken.tcp.insert(control.value, "`control`".to_owned());
        }
        taken
    }

    /// What one more host of this group takes.
    pub(super) fn add(&mut self, host: &HostSpec, group: &Group, behind_one_port: bool) -> Result<(), Flaw> {
        self.add_name(host, behind_one_port)?;
        if !behind_one_port && host.port != 0 {
            let field = if group.port.is_some() { "port" } else { "address" };
            let address = SocketAddr::new(host.bind, host.port);
            take_address(&mut self.tcp, address, field, &host.name)?;
        }
        if let Some(ipmi) = host.ipmi.as_ref().filter(|ipmi| ipmi.port != 0) {
            let address = SocketAddr::new(host.bind, ipmi.port);
            take_address(&mut self.udp, address, "ipmi.port", &host.name)?;
        }
        self.add_uuids(host)
    }

    fn add_name(&mut self, host: &HostSpec, behind_one_port: bool) -> Result<(), Flaw> {
        let name = &host.name;
        let key = if behind_one_port {
            name.to_ascii_lowercase()
        } else {
            name.clone()
        };
        match self.names.insert(key, name.clone()) {
            None => Ok(()),
            Some(other) if other == *name => Err(Flaw::of(
                "name",
                format!("`{name}` is the name of another host: give each its own"),
            )),
            Some(other) => Err(Flaw::of(
                "name",
                format!(
                    "behind one port `{name}` is the name of `{other}`, too, for case does not count in TLS: give it another name"
                ),
            )),
        }
    }

    fn add_uuids(&mut self, host: &HostSpec) -> Result<(), Flaw> {
        for (index, decoy) in host.decoys.iter().enumerate() {
            if let Some(uuid) = &decoy.uuid {
                read_uuid(&format!("decoys[{index}].uuid"), uuid)?;
            }
        }
        for (field, uuid) in host.said_uuids() {
            read_uuid(&field, uuid)?;
        }
        self.uuids.take(host).map_err(|Shared { field, other }| {
            let reason =
                format!("a machine of `{other}` has this UUID, too: give each its own, or leave it out");
            Flaw::of(field, reason)
        })
    }
}

fn read_uuid(field: &str, uuid: &str) -> Result<(), Flaw> {
    guid(uuid).map(drop).ok_or_else(|| {
        let reason = "not a UUID: write 32 hexadecimal digits, as 00112233-4455-6677-8899-aabbccddeeff";
        Flaw::of(field, reason)
    })
}

fn take_address(
    taken: &mut BTreeMap<SocketAddr, String>,
    address: SocketAddr,
    field: &str,
    name: &str,
) -> Result<(), Flaw> {
    match taken.entry(address) {
        Entry::Vacant(free) => {
            free.insert(format!("`{name}`"));
            Ok(())
        }
        Entry::Occupied(other) => {
            let reason = format!(
                "`{name}` would listen on {address}, as {} does: choose another address or port",
                other.get()
            );
            Err(Flaw::of(field, reason))
        }
    }
}
