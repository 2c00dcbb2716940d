//! From groups to hosts.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_saphyr::Spanned;

use super::file::{File, Group, Ipmi, Traits};
use super::machines::machines;
use super::places::Flaw;
use super::{Fleet, FleetError, MOST_HOSTS};
use crate::SimError;
use crate::ipmi::IpmiSpec;
use crate::spec::{DecoySpec, HostFlaw, HostSpec, Misfit, Wrong};

/// Port of a BMC that has an address of its own and no port.
const HTTPS: u16 = 443;

/// UDP port of a BMC that has an address of its own (IPMI 2.0, section 13.1.2).
const IPMI: u16 = 623;

pub(super) fn expand(file: &File, text: &str) -> Result<Fleet, FleetError> {
    let mut hosts: Vec<HostSpec> = Vec::new();
    let mut names = BTreeSet::new();
    if file.hosts.value.is_empty() {
        return Err(FleetError::of(
            &file.hosts,
            "hosts",
            "there is none: describe at least one",
        ));
    }
    for (number, group) in file.hosts.value.iter().enumerate() {
        let traits = group.traits(&file.defaults);
        let count = count(group)?;
        // Before they are made: a number in a file must not cost more than the fleet that may be.
        if hosts.len().saturating_add(usize::from(count)) > MOST_HOSTS {
            let reason = format!("these are more than {MOST_HOSTS} hosts: run several simulators");
            return Err(match &group.count {
                Some(count) => FleetError::of(count, "count", &reason),
                None => FleetError::of(&group.name, "hosts", &reason),
            });
        }
        for index in 0..count {
            let host = host(group, &traits, index, file.one_port.is_some())
                .map_err(|flaw| flaw.placed(text, number, &group.name))?;
            if !names.insert(host.name.clone()) {
                let reason = format!("`{}` is the name of another host: give each its own", host.name);
                return Err(FleetError::of(&group.name, "name", &reason));
            }
            hosts.push(host);
        }
    }
    Ok(Fleet {
        seed: file.seed,
        control: file.control,
        one_port: file.one_port,
        ssdp: file.ssdp,
        hosts,
    })
}

fn count(group: &Group) -> Result<u16, FleetError> {
    let Some(count) = &group.count else {
        return Ok(1);
    };
    if count.value == 0 {
        return Err(FleetError::of(
            count,
            "count",
            "zero hosts are none: write 1 or more, or leave the group out",
        ));
    }
    if count.value > 1 && !group.name.value.contains("{}") {
        let reason = "many hosts need many names: write `{}` where the number belongs";
        return Err(FleetError::of(&group.name, "name", reason));
    }
    for (field, given) in [("uuid", &group.uuid), ("serialNumber", &group.serial_number)] {
        if let Some(given) = given.as_ref().filter(|_| count.value > 1) {
            let reason = "many hosts cannot share it: leave it out, and each gets its own";
            return Err(FleetError::of(given, field, reason));
        }
    }
    Ok(count.value)
}

fn host(group: &Group, traits: &Traits, index: u16, behind_one_port: bool) -> Result<HostSpec, Flaw> {
    let number = u32::from(index).saturating_add(1);
    let mut spec = HostSpec::new(group.name.value.replace("{}", &number.to_string()));
    spec.port = match (&group.address, &group.port) {
        (Some(_), port) => port.as_ref().map_or(HTTPS, |port| port.value),
        (None, Some(port)) => port.value.checked_add(index).ok_or_else(|| {
            FleetError::of(
                port,
                "port",
                "too few ports follow for all hosts: choose a lower one",
            )
        })?,
        (None, None) => 0,
    };
    if let Some(first) = &group.address {
        spec.bind = address(first, index)?;
    }
    spec.uuid = group.uuid.as_ref().map(|uuid| uuid.value.clone());
    spec.serial = group.serial_number.as_ref().map(|serial| serial.value.clone());
    give(&mut spec, traits, group, index)?;
    give_faults(&mut spec, traits, behind_one_port)?;
    match spec.check(behind_one_port) {
        Ok(()) => Ok(spec),
        Err(HostFlaw::Host(Wrong { field, reason })) => Err(Flaw::In {
            field,
            reason: reason.to_owned(),
        }),
        Err(HostFlaw::Fault(error)) => Err(Flaw::In {
            field: "faults".to_owned(),
            reason: error.to_string(),
        }),
    }
}

