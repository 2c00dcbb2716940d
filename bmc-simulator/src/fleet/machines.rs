//! Several machines behind one BMC.

use serde_saphyr::Spanned;

use super::FleetError;
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
        if let Some(given) = given.as_ref().filter(|_| many) {
            let reason = "machines of many hosts cannot share it: leave it out, and each gets its own";
            let field = format!("machines[{index}].{field}");
            return Err(FleetError::of(given, &field, reason).into());
        }
    }
    let said = |said: &Option<Spanned<String>>| said.as_ref().map(|said| said.value.clone());
    let mut spec = MachineSpec::new(&described.id.value);
    spec.uuid = said(&described.uuid);
    spec.serial = said(&described.serial_number);
    spec.power = described.power;
    spec.restore = described.power_restore_policy;
    spec.chassis.clone_from(&described.chassis);
    let Some(fields) = &described.delays else {
        return Ok(spec);
    };
    let with = spec.delay_fields(&fields.value);
    with.map_err(|misfit| misfitting(&format!("machines[{index}].delays"), misfit))
}
