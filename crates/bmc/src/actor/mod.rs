//! One actor per BMC: everything this process asks of a BMC goes through one queue.
//!
//! The remediation of a host, those of other hosts behind the BMC, and background checks become one customer:
//! one request at a time, reads and commands spaced, one session for one login, a pause when the BMC asks for it,
//! and a circuit that opens when it does not answer. A slow BMC delays nobody else. A command goes before every
//! read that was not begun.
//!
//! A request that was begun is carried to its end, also when its caller has gone: one that is cut off in the
//! middle leaves sessions behind. One that was not begun is dropped with its caller.

mod handle;
mod pace;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

pub use self::handle::{BmcHandle, Bmcs, Urgency};
use self::handle::{Request, What};
use self::pace::{Pace, SharedPace};
use self::sessions::Sessions;
use super::error::BmcError;
use super::ipmi::IpmiError;
use super::{BmcTarget, CommandAnswer, Deadlines, Inspection, Until, Verb};
use crate::inspection::Scope;

/// When a check that a remediation goes before comes again.
const PRECEDENCE: Duration = Duration::from_mins(1);

/// How requests ended, by their count.
type Outcomes = Arc<Mutex<BTreeMap<&'static str, u64>>>;

struct Actor {
    pace: SharedPace,
    outcomes: Outcomes,
    sessions: Sessions,
}

impl Actor {
    fn new(pace: SharedPace, outcomes: Outcomes, deadlines: Deadlines) -> Self {
        Self {
            pace: pace.clone(),
            outcomes,
            sessions: Sessions::new(deadlines, pace),
        }
    }

    /// Serves until the last handle is gone, then ends every session.
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Request>) {
        let mut waiting = Vec::new();
        while let Some(request) = self.next(&mut queue, &mut waiting).await {
            self.serve(request).await;
        }
        self.sessions.close_all().await;
    }

    /// The next request, once it is due. While one that goes first is not due, nothing is begun that it would have to
    /// wait for. Among equals the one that is due first, then the one that came first: no host behind the BMC is read
    /// twice while another waits.
    async fn next(
        &self,
        queue: &mut mpsc::UnboundedReceiver<Request>,
        waiting: &mut Vec<Request>,
    ) -> Option<Request> {
        loop {
            while let Ok(request) = queue.try_recv() {
                waiting.push(request);
            }
            let now = Instant::now();
            let order = |(_, request): &(usize, &Request)| (request.turn(), self.due(request, now));
            let Some((index, first)) = waiting.iter().enumerate().min_by_key(order) else {
                waiting.push(queue.recv().await?);
                continue;
            };
            let due = self.due(first, now);
            if due <= now {
                return Some(waiting.remove(index));
            }
            tokio::select! {
                () = sleep_until(due) => {}
                Some(request) = queue.recv() => waiting.push(request),
            }
        }
    }

    /// When a request may be served: reads of one system and commands keep their distance. A command whose time is over
    /// before that is answered when it is over.
    fn due(&self, request: &Request, now: Instant) -> Instant {
        if !request.is_wanted() {
            return now;
        }
        match &request.what {
            What::Inspect(..) => self.sessions.read_at(&request.target, now),
            What::Command(_, until, _) => self.pace.with(|pace, _| pace.command_at(now)).min(until.at()),
            What::Join
            | What::Leave
            | What::Prepare(_)
            | What::Log(_)
            | What::EndSession(..)
            | What::Close(_) => now,
        }
    }

    /// A request that nobody waits for any more is not begun.
    async fn serve(&mut self, request: Request) {
        if !request.is_wanted() {
            return;
        }
        let (target, urgency) = (request.target, request.urgency);
        match request.what {
            What::Join => self.sessions.join(target, urgency),
            What::Leave => self.sessions.leave(&target, urgency).await,
            What::Prepare(reply) => {
                let _ = reply.send(self.sessions.prepare(&target).await);
            }
            What::Inspect(scope, reply) => {
                let _ = reply.send(self.inspect(&target, urgency, scope).await);
            }
            What::Command(command, until, reply) => {
                let _ = reply.send(self.command(&target, command, until).await);
            }
            What::Log(reply) => {
                let _ = reply.send(self.sessions.newest_log(&target).await);
            }
            What::EndSession(path, reply) => {
                let _ = reply.send(self.sessions.end_session(&target, &path).await);
            }
            What::Close(reply) => {
                let _ = reply.send(self.sessions.close(&target).await);
            }
        }
    }

    async fn inspect(
        &mut self,
        target: &Arc<BmcTarget>,
        urgency: Urgency,
        scope: Scope,
    ) -> Result<Inspection, BmcError> {
        self.check_rest(urgency)?;
        self.sessions.prepare(target).await?;
        let found = self.sessions.inspect(target, scope).await;
        self.note(found.as_ref().err());
        found
    }

    async fn command(
        &mut self,
        target: &Arc<BmcTarget>,
        command: Verb,
        until: Until,
    ) -> Result<CommandAnswer, BmcError> {
        if self.pace.with(|pace, now| pace.is_command_under_way(now)) {
            return Err(IpmiError::EarlierCommandUnderWay.into());
        }
        if until.is_over() {
            return Err(BmcError::TooLate);
        }
        self.pace.with(Pace::note_command);
        let answer = self.sessions.command(target, command, until).await;
        self.note(answer.as_ref().err());
        if let Ok(CommandAnswer::Refused {
            retry_after: Some(wish),
            ..
        }) = &answer
        {
            self.pace.with(|pace, now| pace.note_wish(*wish, now));
        }
        answer
    }

    /// A BMC that asked to be left alone is left alone. One that does not answer, or that a remediation has a
    /// handle on, is asked for a remediation only: the requests of one would wait behind a check that was begun.
    fn check_rest(&self, urgency: Urgency) -> Result<(), BmcError> {
        if urgency == Urgency::Background && self.sessions.is_held_for_a_remediation() {
            return Err(BmcError::Resting(PRECEDENCE));
        }
        let left = self.pace.with(|pace, now| {
            let open = pace.open_for(now).filter(|_| urgency == Urgency::Background);
            pace.wants_rest(now).or(open)
        });
        left.map_or(Ok(()), |left| Err(BmcError::Resting(left)))
    }

    fn note(&self, error: Option<&BmcError>) {
        let outcome = error.map_or("Answered", BmcError::reason);
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let count = outcomes.entry(outcome).or_default();
        *count = count.saturating_add(1);
        drop(outcomes);
        self.pace.with(|pace, now| match error {
            Some(error) if error.is_silence() => pace.note_failure(now),
            Some(error) => {
                pace.note_answer();
                if let BmcError::Http {
                    retry_after: Some(wish),
                    ..
                } = error
                {
                    pace.note_wish(*wish, now);
                }
            }
            None => pace.note_answer(),
        });
    }
}
