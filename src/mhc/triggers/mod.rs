//! Puts the trigger on unhealthy Machines, as machine-api-operator does, one after the other. There may be thousands,
//! and each call may take its time: meanwhile a Node recovers, or a person pauses the check.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use kube::ResourceExt as _;
use remediator_api::keys;
use remediator_api::views::Machine;
use remediator_core::checker::events::{
    EXTERNAL_ANNOTATION_ADDED, EXTERNAL_ANNOTATION_FAILED, Event, EventType, MACHINE_MARKED_UNHEALTHY, On,
};
use remediator_core::machine_api::MachineApi;
use serde_json::json;

use crate::api_call::{ShellError, within};
use crate::mhc::pass::{CheckedNamespace, judge};
use crate::mhc::requeue::Retry;
use crate::mhc::state::{CheckKey, MhcController};
use crate::snapshot::machines::patch as patch_machine;

/// For how long what was judged is acted on.
const YOUNG: Duration = Duration::from_secs(2);

/// Puts the triggers, each on a judgement that is young; answers with the events, and when failed ones are retried.
pub(super) async fn put_all(
    context: &MhcController,
    key: &CheckKey,
    judged: &mut CheckedNamespace,
) -> (Vec<Event>, Retry) {
    let (mut events, mut retry) = (Vec::new(), Retry::default());
    let mut queue = Queue::new(std::mem::take(&mut judged.outcome.triggers), Instant::now());
    loop {
        if queue.is_outdated(Instant::now()) {
            *judged = judge(context, key);
            queue.judge_again(std::mem::take(&mut judged.outcome.triggers), Instant::now());
        }
        let Some(name) = queue.next() else {
            break;
        };
        let Some(machine) = judged.snapshot.machine(&name) else {
            continue;
        };
        // It may have changed since: what the platform's controller does is left to it.
        if !context.checker.is_active(key.api) {
            break;
        }
        let put = put(context, machine).await;
        events.extend(event(key, machine, put.as_ref().err()));
        if let Err(error) = put {
            retry.failed(error.is_overtaken());
        }
    }
    (events, retry)
}

/// Puts the trigger on the Machine as it was judged: not on another of its name, and not if it was written to since.
async fn put(context: &MhcController, machine: &Machine) -> Result<(), ShellError> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let change = json!({ "metadata": {
        "uid": machine.uid(), "resourceVersion": machine.resource_version(),
        "annotations": { keys::TRIGGER_ANNOTATION: "" },
    }});
    let put = patch_machine(&context.sources, (machine.api(), &namespace, &name), &change);
    within("setting the trigger", put).await?;
    Ok(())
}

/// That a trigger was put, or was not.
fn event(check: &CheckKey, machine: &Machine, error: Option<&ShellError>) -> Option<Event> {
    let on = On::Machine(machine.name_any());
    match error {
        None => Some(Event {
            on,
            kind: EventType::Normal,
            reason: match check.api {
                MachineApi::OpenShift => EXTERNAL_ANNOTATION_ADDED,
                MachineApi::ClusterApi => MACHINE_MARKED_UNHEALTHY,
            },
            key: machine.resource_version().unwrap_or_default(),
            note: format!("unhealthy by MachineHealthCheck {check}; the trigger was set"),
        }),
        Some(error) if error.is_overtaken() => None,
        Some(error) => {
            let note = crate::report::chain(error);
            Some(Event::warning(on, EXTERNAL_ANNOTATION_FAILED, "", note))
        }
    }
}

/// The Machines of one pass that wait for the trigger.
#[derive(Debug)]
struct Queue {
    waiting: VecDeque<String>,
    /// Those that had their turn, whatever came of it: the next pass sees to them.
    done: BTreeSet<String>,
    judged: Instant,
}

impl Queue {
    /// Those of `wanted`, in this order, which was judged at `judged`.
    fn new(wanted: Vec<String>, judged: Instant) -> Self {
        Self {
            waiting: wanted.into(),
            done: BTreeSet::new(),
            judged,
        }
    }

    /// Whether any wait that have to be judged again before they get the trigger.
    fn is_outdated(&self, now: Instant) -> bool {
        !self.waiting.is_empty() && now.saturating_duration_since(self.judged) >= YOUNG
    }

    /// Has those wait that are wanted by now and did not have their turn.
    fn judge_again(&mut self, wanted: Vec<String>, judged: Instant) {
        let is_due = |name: &String| !self.done.contains(name);
        self.waiting = wanted.into_iter().filter(is_due).collect();
        self.judged = judged;
    }

    /// The next one, which has its turn with that.
    fn next(&mut self) -> Option<String> {
        let name = self.waiting.pop_front()?;
        self.done.insert(name.clone());
        Some(name)
    }
}
