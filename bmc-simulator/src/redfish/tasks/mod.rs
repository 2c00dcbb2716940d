//! TaskService (DSP0266, "Asynchronous operations"): resets as tasks, where a host is set so.

mod resources;

pub(super) use resources::{SERVICE, accepted, collection, member, monitor, service};

use std::collections::VecDeque;
use std::time::Duration;

use super::events;
use super::message::TaskEvent;
use super::quirks::ResetType;
use crate::host::Acting;
use crate::per_machine::Slot;

/// Tasks kept; the oldest goes first, as `CompletedTaskOverWritePolicy` says.
const KEPT: usize = 16;

/// A reset under way, or done.
#[derive(Debug)]
struct Task {
    id: u64,
    /// The machine that it resets; absent for a decoy.
    slot: Option<Slot>,
    /// URI that the reset was sent to, and the type of reset.
    target: String,
    reset_type: ResetType,
    started: Duration,
    ended: Option<Duration>,
}

/// Tasks of one BMC.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    kept: VecDeque<Task>,
    last: u64,
}

impl Tasks {
    fn find(&self, id: u64) -> Option<&Task> {
        self.kept.iter().find(|task| task.id == id)
    }

    /// Forgets a task; what it does goes on.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        let before = self.kept.len();
        self.kept.retain(|task| task.id != id);
        self.kept.len() < before
    }

    pub(super) fn remove_all(&mut self) {
        self.kept.clear();
    }
}

/// Begins a task for a reset that was just accepted, and says its number.
pub(super) fn begin(acting: &mut Acting<'_>, slot: Option<Slot>, target: &str, reset_type: ResetType) -> u64 {
    let started = acting.now;
    let tasks = &mut acting.state.redfish.tasks;
    tasks.last = tasks.last.saturating_add(1);
    let id = tasks.last;
    if tasks.kept.len() >= KEPT {
        tasks.kept.pop_front();
    }
    tasks.kept.push_back(Task {
        id,
        slot,
        target: target.to_owned(),
        reset_type,
        started,
        ended: None,
    });
    let message = TaskEvent::Started.message(&id.to_string());
    events::publish(acting, message, &resources::uri(id));
    id
}

/// Ends the tasks whose machine has nothing more to do. One that is stuck never ends.
pub(super) fn settle(acting: &mut Acting<'_>) {
    let (machines, now) = (&acting.state.machines, acting.now);
    let mut ended = Vec::new();
    for task in &mut acting.state.redfish.tasks.kept {
        let idle = task.slot.is_none_or(|slot| machines.get(slot).power.is_idle());
        if idle && task.ended.is_none() {
            task.ended = Some(now);
            ended.push(task.id);
        }
    }
    for id in ended {
        let message = TaskEvent::CompletedOk.message(&id.to_string());
        events::publish(acting, message, &resources::uri(id));
    }
}
