//! From groups to hosts.

use std::net::SocketAddr;

use super::addresses::{self, address, ipmi_port, port};
use super::file::{File, Group, Ipmi, Traits};
use super::machines::machines;
use super::places::Flaw;
use super::taken::Taken;
use super::{Fleet, FleetError, MOST_HOSTS, words};
use crate::SimError;
use crate::fault::Injection;
use crate::ipmi::IpmiSpec;
use crate::power::Delays;
use crate::spec::{DecoySpec, HostFlaw, HostSpec, Misfit, Wrong};

pub(super) fn expand(file: &File, text: &str) -> Result<Fleet, FleetError> {
    if let Some(control) = file.control.as_ref().filter(|at| !at.value.ip().is_loopback()) {
        let reason =
            "the control API has no login: write an address of 127.0.0.0/8 or ::1, such as 127.0.0.1:8000";
        return Err(FleetError::of(control, "control", reason));
    }
    if let Some(control) = file.control.as_ref().filter(|at| clash(at.value, file.one_port)) {
        let reason = "`onePort` is this address, too: choose another address or port";
        return Err(FleetError::of(control, "control", reason));
    }
    if file.hosts.value.is_empty() {
        return Err(FleetError::of(
            &file.hosts,
            "hosts",
            "there is none: describe at least one",
        ));
    }
    let behind_one_port = file.one_port.is_some();
    let (mut hosts, mut taken) = (Vec::new(), Taken::of(file));
    for (number, group) in file.hosts.value.iter().enumerate() {
        let added = add(
            &mut hosts,
            &mut taken,
            group,
            &group.traits(&file.defaults),
            behind_one_port,
        );
        added.map_err(|flaw| flaw.placed(text, number, &group.name))?;
    }
    Ok(Fleet {
        seed: file.seed,
        control: file.control.as_ref().map(|control| control.value),
        one_port: file.one_port,
        ssdp: file.ssdp,
        hosts,
    })
}

fn clash(control: SocketAddr, one_port: Option<SocketAddr>) -> bool {
    control.port() != 0 && one_port == Some(control)
}

/// Adds the hosts of a group.
fn add(
    hosts: &mut Vec<HostSpec>,
    taken: &mut Taken,
    group: &Group,
    traits: &Traits,
    behind_one_port: bool,
) -> Result<(), Flaw> {
    let count = count(group)?;
    // Before they are made: a number in a file must not cost more than the fleet that may be.
    if hosts.len().saturating_add(usize::from(count)) > MOST_HOSTS {
        let reason = format!("these are more than {MOST_HOSTS} hosts: run several simulators");
        let field = group.count.as_ref().map_or("name", |_| "count");
        return Err(Flaw::of(field, reason));
    }
    addresses::check(group, traits, behind_one_port)?;
    for index in 0..count {
        let host = host(group, traits, index, behind_one_port)?;
        taken.add(&host, group, behind_one_port)?;
        hosts.push(host);
    }
    Ok(())
}

fn count(group: &Group) -> Result<u16, Flaw> {
    let count = group.count.as_ref().map_or(1, |count| count.value);
    if count == 0 {
        let reason = "zero hosts are none: write 1 or more, or leave the group out";
        return Err(Flaw::of("count", reason));
    }
    if count > 1 && !group.name.value.contains("{}") {
        let reason = "many hosts need many names: write `{}` where the number belongs";
        return Err(Flaw::of("name", reason));
    }
    let shared = [
        ("uuid", group.uuid.is_some()),
        ("serialNumber", group.serial_number.is_some()),
    ];
    match shared.into_iter().find(|(_, given)| *given && count > 1) {
        Some((field, _)) => {
            let reason = "many hosts cannot share it: leave it out, and each gets its own";
            Err(Flaw::of(field, reason))
        }
        None => Ok(count),
    }
}

fn host(group: &Group, traits: &Traits, index: u16, behind_one_port: bool) -> Result<HostSpec, Flaw> {
    let number = u32::from(index).saturating_add(1);
    let name = group.name.value.replace("{}", &number.to_string());
    let mut spec = HostSpec::new(name).usual_delays(Delays::USUAL);
    spec.port = port(group, index)?;
    spec.bind = address(group, index)?.unwrap_or(spec.bind);
    spec.uuid.clone_from(&group.uuid);
    spec.serial.clone_from(&group.serial_number);
    give(&mut spec, traits, group, index)?;
    give_faults(&mut spec, traits, behind_one_port)?;
    match spec.check(behind_one_port) {
        Ok(()) => Ok(spec),
        Err(HostFlaw::Host(Wrong { field, reason })) => Err(Flaw::of(field, reason)),
        Err(HostFlaw::Fault(error)) => Err(Flaw::of("faults", error.to_string())),
    }
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
        checked.map_err(|error| in_faults(index, fault, &error))?;
        spec.faults.push(fault.clone());
    }
    Ok(())
}

/// Single fields go over the personality's.
fn give_fields(spec: &mut HostSpec, traits: &Traits) -> Result<(), Flaw> {
    if let Some(fields) = &traits.delays {
        let with = spec.clone().delay_fields(fields);
        *spec = with.map_err(|misfit| misfitting("delays", misfit))?;
    }
    if let Some(fields) = &traits.bmc_boot {
        let with = spec.clone().bmc_boot_fields(fields);
        *spec = with.map_err(|misfit| misfitting("bmcBoot", misfit))?;
    }
    if let Some(fields) = &traits.redfish {
        let with = spec.clone().redfish_fields(fields);
        *spec = with.map_err(|misfit| misfitting("redfish", misfit))?;
    }
    Ok(())
}

pub(super) fn misfitting(name: &str, misfit: Misfit) -> Flaw {
    let field = format!("{name}.{}", misfit.path());
    let reason = words::in_block(&misfit.into_inner().to_string());
    Flaw::of(field.trim_end_matches('.'), reason)
}

fn ipmi(wanted: &Ipmi, port: u16) -> IpmiSpec {
    let mut spec = IpmiSpec::new().port(port);
    if let Some(suites) = &wanted.cipher_suites {
        spec = spec.cipher_suites(suites.iter().copied());
    }
    if let Some(limit) = wanted.login_limit {
        spec = spec.login_limit(limit);
    }
    if wanted.reset_while_off_refused == Some(true) {
        spec = spec.reset_while_off_refused();
    }
    spec
}

fn in_faults(index: usize, fault: &Injection, error: &SimError) -> Flaw {
    let SimError::InvalidFault {
        fault: name,
        field,
        reason,
    } = error
    else {
        return Flaw::of(format!("faults[{index}]"), error.to_string());
    };
    // What the fault itself takes stands below its name.
    let of_fault = format!("/fault/{name}/{field}");
    let described = serde_json::to_value(fault).unwrap_or_default();
    let field = match described.pointer(&of_fault) {
        Some(_) => format!("faults[{index}].fault.{name}.{field}"),
        None => format!("faults[{index}].{field}"),
    };
    Flaw::of(field, reason)
}
