//! TaskService (DSP0266, "Asynchronous operations"): resets as tasks, where a host is set so or a fault wants it.

mod resources;

pub(super) use resources::{SERVICE, accepted, collection, member, monitor, service};

use std::collections::VecDeque;
use std::time::Duration;

use super::events;
use super::message::TaskEvent;
use super::quirks::ResetType;
use crate::fault::TaskCourse;
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
    /// What a fault makes of it; absent = it ends with what it does.
    course: Option<TaskCourse>,
    end: Option<End>,
}

/// How a task ended, and when.
#[derive(Debug, Clone, Copy)]
enum End {
    Done(Duration),
    Failed(Duration),
}

impl End {
    fn event(self) -> TaskEvent {
        match self {
            Self::Done(_) => TaskEvent::CompletedOk,
            Self::Failed(_) => TaskEvent::Aborted,
        }
    }
}

impl Task {
    /// When a fault ends it.
    fn fails_at(&self) -> Option<Duration> {
        match (self.end, self.course?) {
            (None, TaskCourse::Fails { after }) => Some(self.started.saturating_add(after)),
            (Some(_), _) | (None, TaskCourse::Stuck { .. }) => None,
        }
    }

    /// How it has ended by now, if it has and nobody knows yet. One without a fault ends once its machine has
    /// nothing more to do.
    fn ends(&self, is_idle: bool, now: Duration) -> Option<End> {
        match (self.end, self.course) {
            (None, None) => is_idle.then_some(End::Done(now)),
            (None, Some(_)) => self.fails_at().filter(|at| *at <= now).map(End::Failed),
            (Some(_), _) => None,
        }
    }
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

    /// The next instant at which a fault ends one.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.kept.iter().filter_map(Task::fails_at).min()
    }
}

/// Begins a task for a reset that was just accepted, and says its number.
pub(super) fn begin(
    acting: &mut Acting<'_>,
    slot: Option<Slot>,
    (target, reset_type): (&str, ResetType),
    course: Option<TaskCourse>,
) -> u64 {
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
        course,
        end: None,
    });
    let message = TaskEvent::Started.message(&id.to_string());
    events::publish(acting, message, &resources::uri(id));
    id
}

/// Ends the tasks that are over. One whose machine is stuck never is.
pub(super) fn settle(acting: &mut Acting<'_>) {
    let (machines, now) = (&acting.state.machines, acting.now);
    let mut ended = Vec::new();
    for task in &mut acting.state.redfish.tasks.kept {
        let idle = task.slot.is_none_or(|slot| machines.get(slot).power.is_idle());
        if let Some(end) = task.ends(idle, now) {
            task.end = Some(end);
            ended.push((task.id, end));
        }
    }
    for (id, end) in ended {
        let message = end.event().message(&id.to_string());
        events::publish(acting, message, &resources::uri(id));
    }
}
