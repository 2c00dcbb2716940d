//! The conversations of one actor: one for each host behind the BMC that is being talked about.

use std::sync::Arc;

use tokio::time::Instant;

use super::handle::Urgency;
use super::pace::{READ_SPACING, SharedPace, not_before};
use crate::error::BmcError;
use crate::{Bmc, BmcTarget, CommandAnswer, Deadlines, Inspection, PowerRead, Verb};

/// More hosts than this behind one BMC are not kept connected at once; the one that was asked
/// longest ago gives way.
const MOST: usize = 8;

#[derive(Debug)]
struct Talk {
    target: Arc<BmcTarget>,
    bmc: Bmc,
    last_read: Option<Instant>,
}

/// The open conversations, the one asked longest ago first.
#[derive(Debug)]
pub(super) struct Sessions {
    open: Vec<Talk>,
    /// Targets and urgencies of all lines, one entry a line.
    lines: Vec<(Arc<BmcTarget>, Urgency)>,
    deadlines: Deadlines,
    pace: SharedPace,
}

impl Sessions {
    pub(super) fn new(deadlines: Deadlines, pace: SharedPace) -> Self {
        Self {
            pace,
            open: Vec::new(),
            lines: Vec::new(),
            deadlines,
        }
    }

    /// Notes that somebody took a line.
    pub(super) fn join(&mut self, target: Arc<BmcTarget>, urgency: Urgency) {
        self.lines.push((target, urgency));
    }

    /// Whether a line was taken for a remediation.
    pub(super) fn is_held_for_a_remediation(&self) -> bool {
        let mut urgencies = self.lines.iter().map(|(_, urgency)| *urgency);
        urgencies.any(|urgency| urgency == Urgency::Remediation)
    }

    /// Notes that somebody gave one back; the conversation ends with the last.
    pub(super) async fn leave(&mut self, target: &BmcTarget, urgency: Urgency) {
        let is_it = |(line, of): &(Arc<BmcTarget>, Urgency)| **line == *target && *of == urgency;
        if let Some(index) = self.lines.iter().position(is_it) {
            self.lines.remove(index);
        }
        if !self.lines.iter().any(|(line, _)| **line == *target)
            && let Some(index) = self.find(target)
        {
            self.end(index).await;
        }
    }

    /// Sees that there is a conversation for this target. One under other credentials or other rules
    /// goes on beside it for as long as somebody holds a line with them.
    pub(super) async fn prepare(&mut self, target: &Arc<BmcTarget>) -> Result<(), BmcError> {
        if self.find(target).is_some() {
            return Ok(());
        }
        if self.open.len() >= MOST {
            self.end(0).await;
        }
        let bmc = Bmc::connect_within(BmcTarget::clone(target), self.deadlines).await?;
        self.open.push(Talk {
            target: Arc::clone(target),
            bmc,
            last_read: None,
        });
        Ok(())
    }

    /// When this target may be read next.
    pub(super) fn read_at(&self, target: &BmcTarget, now: Instant) -> Instant {
        let last = self
            .find(target)
            .and_then(|index| self.open.get(index)?.last_read);
        not_before(last, READ_SPACING, now)
    }

    pub(super) async fn read(&mut self, target: &BmcTarget) -> Result<PowerRead, BmcError> {
        let doubted = self.pace.with(|pace, now| pace.is_doubted(now));
        let session = self.turn_to(target).ok_or(BmcError::NotRead)?;
        session.last_read = Some(Instant::now());
        let read = session.bmc.read_with(!doubted).await;
        self.note_doubt(read.as_ref());
        read
    }

    pub(super) async fn inspect(&mut self, target: &BmcTarget) -> Result<Inspection, BmcError> {
        let doubted = self.pace.with(|pace, now| pace.is_doubted(now));
        let session = self.turn_to(target).ok_or(BmcError::NotRead)?;
        session.last_read = Some(Instant::now());
        let found = session.bmc.inspect_with(!doubted).await;
        self.note_doubt(found.as_ref().map(|found| &found.reading));
        found
    }

    /// A failure of TLS and a rejected login may be an impostor's. Only Redfish itself takes the doubt away.
    fn note_doubt(&self, read: Result<&PowerRead, &BmcError>) {
        let doubt = match read {
            Ok(reading) if reading.fallback.is_none() => false,
            Err(BmcError::Tls { .. } | BmcError::AuthenticationRejected { .. }) => true,
            Ok(_) | Err(_) => return,
        };
        self.pace.with(|pace, now| pace.note_doubt(doubt, now));
    }

    pub(super) async fn end_session(&mut self, target: &BmcTarget, path: &str) -> Result<bool, BmcError> {
        let session = self.turn_to(target).ok_or(BmcError::NotRead)?;
        session.bmc.end_session(path).await
    }

    pub(super) async fn command(
        &mut self,
        target: &BmcTarget,
        command: Verb,
        not_after: Instant,
    ) -> Result<CommandAnswer, BmcError> {
        let session = self.turn_to(target).ok_or(BmcError::NotRead)?;
        match command {
            Verb::PowerOff => session.bmc.power_off(not_after).await,
            Verb::PowerOn => session.bmc.power_on(not_after).await,
        }
    }

    /// Ends the conversation about this target, unless another line has it too.
    pub(super) async fn close(&mut self, target: &BmcTarget) -> Result<bool, BmcError> {
        let lines = self.lines.iter().filter(|(line, _)| **line == *target).count();
        match self.find(target) {
            Some(index) if lines <= 1 => self.finish(index).await,
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
    fn turn_to(&mut self, target: &BmcTarget) -> Option<&mut Talk> {
        let index = self.find(target)?;
        let session = self.open.remove(index);
        self.open.push(session);
        self.open.last_mut()
    }
}
