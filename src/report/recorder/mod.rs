//! Publishes events, each text as one of its own.
//!
//! kube's `Recorder` (kube-rs `kube-runtime/src/events.rs`) counts up an event of the same reason about the same
//! object whatever its note says; and an event that somebody deleted takes those that come after it along.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, Recorder, Reporter};

/// How long an event is counted up instead of being published anew: kube's `CACHE_TTL`.
const REMEMBERED: Duration = Duration::from_mins(6);

/// What an event is about: object, reason, action and related object.
type About = (String, String, String, String);

/// What was published last about something.
struct Last {
    note: Option<String>,
    /// Counts up that event, and no other.
    recorder: Recorder,
    used: Instant,
}

/// Publishes events.
#[derive(Clone)]
pub(super) struct Notes {
    client: Client,
    reporter: Reporter,
    last: Arc<Mutex<HashMap<About, Last>>>,
}

impl Notes {
    /// For events in the name of `reporter`.
    pub(super) fn new(client: Client, reporter: Reporter) -> Self {
        Self {
            client,
            reporter,
            last: Arc::default(),
        }
    }

    /// Publishes an event, or counts it up where it is the same as the last one.
    pub(super) async fn publish(
        &self,
        event: &Event,
        regarding: &ObjectReference,
    ) -> Result<(), kube::Error> {
        let about = about(event, regarding);
        let recorder = self.recorder(&about, event);
        let published = recorder.publish(event, regarding).await;
        match &published {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Ok(()) | Err(_) => return published,
        }
        // It was deleted meanwhile, or the namespace is.
        self.all().remove(&about);
        self.recorder(&about, event).publish(event, regarding).await
    }

    /// What counts up this event, or publishes it for the first time.
    fn recorder(&self, about: &About, event: &Event) -> Recorder {
        let now = Instant::now();
        let mut all = self.all();
        all.retain(|_, last| now.duration_since(last.used) < REMEMBERED);
        let same = all.get_mut(about).filter(|last| last.note == event.note);
        if let Some(last) = same {
            last.used = now;
            return last.recorder.clone();
        }
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        let last = Last {
            note: event.note.clone(),
            recorder: recorder.clone(),
            used: now,
        };
        all.insert(about.clone(), last);
        recorder
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<About, Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn about(event: &Event, regarding: &ObjectReference) -> About {
    let key = |object: &ObjectReference| {
        let parts = [&object.kind, &object.namespace, &object.name, &object.uid];
        parts.map(|part| part.clone().unwrap_or_default()).join("/")
    };
    (
        key(regarding),
        event.reason.clone(),
        event.action.clone(),
        event.secondary.as_ref().map(key).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
