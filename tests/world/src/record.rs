//! What was written down: the journal as the API server got it, next to what the BMCs were told.

use std::collections::BTreeSet;

use anyhow::Result;
use bmc_simulator::{Command, Event};
use harness::{AuditEvent, Cursor};
use jiff::{SignedDuration, Timestamp};
use remediator_core::journal::{Intent, Journal, Verb};
use serde_json::Value;

use super::{DAEMON_USER, World, WorldHost, truth};

/// Age of the newest read of Off at which nothing may be released any more.
const PROOF_AGE: SignedDuration = SignedDuration::from_secs(5);

/// A journal that the API server accepted.
#[derive(Debug)]
pub struct Written {
    pub at: Timestamp,
    pub journal: Journal,
}

/// A power command that reached a BMC.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub at: Timestamp,
    pub verb: Verb,
    pub seq: u64,
}

/// Every accepted journal about a host, oldest first.
pub fn journals(events: &[AuditEvent], host: &WorldHost) -> Vec<Written> {
    let status = events.iter().filter(|event| {
        event.resource.resource == "powercycleremediations"
            && event.resource.subresource == "status"
            && event.response_code < 300
    });
    let written = status.filter_map(|event| {
        let status: &Value = event.request_object.as_ref()?.get("status")?;
        let journal: Journal = serde_json::from_value(status.clone()).ok()?;
        let about = journal
            .subject
            .as_ref()
            .is_some_and(|subject| subject.node_name() == Some(&host.name));
        about.then_some(Written {
            at: event.stage_timestamp,
            journal,
        })
    });
    written.collect()
}

/// Every power command of ours that a host's BMC was sent, and a complaint for any other verb.
pub fn commands(host: &WorldHost) -> (Vec<Sent>, Vec<String>) {
    let (mut sent, mut foreign) = (Vec::new(), Vec::new());
    for entry in host.bmc.journal() {
        let verb = match &entry.event {
            Event::Command { command, .. } => match command {
                Command::ForceOff => Verb::PowerOff,
                Command::On => Verb::PowerOn,
                Command::ForceRestart => Verb::Restart,
                other => {
                    foreign.push(format!("{} was sent {other:?}", host.name));
                    continue;
                }
            },
            _ => continue,
        };
        sent.push(Sent {
            at: entry.wall,
            verb,
            seq: entry.seq,
        });
    }
    (sent, foreign)
}

/// Whether two of those who switch a host worked against each other in one power cycle: somebody switched it off after
/// somebody had switched it on.
pub fn is_contended(host: &WorldHost) -> bool {
    let (sent, _) = commands(host);
    let mut sent = sent.into_iter().map(|sent| sent.verb);
    sent.any(|verb| verb == Verb::PowerOn) && sent.any(|verb| verb == Verb::PowerOff)
}

/// The most sessions over Redfish that a BMC had open at once.
pub fn most_sessions(host: &WorldHost) -> usize {
    let (mut open, mut most) = (BTreeSet::new(), 0);
    for entry in host.bmc.journal() {
        match &entry.event {
            Event::SessionCreated { session, .. } => {
                open.insert(session.clone());
            }
            Event::SessionDeleted { session }
            | Event::SessionEnded { session, .. }
            | Event::SessionExpired { session } => {
                open.remove(session);
            }
            Event::BmcRebooted => open.clear(),
            _ => {}
        }
        most = most.max(open.len());
    }
    most
}

/// Commands that no journalled intent covers, or that one intent covers twice.
pub async fn uncovered_commands(world: &World, cursor: Cursor) -> Result<Vec<String>> {
    let events = world.cluster.audit_of(DAEMON_USER, cursor).await?;
    let mut complaints = Vec::new();
    for host in &world.hosts {
        let written = journals(&events, host);
        let (sent, foreign) = commands(host);
        complaints.extend(foreign);
        let mut used: Option<Intent> = None;
        for command in sent {
            let before = written.iter().rev().find(|written| written.at <= command.at);
            let intent = before.and_then(|written| written.journal.intent.clone());
            match intent {
                Some(intent) if intent.verb != command.verb => {
                    complaints.push(format!("{}: {command:?} under {intent:?}", host.name));
                }
                Some(intent) if command.at > intent.not_after => {
                    complaints.push(format!("{}: {command:?} too late for {intent:?}", host.name));
                }
                Some(intent) if used.as_ref() == Some(&intent) => {
                    complaints.push(format!("{}: {command:?} again under {intent:?}", host.name));
                }
                Some(intent) => used = Some(intent),
                None => complaints.push(format!("{}: {command:?} without an intent", host.name)),
            }
        }
    }
    Ok(complaints)
}

/// Commands repeated without a read of the power state in between.
pub fn blind_repeats(host: &WorldHost) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut unread: Option<Verb> = None;
    for entry in host.bmc.journal() {
        match &entry.event {
            Event::Observed { .. } => unread = None,
            Event::Command { command, .. } => {
                let verb = match command {
                    Command::On => Verb::PowerOn,
                    Command::ForceRestart => Verb::Restart,
                    _ => Verb::PowerOff,
                };
                if unread.replace(verb) == Some(verb) {
                    complaints.push(format!("{}: {command:?} twice without a read", host.name));
                }
            }
            _ => {}
        }
    }
    complaints
}

/// Releases that were not journalled with their evidence before, or whose proof was not fresh: the
/// last two things that the BMC said must be `Off`, after the last power-off and not long ago.
pub async fn unproven_releases(world: &World, cursor: Cursor) -> Result<Vec<String>> {
    let events = world.cluster.audit_of(DAEMON_USER, cursor).await?;
    let mut complaints = Vec::new();
    for host in &world.hosts {
        let written = journals(&events, host);
        let releases = events.iter().filter(|event| truth::is_release(event, &host.name));
        for release in releases {
            let at = release.request_received;
            let before = written.iter().rev().find(|written| written.at <= at);
            let evidence = before.and_then(|written| written.journal.evidence.as_ref());
            let told = evidence.is_some_and(|evidence| {
                let good = |read: &&remediator_core::journal::OffRead| {
                    read.said == "Off" && read.began >= evidence.acknowledged
                };
                evidence.reads.iter().filter(good).count() >= 2
            });
            if !told {
                complaints.push(format!(
                    "{}: released at {at} on {evidence:?}, which proves nothing",
                    host.name
                ));
            }
            complaints.extend(unfresh(host, release));
        }
    }
    Ok(complaints)
}

fn unfresh(host: &WorldHost, release: &AuditEvent) -> Option<String> {
    let at = release.request_received;
    let journal = host.bmc.journal();
    let earlier = journal.iter().rev().filter(|entry| entry.wall <= at);
    let mut said = Vec::new();
    for entry in earlier {
        match &entry.event {
            Event::Observed { reported, .. } => said.push((entry.wall, reported.clone())),
            Event::Command { .. } => break,
            _ => {}
        }
    }
    let off = said
        .iter()
        .take(2)
        .filter(|(_, said)| said.as_deref() == Some("Off"))
        .count();
    let fresh = said
        .first()
        .is_some_and(|(wall, _)| at.duration_since(*wall) <= PROOF_AGE);
    (off < 2 || !fresh).then(|| format!("{}: released at {at} when the BMC had said {said:?}", host.name))
}
