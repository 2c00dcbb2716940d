//! Events and log lines. Published after the journal was written, and never a reason to fail.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Reporter as KubeReporter};
use kube::{Client, Resource, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::Version;
use remediator_core::facts::Obstacle;
use remediator_core::journal::{Journal, Subject};
use remediator_core::phase::{Phase, Reason};
use tokio::sync::Semaphore;

use crate::report::conditions::Statement;
use crate::report::metrics::Metrics;
use crate::report::recorder::Notes;

/// The longest an event may hold up its remediation.
const PUBLISH_DEADLINE: Duration = Duration::from_secs(2);

/// When an event is given up; nobody repeats it.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// So many events may be under way for so long. Further ones are given up after [`PUBLISH_DEADLINE`].
const UNDER_WAY: usize = 32;

/// Longest note in bytes; the API's limit is 1 kB.
const NOTE_LIMIT: usize = 1_000;

/// Publishes events on the objects that people look at, and writes log lines.
#[derive(Clone)]
pub struct Reporter {
    notes: Notes,
    under_way: Arc<Semaphore>,
    pub(super) metrics: Metrics,
}

impl Reporter {
    /// A reporter for this process. `instance`: the Pod's name, or the host's.
    pub fn new(client: Client, instance: String, metrics: Metrics) -> Self {
        let reporter = KubeReporter {
            controller: "baremetal-remediator".to_owned(),
            instance: Some(instance),
        };
        Self {
            notes: Notes::new(client, reporter),
            under_way: Arc::new(Semaphore::new(UNDER_WAY)),
            metrics,
        }
    }

    /// Reports what a journal write changed: begin and end on the Machine, obstacles on the remediation.
    pub async fn journal_written(
        &self,
        remediation: &PowerCycleRemediation,
        before: &Journal,
        after: &Journal,
    ) {
        self.measure(remediation, before, after);
        if let Some(lost) = lost_lease(before, after) {
            self.warn(&remediation.object_ref(&()), &lost).await;
        }
        self.hold_changed(remediation, before, after).await;
        let escalation_over = before.open_escalation().is_some() && after.open_escalation().is_none();
        if before.phase == after.phase && before.reason == after.reason && !escalation_over {
            return;
        }
        let name = remediation.name_any();
        let namespace = remediation.namespace().unwrap_or_default();
        tracing::info!(
            remediation = %format_args!("{namespace}/{name}"),
            phase = after.phase.as_str(),
            reason = %after.reason,
            attempt = after.attempt,
            "{}", after.message
        );
        let entered = before.phase != after.phase;
        let event = match after.phase {
            Phase::PoweringOff | Phase::Restarting if entered => EventType::Normal,
            Phase::Succeeded | Phase::Cancelled => EventType::Normal,
            Phase::Failed => EventType::Warning,
            // Progress is in the status; events are for what a person has to know.
            Phase::Holding | Phase::PoweringOn | Phase::Fencing if entered => return,
            Phase::Fencing if after.is_because(Reason::ReleasingWorkloads) => return,
            Phase::Booting if after.is_because(Reason::WaitingForNode) => return,
            Phase::Pending if before.phase == Phase::AwaitingConfirmation => EventType::Normal,
            Phase::Pending
            | Phase::Holding
            | Phase::PoweringOff
            | Phase::AwaitingConfirmation
            | Phase::Fencing
            | Phase::PoweringOn
            | Phase::Restarting
            | Phase::Booting => EventType::Warning,
        };
        let action = after.phase.as_str();
        let own = remediation.object_ref(&());
        let (regarding, related) = match (after.phase, &after.subject) {
            (
                Phase::PoweringOff | Phase::Restarting | Phase::Succeeded | Phase::Cancelled | Phase::Failed,
                Some(subject),
            ) => (subject_reference(&namespace, subject), Some(own)),
            _ => (own, None),
        };
        self.publish(event, &after.reason, &after.message, action, &regarding, related)
            .await;
    }

    /// Warns on an object of what is said there.
    pub async fn tell(&self, regarding: &ObjectReference, said: &Statement) {
        let (reason, note) = (said.reason.as_str(), said.message.as_str());
        let name = regarding.name.as_deref().unwrap_or_default();
        tracing::warn!(object = name, reason, "{note}");
        self.publish(EventType::Warning, reason, note, "Remediate", regarding, None)
            .await;
    }

    /// Reports an obstacle on whom a remediation is about.
    pub async fn warn_of(&self, remediation: &PowerCycleRemediation, obstacle: &Obstacle) {
        let journal = remediation.status.as_ref().map(|status| &status.journal);
        let regarding = match journal.and_then(|journal| journal.subject.as_ref()) {
            Some(subject) => subject_reference(&remediation.namespace().unwrap_or_default(), subject),
            None => remediation.object_ref(&()),
        };
        self.warn(&regarding, obstacle).await;
    }

    /// Reports an obstacle on an object.
    pub async fn warn(&self, regarding: &ObjectReference, obstacle: &Obstacle) {
        let note = obstacle.for_people();
        let reason = obstacle.reason.as_str();
        let name = regarding.name.as_deref().unwrap_or_default();
        let namespace = regarding.namespace.as_deref().unwrap_or_default();
        tracing::warn!(object = %format_args!("{namespace}/{name}"), reason, "{note}");
        self.publish(EventType::Warning, reason, &note, "Remediate", regarding, None)
            .await;
    }

    pub(super) async fn publish(
        &self,
        type_: EventType,
        reason: &str,
        note: &str,
        action: &str,
        regarding: &ObjectReference,
        secondary: Option<ObjectReference>,
    ) {
        let note: String = note
            .char_indices()
            .take_while(|(at, _)| *at < NOTE_LIMIT)
            .map(|(_, one)| one)
            .collect();
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: action.to_owned(),
            secondary,
        };
        let publishing = published(self.notes.clone(), event, regarding.clone());
        let Ok(room) = Arc::clone(&self.under_way).try_acquire_owned() else {
            let _ = tokio::time::timeout(PUBLISH_DEADLINE, publishing).await;
            return;
        };
        let published = tokio::spawn(async move {
            publishing.await;
            drop(room);
        });
        // It is published all the same, only later.
        let _ = tokio::time::timeout(PUBLISH_DEADLINE, published).await;
    }
}

