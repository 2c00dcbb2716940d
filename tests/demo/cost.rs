//! What one remediation cost: counted by the BMC itself and by the API server's audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Counters, Event};
use harness::{AuditEvent, Cursor};
use world::DAEMON_USER;
use world::conversation::Conversation;

use crate::stage::Stage;

/// How things were counted before the host failed.
pub(crate) struct Baseline {
    pub(crate) cursor: Cursor,
    /// Last entry of the simulator's journal.
    pub(crate) seq: u64,
    counters: Counters,
}

impl Baseline {
    pub(crate) fn take(stage: &Stage) -> Result<Self> {
        let bmc = &stage.host()?.bmc;
        Ok(Self {
            cursor: stage.control_plane.audit_cursor()?,
            seq: bmc.journal_after(0).last_seq,
            counters: bmc.counters(),
        })
    }

    /// What the BMC counted since.
    pub(crate) fn counters_since(&self, stage: &Stage) -> Result<Counters> {
        let (now, then) = (stage.host()?.bmc.counters(), &self.counters);
        Ok(Counters {
            requests: now.requests.saturating_sub(then.requests),
            service_root: now.service_root.saturating_sub(then.service_root),
            system_collection: now.system_collection.saturating_sub(then.system_collection),
            system_get: now.system_get.saturating_sub(then.system_get),
            reset: now.reset.saturating_sub(then.reset),
            session_create: now.session_create.saturating_sub(then.session_create),
            session_delete: now.session_delete.saturating_sub(then.session_delete),
            other: now.other.saturating_sub(then.other),
            tcp_connections: now.tcp_connections.saturating_sub(then.tcp_connections),
            tls_handshakes: now.tls_handshakes.saturating_sub(then.tls_handshakes),
            tls_failures: now.tls_failures.saturating_sub(then.tls_failures),
            auth_failures: now.auth_failures.saturating_sub(then.auth_failures),
            // The story is told over Redfish.
            ..Counters::default()
        })
    }
}

/// What the daemon asked of the API server.
#[derive(Debug, Default)]
pub(crate) struct ApiCalls {
    /// Writes by kind, without events.
    pub(crate) writes: BTreeMap<String, u64>,
    /// Writes that came after those of others.
    pub(crate) refused: u64,
    /// Writes that the role does not allow: whether Secrets may be held is tried once by a process, with one more read.
    pub(crate) denied: u64,
    /// Writes of the policy's conditions, which are about no remediation.
    pub(crate) of_policy: u64,
    /// What was told of workloads that were still waited for.
    pub(crate) waiting: u64,
    /// Reads and events about who evaluates health checks, which is looked at once a minute.
    pub(crate) of_evaluators: u64,
    pub(crate) events: u64,
    pub(crate) gets: BTreeMap<String, u64>,
    pub(crate) lists: BTreeMap<String, u64>,
    /// When the workloads were released.
    pub(crate) released: Option<jiff::Timestamp>,
}

impl ApiCalls {
    pub(crate) async fn since(stage: &Stage, baseline: &Baseline) -> Result<Self> {
        let mut this = Self::default();
        let host = &stage.host()?.name;
        for event in stage.control_plane.audit_of(DAEMON_USER, baseline.cursor).await? {
            if world::truth::is_release(&event, host) {
                this.released = Some(event.request_received);
            }
            this.count(&event, host);
        }
        Ok(this)
    }

