//! Several machines behind one BMC.

use super::expand::misfitting;
use super::file::{Group, Machine};
use super::places::Flaw;
use crate::spec::MachineSpec;

/// The machines as they are described. `many`: the group has more than one BMC.
pub(super) fn machines(group: &Group, described: &[Machine]) -> Result<Vec<MachineSpec>, Flaw> {
    let many = group.count.as_ref().is_some_and(|count| count.value > 1);
    let described = described.iter().enumerate();
    described.map(|(index, one)| machine(index, one, many)).collect()
}

fn machine(index: usize, described: &Machine, many: bool) -> Result<MachineSpec, Flaw> {
    for (field, given) in [
        ("uuid", &described.uuid),
        ("serialNumber", &described.serial_number),
    ] {
        if many && given.is_some() {
            let reason = "machines of many hosts cannot share it: leave it out, and each gets its own";
            return Err(Flaw::of(format!("machines[{index}].{field}"), reason));
        }
    }
    let mut spec = MachineSpec::new(&described.id);
    spec.uuid.clone_from(&described.uuid);
    spec.serial.clone_from(&described.serial_number);
    spec.power = described.power;
    spec.restore = described.power_restore_policy;
    spec.chassis.clone_from(&described.chassis);
    let Some(fields) = &described.delays else {
        return Ok(spec);
    };
    let with = spec.delay_fields(fields);
    with.map_err(|misfit| misfitting(&format!("machines[{index}].delays"), misfit))
}
