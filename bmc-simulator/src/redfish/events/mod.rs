//! EventService (DSP0266, "Eventing"): subscriptions, and what is sent to them.

mod push;
mod resources;
mod stream;
mod subscribe;

pub(super) use resources::{SERVICE, plan_service, plan_subscription, service, subscription, subscriptions};
pub(super) use stream::{STREAM_TYPE, open};
pub(super) use subscribe::{create, submit_test_event};

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::message::{Message, ResourceEvent};
use super::{schema, system};
use crate::host::Acting;
use crate::per_machine::Slot;
use crate::power::Change as PowerChange;

/// Subscriptions at one time.
const MOST: usize = 20;
/// Events that wait for one subscriber; it loses what comes beyond.
const BACKLOG: usize = 64;

/// An event on its way to one subscriber.
#[derive(Debug, Clone)]
struct Sent {
    id: u64,
    /// The JSON of `Event`.
    body: String,
}

/// How events reach a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Over a connection that the subscriber holds open.
    Stream,
    /// By POST to this URI.
    Push { destination: String },
}

#[derive(Debug)]
struct Subscription {
    kind: Kind,
    context: String,
    /// Registries it wants to hear of; empty = all.
    prefixes: Vec<String>,
    /// Messages it wants to hear of; empty = all.
    message_ids: Vec<String>,
    sender: mpsc::Sender<Sent>,
    /// Ends the deliveries with the subscription: what was not sent yet is not sent any more.
    _delivering: Option<DropGuard>,
}

impl Subscription {
    /// Whether it wants a message with this id (`Registry.1.2.Key`).
    fn wants(&self, id: &str) -> bool {
        let registry = id.split('.').next().unwrap_or_default();
        let key = id.rsplit('.').next().unwrap_or_default();
        // Subscribers name messages with or without the version (DSP0268, EventDestination.MessageIds).
        let named = |wanted: &String| {
            let short = wanted.split('.').next() == Some(registry) && wanted.rsplit('.').next() == Some(key);
            wanted == id || short
        };
        (self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| prefix == registry))
            && (self.message_ids.is_empty() || self.message_ids.iter().any(named))
    }
}

/// A property of `EventService`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceChange {
    Attempts(u64),
    Interval(u64),
}

/// Subscriptions of one BMC.
#[derive(Debug)]
pub(super) struct Events {
    known: BTreeMap<u64, Subscription>,
    last: u64,
    sent: u64,
    attempts: u64,
    /// Seconds between two attempts.
    interval: u64,
    /// The power state of each machine that subscribers know of; empty while there are none.
    told: BTreeMap<Slot, String>,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            last: 0,
            sent: 0,
            attempts: 3,
            interval: 5,
            told: BTreeMap::new(),
        }
    }

    pub(super) fn apply(&mut self, change: ServiceChange) {
        match change {
            ServiceChange::Attempts(attempts) => self.attempts = attempts,
            ServiceChange::Interval(seconds) => self.interval = seconds,
        }
    }

    pub(super) fn set_context(&mut self, id: u64, context: String) {
        if let Some(subscription) = self.known.get_mut(&id) {
            subscription.context = context;
        }
    }

    /// Ends a subscription; its stream closes, or its deliveries stop.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        self.known.remove(&id).is_some()
    }

    pub(super) fn remove_all(&mut self) {
        self.known.clear();
    }

    pub(super) fn has_subscribers(&self) -> bool {
        !self.known.is_empty()
    }

    fn is_full(&self) -> bool {
        self.known.len() >= MOST
    }

    fn add(&mut self, subscription: Subscription) -> u64 {
        self.last = self.last.saturating_add(1);
        self.known.insert(self.last, subscription);
        self.last
    }
}

/// Something to tell subscribers.
struct Record {
    message: Message,
    /// URI of the resource that it is about.
    origin: String,
    /// `EventId` that a test event asks for.
    event_id: Option<String>,
}

/// Tells of a message about a resource.
pub(super) fn publish(acting: &mut Acting<'_>, message: Message, origin: &str) {
    send(
        acting,
        &Record {
            message,
            origin: origin.to_owned(),
            event_id: None,
        },
    );
}

fn send(acting: &mut Acting<'_>, record: &Record) {
    let time = acting.date_time(acting.now);
    let events = &mut acting.state.redfish.events;
    if events.known.is_empty() {
        return;
    }
    events.sent = events.sent.saturating_add(1);
    let id = events.sent;
    for subscription in events.known.values() {
        if subscription.wants(&record.message.id) {
            let body = event(id, &time, record, &subscription.context).to_string();
            // One who does not keep up loses events, as on a BMC.
            let _ = subscription.sender.try_send(Sent { id, body });
        }
    }
}

fn event(id: u64, time: &str, record: &Record, context: &str) -> Value {
    let message = &record.message;
    let event_id = record.event_id.clone().unwrap_or_else(|| id.to_string());
    json!({
        "@odata.type": schema::EVENT.odata_type(),
        "Id": id.to_string(),
        "Name": "Event",
        "Context": context,
        "Events": [{
            "MemberId": "1",
            // Required although deprecated (DMTF `Event_v1.xml`).
            "EventType": "Other",
            "EventId": event_id,
            "EventTimestamp": time,
            "MessageId": message.id,
            "Message": message.text,
            "MessageArgs": message.arguments,
            "MessageSeverity": message.severity.as_str(),
            "OriginOfCondition": {"@odata.id": record.origin},
        }],
    })
}

/// The truth about a machine changed: subscribers hear what is reported then.
pub(super) fn changed(acting: &mut Acting<'_>, slot: Slot, change: &PowerChange, at: Duration) {
    if let Some(honest) = change.condition() {
        let word = acting.reported_at(slot, at, honest);
        tell(acting, slot, &said(word));
    }
}

/// Something may have changed what is reported.
pub(super) fn settle(acting: &mut Acting<'_>) {
    if acting.state.redfish.events.known.is_empty() {
        acting.state.redfish.events.told.clear();
        return;
    }
    for slot in acting.state.machines.slots() {
        let word = said(acting.reported(slot));
        // What is so when the first subscriber comes is no event.
        let told = &mut acting.state.redfish.events.told;
        told.entry(slot).or_insert_with(|| word.clone());
        tell(acting, slot, &word);
    }
}

/// What is reported, as a word.
fn said(reported: Option<String>) -> String {
    reported.unwrap_or_else(|| "null".to_owned())
}

fn tell(acting: &mut Acting<'_>, slot: Slot, word: &str) {
    let Some(told) = acting.state.redfish.events.told.get_mut(&slot) else {
        return;
    };
    if *told == word {
        return;
    }
    word.clone_into(told);
    let origin = format!("{}/{}", system::SYSTEMS, acting.core.identities.real(slot).id);
    let message = match word {
        "On" => ResourceEvent::PoweredOn.message(&[&origin]),
        "Off" => ResourceEvent::PoweredOff.message(&[&origin]),
        "PoweringOn" => ResourceEvent::PoweringOn.message(&[&origin]),
        "PoweringOff" => ResourceEvent::PoweringOff.message(&[&origin]),
        other => ResourceEvent::StateChanged.message(&[&origin, other]),
    };
    publish(acting, message, &origin);
}