    fn count(&mut self, event: &AuditEvent, host: &str) {
        let resource = &event.resource;
        let mut what = resource.resource.clone();
        if !resource.subresource.is_empty() {
            what = format!("{what}/{}", resource.subresource);
        }
        let counts = match event.verb.as_str() {
            _ if is_about_evaluators(event, host) => {
                self.of_evaluators = self.of_evaluators.saturating_add(1);
                return;
            }
            "get" => &mut self.gets,
            "list" => &mut self.lists,
            // Open watches cost nothing until something changes.
            "watch" => return,
            _ if resource.resource == "events" => {
                self.events = self.events.saturating_add(1);
                return;
            }
            // Somebody wrote first: it is decided on anew.
            _ if event.response_code == 409 => {
                self.refused = self.refused.saturating_add(1);
                return;
            }
            _ if event.response_code == 403 => {
                self.denied = self.denied.saturating_add(1);
                return;
            }
            _ if resource.resource == "remediationpolicies" => {
                self.of_policy = self.of_policy.saturating_add(1);
                return;
            }
            _ if tells_who_is_waited_for(event) => {
                self.waiting = self.waiting.saturating_add(1);
                return;
            }
            verb => {
                what = format!("{verb} {what}");
                &mut self.writes
            }
        };
        let count = counts.entry(what).or_default();
        *count = count.saturating_add(1);
    }
}

/// Whether it is about no host: the Lease of the platform's controller, or an event about a health check.
fn is_about_evaluators(event: &AuditEvent, host: &str) -> bool {
    let resource = &event.resource;
    match (event.verb.as_str(), resource.resource.as_str()) {
        ("get", "leases") => resource.name != host,
        ("get", "featuregates") => true,
        // An event is named after what it is about.
        (_, "events") => !resource.name.starts_with(host),
        _ => false,
    }
}

/// Whether a journal of Fencing names what it waits for.
fn tells_who_is_waited_for(event: &AuditEvent) -> bool {
    let journal = event.request_object.as_ref();
    let journal = journal.and_then(|object| object.get("status"));
    let says = |pointer: &str| journal.and_then(|journal| journal.pointer(pointer));
    let waits = says("/release/waitingFor").and_then(serde_json::Value::as_array);
    says("/phase").is_some_and(|phase| phase == "Fencing") && waits.is_some_and(|waits| !waits.is_empty())
}

/// Everything that was counted.
pub(crate) struct Cost {
    pub(crate) counters: Counters,
    pub(crate) conversation: Conversation,
    pub(crate) calls: ApiCalls,
    pub(crate) fencing: Duration,
    /// From the trigger to the accepted power-off.
    pub(crate) trigger_to_off: Option<Duration>,
    /// From the last read of the proof to the release.
    pub(crate) proof_to_release: Option<Duration>,
    pub(crate) peak_bytes: u64,
}

impl Cost {
    pub(crate) async fn measure(stage: &Stage, baseline: &Baseline) -> Result<Self> {
        let host = stage.host()?;
        // The last event is published, and the session closed, in the background.
        let closed = host.bmc.wait_for(|now| now.sessions.is_empty());
        tokio::time::timeout(Duration::from_secs(5), closed).await.ok();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let name = world::remediation_name(&host.name, 1);
        let journal = world::journal(&stage.world.remediations().get(&name).await?);
        let evidence = journal
            .evidence
            .as_ref()
            .context("the remediation has no evidence of Off")?;
        let entries = host.bmc.journal_after(baseline.seq).entries;
        let calls = ApiCalls::since(stage, baseline).await?;
        let told = entries
            .iter()
            .find(|entry| matches!(entry.event, Event::Command { .. }));
        let release = journal.release.as_ref();
        Ok(Self {
            counters: baseline.counters_since(stage)?,
            conversation: Conversation::of(&entries, evidence.reads.len()),
            fencing: between(
                release.map(|one| one.decided),
                release.and_then(|one| one.finished),
            )
            .unwrap_or_default(),
            trigger_to_off: between(stage.followed.triggers.of(&host.name), told.map(|told| told.wall)),
            proof_to_release: between(evidence.reads.last().map(|read| read.ended), calls.released),
            calls,
            peak_bytes: stage.daemon.peak_resident_bytes()?,
        })
    }
}

fn between(from: Option<jiff::Timestamp>, to: Option<jiff::Timestamp>) -> Option<Duration> {
    Duration::try_from(to?.duration_since(from?)).ok()
}
