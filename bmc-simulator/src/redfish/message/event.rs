//! The messages of events.

use super::{Definition, Message, Severity};

pub(super) const RESOURCE_PREFIX: &str = "ResourceEvent.1.3";
pub(super) const TASK_PREFIX: &str = "TaskEvent.1.0";

const NOTHING: &str = "Nothing needs to be done.";

/// A message of the registry ResourceEvent (DMTF DSP8011, ResourceEvent.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) enum ResourceEvent {
    PoweredOn,
    PoweredOff,
    PoweringOn,
    PoweringOff,
    StateChanged,
}

impl ResourceEvent {
    pub(super) const ALL: [Self; 5] = [
        Self::PoweredOn,
        Self::PoweredOff,
        Self::PoweringOn,
        Self::PoweringOff,
        Self::StateChanged,
    ];

    pub(super) fn definition(self) -> Definition {
        let (key, text) = match self {
            Self::PoweredOn => ("ResourcePoweredOn", "The resource %1 is on now."),
            Self::PoweredOff => ("ResourcePoweredOff", "The resource %1 is off now."),
            Self::PoweringOn => ("ResourcePoweringOn", "The resource %1 is being powered on."),
            Self::PoweringOff => ("ResourcePoweringOff", "The resource %1 is being powered off."),
            Self::StateChanged => ("ResourceStateChanged", "The state of the resource %1 is %2 now."),
        };
        Definition {
            key,
            severity: Severity::Ok,
            text,
            resolution: NOTHING,
        }
    }

    pub(in crate::redfish) fn message(self, arguments: &[&str]) -> Message {
        Message::of(RESOURCE_PREFIX, self.definition(), arguments)
    }
}

/// A message of the registry TaskEvent (DMTF DSP8011, TaskEvent.1.0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) enum TaskEvent {
    Started,
    CompletedOk,
    Aborted,
}

impl TaskEvent {
    pub(super) const ALL: [Self; 3] = [Self::Started, Self::CompletedOk, Self::Aborted];

    pub(super) fn definition(self) -> Definition {
        let (key, severity, text, resolution) = match self {
            Self::Started => ("TaskStarted", Severity::Ok, "The task %1 was begun.", NOTHING),
            Self::CompletedOk => ("TaskCompletedOK", Severity::Ok, "The task %1 is done.", NOTHING),
            Self::Aborted => (
                "TaskAborted",
                Severity::Critical,
                "The task %1 ended with errors.",
                "Read the messages of the task.",
            ),
        };
        Definition {
            key,
            severity,
            text,
            resolution,
        }
    }

    pub(in crate::redfish) fn message(self, task: &str) -> Message {
        Message::of(TASK_PREFIX, self.definition(), &[task])
    }
}
