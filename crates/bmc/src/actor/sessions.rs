//! The conversations of one actor: one for each host behind the BMC.

use std::sync::Arc;

use tokio::time::Instant;

use super::Urgency;
use super::pace::{READ_SPACING, SharedPace, not_before};
use crate::error::BmcError;
use crate::inspection::Scope;
use crate::{Bmc, BmcTarget, CommandAnswer, Deadlines, Inspection, LogEntry, Until, Verb};

/// Most hosts behind one BMC that are kept connected at once; the one asked longest ago gives way.
const MOST: usize = 8;

struct Session {
    target: Arc<BmcTarget>,
    bmc: Bmc,
    last_read: Option<Instant>,
}

/// The open conversations, the one asked longest ago first.
pub(super) struct Sessions {
    open: Vec<Session>,
    /// Targets and urgencies of all handles, one entry each.
    handles: Vec<(Arc<BmcTarget>, Urgency)>,
    deadlines: Deadlines,
    pace: SharedPace,
}

impl Sessions {
    pub(super) fn new(deadlines: Deadlines, pace: SharedPace) -> Self {
        Self {
            pace,
            open: Vec::new(),
            handles: Vec::new(),
            deadlines,
        }
    }

    /// Notes that a handle was taken.
    pub(super) fn join(&mut self, target: Arc<BmcTarget>, urgency: Urgency) {
        self.handles.push((target, urgency));
    }

    pub(super) fn is_held_for_a_remediation(&self) -> bool {
        let mut handles = self.handles.iter();
        handles.any(|(_, urgency)| *urgency == Urgency::Remediation)
    }

    /// Notes that a handle was given back; the conversation ends with the last.
    pub(super) async fn leave(&mut self, target: &BmcTarget, urgency: Urgency) {
        let is_it = |(handle, of): &(Arc<BmcTarget>, Urgency)| **handle == *target && *of == urgency;
        if let Some(index) = self.handles.iter().position(is_it) {
            self.handles.remove(index);
        }
        if self.held(target) == 0
            && let Some(index) = self.find(target)
        {
            self.end(index).await;
        }
    }

    fn held(&self, target: &BmcTarget) -> usize {
        let handles = self.handles.iter();
        handles.filter(|(handle, _)| **handle == *target).count()
    }

    /// Sees that there is a conversation for this target. One under other credentials or other rules
    /// goes on beside it for as long as somebody holds a handle with them.
    pub(super) async fn prepare(&mut self, target: &Arc<BmcTarget>) -> Result<(), BmcError> {
        if self.find(target).is_some() {
            return Ok(());
        }
        if self.open.len() >= MOST {
            self.end(0).await;
        }
        let bmc = Bmc::connect_within(BmcTarget::clone(target), self.deadlines).await?;
        self.open.push(Session {
            target: Arc::clone(target),
            bmc,
            last_read: None,
        });
        Ok(())
    }

    /// When this target may be read next.
    pub(super) fn read_at(&self, target: &BmcTarget, now: Instant) -> Instant {
        let session = self.open.iter().find(|session| *session.target == *target);
        not_before(session.and_then(|session| session.last_read), READ_SPACING, now)
    }

    pub(super) async fn inspect(&mut self, target: &BmcTarget, scope: Scope) -> Result<Inspection, BmcError> {
        let secret = target.credentials.version.as_str();
        let doubted = self.pace.with(|pace, now| pace.is_doubted(secret, now));
        let session = self.turn_to(target)?;
        session.last_read = Some(Instant::now());
        let found = session.bmc.look(scope, !doubted).await;
        // A failure of TLS and a rejected login may be an impostor's. Only Redfish itself takes the doubt away.
        let doubt = match &found {
            Ok(found) if found.reading.fallback.is_none() => false,
            Err(BmcError::Tls(_) | BmcError::AuthenticationRejected { .. }) => true,
            Ok(_) | Err(_) => return found,
        };
        self.pace.with(|pace, now| pace.note_doubt(secret, doubt, now));
        found
    }

    pub(super) async fn newest_log(&mut self, target: &BmcTarget) -> Result<Vec<LogEntry>, BmcError> {
        Ok(self.turn_to(target)?.bmc.newest_log().await)
    }

    pub(super) async fn end_session(&mut self, target: &BmcTarget, path: &str) -> Result<bool, BmcError> {
        self.turn_to(target)?.bmc.end_session(path).await
    }

    pub(super) async fn command(
        &mut self,
        target: &BmcTarget,
        command: Verb,
        until: Until,
    ) -> Result<CommandAnswer, BmcError> {
        self.turn_to(target)?.bmc.command(command, until).await
    }

    /// Ends the conversation about this target, unless another handle has it too.
    pub(super) async fn close(&mut self, target: &BmcTarget) -> Result<bool, BmcError> {
        match self.find(target) {
            Some(index) if self.held(target) <= 1 => self.finish(index).await,
            Some(_) | None => Ok(false),
        }
    }

    pub(super) async fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.end(0).await;
        }
    }

    async fn end(&mut self, index: usize) {
        if let Err(error) = self.finish(index).await {
            tracing::warn!(%error, "the session at a BMC could not be deleted; it ends by itself");
        }
    }

    /// A command that was not answered may arrive until the BMC has confirmed the end of its session. This
    /// outlives the conversation.
    async fn finish(&mut self, index: usize) -> Result<bool, BmcError> {
        let bmc = self.open.remove(index).bmc;
        let under_way = bmc.under_way_until();
        let closed = bmc.close().await;
        if closed.is_err()
            && let Some(until) = under_way
        {
            self.pace.with(|pace, _| pace.note_under_way(until));
        }
        closed
    }

    fn find(&self, target: &BmcTarget) -> Option<usize> {
        self.open.iter().position(|session| *session.target == *target)
    }

    /// Moves a conversation to the end of the list.
    fn turn_to(&mut self, target: &BmcTarget) -> Result<&mut Session, BmcError> {
        let index = self.find(target).ok_or(BmcError::NotRead)?;
        let session = self.open.remove(index);
        self.open.push(session);
        self.open.last_mut().ok_or(BmcError::NotRead)
    }
}