async fn published(notes: Notes, event: Event, regarding: ObjectReference) {
    let reason = &event.reason;
    match tokio::time::timeout(GIVEN_UP, notes.publish(&event, &regarding)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(reason, %error, "event not published"),
        Err(_) => tracing::debug!(reason, "event not published in time"),
    }
}

/// The Lease on the Node that we have lost since, after the power-off.
fn lost_lease(before: &Journal, after: &Journal) -> Option<Obstacle> {
    let lost = after.node_lease.as_ref()?;
    let holder = lost.lost_to.as_ref()?;
    let is_new = before.held_node_lease().is_some();
    is_new.then(|| {
        let detail = format!(
            "{holder} holds the Lease of Node {} now, which was ours; the host is brought back all the same",
            lost.node
        );
        Obstacle::new(Reason::NodeLeaseHeld, detail)
    })
}

/// Group and version of the Machine: of Cluster API the newest, for the journal keeps the group only.
fn machine_version(subject: &Subject) -> String {
    match &subject.machine_group {
        None => format!("{}/{}", Machine::group(&()), Machine::version(&())),
        Some(group) => format!("{group}/{}", Version::V1Beta2.as_str()),
    }
}

/// The Machine, where people look; the Node where it has none. One of the two there always is.
fn subject_reference(namespace: &str, subject: &Subject) -> ObjectReference {
    if let (Some(name), Some(uid)) = (&subject.machine, &subject.machine_uid) {
        return ObjectReference {
            api_version: Some(machine_version(subject)),
            kind: Some(Machine::kind(&()).into_owned()),
            namespace: Some(namespace.to_owned()),
            name: Some(name.clone()),
            uid: Some(uid.clone()),
            ..ObjectReference::default()
        };
    }
    let node = subject.node_name().map(ToOwned::to_owned);
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: node.clone(),
        // Whoever describes a Node looks for events by its name in the place of the UID, because that is
        // what kubelets write (kubernetes `pkg/kubelet/kubelet.go`, `nodeRef`).
        uid: node,
        ..ObjectReference::default()
    }
}
