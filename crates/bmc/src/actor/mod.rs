//! One actor per BMC: everything this process asks of a BMC goes through one queue.
//!
//! The remediation of a host, those of other hosts behind the BMC, and background checks become one customer:
//! one request at a time, reads and commands spaced, one session for one login, a pause when the BMC asks for it,
//! and a circuit that opens when it does not answer. A slow BMC delays nobody else.
//!
//! A request that was begun is carried to its end, also when its caller has gone: one that is cut off in the
//! middle leaves sessions behind. One that was not begun is dropped with its caller.

mod handle;
mod pace;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

pub use self::handle::{BmcHandle, Bmcs, Urgency};
use self::handle::{Request, What};
use self::pace::{Pace, SharedPace};
use self::sessions::Sessions;
use super::error::BmcError;
use super::ipmi::IpmiError;
use super::{BmcTarget, CommandAnswer, Deadlines, Verb};

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
        let mut waiting = VecDeque::new();
        while let Some(request) = next(&mut queue, &mut waiting).await {
            self.serve(request).await;
        }
        self.sessions.close_all().await;
    }

    async fn serve(&mut self, request: Request) {
        let (target, urgency) = (request.target, request.urgency);
        match request.what {
            What::Join => self.sessions.join(target, urgency),
            What::Leave => self.sessions.leave(&target, urgency).await,
            What::Prepare(reply) => {
                if !reply.is_closed() {
                    let _ = reply.send(self.sessions.prepare(&target).await);
                }
            }
            What::Inspect(scope, mut reply) => {
                let found = match self.turn(&target, urgency, &mut reply).await {
                    Ok(true) => {
                        let found = self.sessions.inspect(&target, scope).await;
                        self.note(found.as_ref().err());
                        found
                    }
                    Ok(false) => return,
                    Err(error) => Err(error),
                };
                let _ = reply.send(found);
            }
            What::Command(command, not_after, mut reply) => {
                let answer = match self.command_turn(not_after, &mut reply).await {
                    Ok(true) => self.command(&target, command, not_after).await,
                    Ok(false) => return,
                    Err(error) => Err(error),
                };
                let _ = reply.send(answer);
            }
            What::EndSession(path, reply) => {
                if !reply.is_closed() {
                    let _ = reply.send(self.sessions.end_session(&target, &path).await);
                }
            }
            What::Close(reply) => {
                let _ = reply.send(self.sessions.close(&target).await);
            }
        }
    }

    /// Waits until the target may be read again. Answers whether the caller still waits for that.
    async fn turn<Answer>(
        &mut self,
        target: &Arc<BmcTarget>,
        urgency: Urgency,
        reply: &mut oneshot::Sender<Answer>,
    ) -> Result<bool, BmcError> {
        if reply.is_closed() {
            return Ok(false);
        }
        self.check_rest(urgency)?;
        self.sessions.prepare(target).await?;
        Ok(wait(self.sessions.read_at(target, Instant::now()), reply).await)
    }

    /// Waits until the BMC may be commanded again. Answers whether the caller still waits for that.
    async fn command_turn<Answer>(
        &self,
        not_after: Instant,
        reply: &mut oneshot::Sender<Answer>,
    ) -> Result<bool, BmcError> {
        let look = |pace: &mut Pace, now| (pace.command_at(now), pace.is_command_under_way(now));
        let (at, under_way) = self.pace.with(look);
        if under_way {
            return Err(IpmiError::EarlierCommandUnderWay.into());
        }
        if at >= not_after {
            return Err(BmcError::TooLate);
        }
        Ok(wait(at, reply).await)
    }

    async fn command(
        &mut self,
        target: &Arc<BmcTarget>,
        command: Verb,
        not_after: Instant,
    ) -> Result<CommandAnswer, BmcError> {
        self.pace.with(Pace::note_command);
        let answer = self.sessions.command(target, command, not_after).await;
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

async fn wait<Answer>(until: Instant, reply: &mut oneshot::Sender<Answer>) -> bool {
    tokio::select! {
        biased;
        () = reply.closed() => false,
        () = sleep_until(until) => true,
    }
}

/// The next request: those for remediations first, each kind in the order in which it came.
async fn next(
    queue: &mut mpsc::UnboundedReceiver<Request>,
    waiting: &mut VecDeque<Request>,
) -> Option<Request> {
    if waiting.is_empty() {
        waiting.push_back(queue.recv().await?);
    }
    while let Ok(request) = queue.try_recv() {
        waiting.push_back(request);
    }
    let urgent = |request: &Request| request.urgency == Urgency::Remediation;
    waiting.remove(waiting.iter().position(urgent).unwrap_or_default())
}
