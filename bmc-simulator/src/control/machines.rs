//! Single machines behind one BMC.

use axum::Json;
use axum::body::Body;
use axum::extract::State;

use super::actions::{self, Press};
use super::{Controlled, Path, Refusal, Shared, input};
use crate::host::{Machine, MachineSnapshot};

type Named = Path<(String, String)>;
type Answer = Result<Json<MachineSnapshot>, Refusal>;

fn find(controlled: &Controlled, (name, system): &(String, String)) -> Result<Machine, Refusal> {
    let found = controlled.host(name)?.machine(system);
    found.map_err(|error| Refusal::from_sim(&error, ""))
}

pub(super) async fn machine(State(controlled): Shared, Path(named): Named) -> Answer {
    Ok(Json(find(&controlled, &named)?.snapshot()))
}

pub(super) async fn delays(State(controlled): Shared, Path(named): Named, body: Body) -> Answer {
    let machine = find(&controlled, &named)?;
    machine.set_delays(actions::merged(machine.snapshot().delays, body).await?);
    Ok(Json(machine.snapshot()))
}

pub(super) async fn power(State(controlled): Shared, Path(named): Named, body: Body) -> Answer {
    let machine = find(&controlled, &named)?;
    let Press { to } = input::json(body).await?;
    let pressed = machine.press_power(to);
    pressed.map_err(|error| Refusal::from_sim(&error, ""))?;
    Ok(Json(machine.snapshot()))
}