fn address(first: &Spanned<IpAddr>, index: u16) -> Result<IpAddr, FleetError> {
    let following = match first.value {
        IpAddr::V4(address) => address
            .to_bits()
            .checked_add(index.into())
            .map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        IpAddr::V6(address) => address
            .to_bits()
            .checked_add(index.into())
            .map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    };
    let of_this_machine = following.filter(|address| !first.value.is_loopback() || address.is_loopback());
    of_this_machine.ok_or_else(|| {
        let reason = "too few addresses follow for all hosts: choose a lower one";
        FleetError::of(first, "address", reason)
    })
}

fn give(spec: &mut HostSpec, traits: &Traits, group: &Group, index: u16) -> Result<(), Flaw> {
    fn set<T: Clone>(field: &mut T, given: Option<&T>) {
        if let Some(given) = given {
            field.clone_from(given);
        }
    }
    spec.personality = traits.personality;
    if let Some(wanted) = &traits.ipmi {
        spec.ipmi = Some(ipmi(wanted, ipmi_port(wanted, group, index)?));
    }
    set(&mut spec.username, traits.username.as_ref());
    spec.system_id.clone_from(&traits.system_id);
    spec.manufacturer.clone_from(&traits.manufacturer);
    spec.model.clone_from(&traits.model);
    set(&mut spec.power, traits.power.as_ref());
    spec.bmc_boot = traits.bmc_boot;
    set(&mut spec.restore, traits.power_restore_policy.as_ref());
    spec.password.clone_from(&traits.password);
    spec.chassis.clone_from(&traits.chassis);
    spec.machines = machines(group, traits.machines.as_deref().unwrap_or_default())?;
    for decoy in traits.decoys.iter().flatten() {
        let decoys = DecoySpec::new(&decoy.id);
        spec.decoys.push(match &decoy.uuid {
            Some(uuid) => decoys.uuid(uuid),
            None => decoys,
        });
    }
    give_fields(spec, traits)
}

fn give_faults(spec: &mut HostSpec, traits: &Traits, behind_one_port: bool) -> Result<(), Flaw> {
    let target = spec.layered().target(behind_one_port);
    for (index, fault) in traits.faults.iter().flatten().enumerate() {
        let checked = fault.check_at(&target);
        checked.map_err(|error| in_faults(index, &error))?;
        spec.faults.push(fault.clone());
    }
    Ok(())
}

/// Single fields go over the personality's.
fn give_fields(spec: &mut HostSpec, traits: &Traits) -> Result<(), Flaw> {
    if let Some(fields) = &traits.delays {
        let with = spec.clone().delay_fields(&fields.value);
        *spec = with.map_err(|misfit| misfitting("delays", misfit))?;
    }
    if let Some(fields) = &traits.redfish {
        let with = spec.clone().redfish_fields(&fields.value);
        *spec = with.map_err(|misfit| misfitting("redfish", misfit))?;
    }
    Ok(())
}

pub(super) fn misfitting(name: &str, misfit: Misfit) -> Flaw {
    let field = format!("{name}.{}", misfit.path());
    Flaw::In {
        field: field.trim_end_matches('.').to_owned(),
        reason: misfit.into_inner().to_string(),
    }
}

fn ipmi(wanted: &Ipmi, port: u16) -> IpmiSpec {
    let mut spec = IpmiSpec::new().port(port);
    if let Some(suites) = &wanted.cipher_suites {
        spec = spec.cipher_suites(suites.iter().copied());
    }
    if let Some(limit) = wanted.login_limit {
        spec = spec.login_limit(limit);
    }
    if wanted.reset_while_off_refused {
        spec = spec.reset_while_off_refused();
    }
    spec
}

fn ipmi_port(wanted: &Ipmi, group: &Group, index: u16) -> Result<u16, Flaw> {
    let own_address = group.address.is_some();
    match wanted.port {
        None if own_address => Ok(IPMI),
        None | Some(0) => Ok(0),
        Some(port) if own_address => Ok(port),
        Some(first) => first.checked_add(index).ok_or_else(|| Flaw::In {
            field: "ipmi.port".to_owned(),
            reason: "too few UDP ports follow for all hosts: choose a lower one".to_owned(),
        }),
    }
}

fn in_faults(index: usize, error: &SimError) -> Flaw {
    let field = if let SimError::InvalidFault { field, .. } = error {
        format!("faults[{index}].{field}")
    } else {
        format!("faults[{index}]")
    };
    Flaw::In {
        field,
        reason: error.to_string(),
    }
}
