//! One actor per BMC: everything this process asks of a BMC goes through one queue.
//!
//! Several parts of the daemon talk to the same BMC: the remediation of its host, those of other
//! hosts behind it, and the check whether it could be asked at all. The actor makes them one
//! customer: one order at a time, reads and commands spaced, one session for one login, a pause when
//! the BMC asks for it, and a circuit that opens when it does not answer. Each BMC has an actor of
//! its own, so a slow one delays nobody else.
//!
//! An order that was begun is carried to its end, also when whoever gave it has gone: a request
//! that is cut off in the middle leaves sessions behind. One that was not begun is dropped with its
//! caller.

mod handle;
mod pace;
mod places;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

pub use self::handle::{BmcHandle, Urgency};
use self::handle::{Request, What};
use self::pace::{Pace, SharedPace};
pub use self::places::Bmcs;
use self::places::Outcomes;
use self::sessions::Sessions;
use super::error::BmcError;
use super::ipmi::IpmiError;
use super::{BmcTarget, CommandAnswer, Verb};

/// When a check that a remediation goes before comes again.
const PRECEDENCE: Duration = Duration::from_mins(1);

struct Actor {
    pace: SharedPace,
    outcomes: Outcomes,
    sessions: Sessions,
}

impl Actor {
    /// Serves until the last line is gone, then ends every session.
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Request>) {
        let mut waiting = VecDeque::new();
        while let Some(order) = next(&mut queue, &mut waiting).await {
            self.serve(order).await;
        }
        self.sessions.close_all().await;
    }

    async fn serve(&mut self, order: Request) {
        let Request {
            target,
            urgency,
            what,
        } = order;
        match what {
            What::Join => self.sessions.join(target, urgency),
            What::Leave => self.sessions.leave(&target, urgency).await,
            What::Prepare(reply) => {
                if !reply.is_closed() {
                    let _ = reply.send(self.sessions.prepare(&target).await);
                }
            }
            What::Read(mut reply) => match self.turn(&target, urgency, &mut reply).await {
                Turn::Now => {
                    let read = self.sessions.read(&target).await;
                    self.note(read.as_ref().err());
                    let _ = reply.send(read);
                }
                Turn::Refused(error) => drop(reply.send(Err(error))),
                Turn::NobodyWaits => {}
            },
            What::Inspect(mut reply) => match self.turn(&target, urgency, &mut reply).await {
                Turn::Now => {
                    let inspection = self.sessions.inspect(&target).await;
                    self.note(inspection.as_ref().err());
                    let _ = reply.send(inspection);
                }
                Turn::Refused(error) => drop(reply.send(Err(error))),
                Turn::NobodyWaits => {}
            },
            What::Command {
                command,
                not_after,
                mut reply,
            } => match self.command_turn(not_after, &mut reply).await {
                Turn::Now => drop(reply.send(self.command(&target, command, not_after).await)),
                Turn::Refused(error) => drop(reply.send(Err(error))),
                Turn::NobodyWaits => {}
            },
            What::EndSession { path, reply } => {
                if !reply.is_closed() {
                    let _ = reply.send(self.sessions.end_session(&target, &path).await);
                }
            }
            What::Close(reply) => {
                let _ = reply.send(self.sessions.close(&target).await);
            }
        }
    }

    /// Waits until the target may be read again.
    async fn turn<Answer>(
        &mut self,
        target: &Arc<BmcTarget>,
        urgency: Urgency,
        reply: &mut oneshot::Sender<Answer>,
    ) -> Turn {
        if reply.is_closed() {
            return Turn::NobodyWaits;
        }
        if let Err(error) = self.is_it_asked_now(urgency) {
            return Turn::Refused(error);
        }
        if let Err(error) = self.sessions.prepare(target).await {
            return Turn::Refused(error);
        }
        wait(self.sessions.read_at(target, Instant::now()), reply).await
    }

    /// Waits until the BMC may be commanded again.
    async fn command_turn<Answer>(&self, not_after: Instant, reply: &mut oneshot::Sender<Answer>) -> Turn {
        let (at, under_way) = self
            .pace
            .with(|pace, now| (pace.command_at(now), pace.is_command_under_way(now)));
        if under_way {
            return Turn::Refused(IpmiError::EarlierCommandUnderWay.into());
        }
        if at >= not_after {
            return Turn::Refused(BmcError::TooLate);
        }
        wait(at, reply).await
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

    /// A BMC that asked to be left alone is left alone; one that does not answer, or that a remediation has a
    /// line to, is asked for a remediation only: what a check has begun cannot be cut off, and a command or the
    /// watch over a host that is off would wait behind it.
    fn is_it_asked_now(&self, urgency: Urgency) -> Result<(), BmcError> {
        if urgency == Urgency::Background && self.sessions.is_held_for_a_remediation() {
            return Err(BmcError::Resting { left: PRECEDENCE });
        }
        let left = self.pace.with(|pace, now| {
            let open = pace.open_for(now).filter(|_| urgency == Urgency::Background);
            pace.wants_rest(now).or(open)
        });
        left.map_or(Ok(()), |left| Err(BmcError::Resting { left }))
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
                if let Some(wish) = error.retry_after() {
                    pace.note_wish(wish, now);
                }
            }
            None => pace.note_answer(),
        });
    }
}

/// Whether an order is carried out.
enum Turn {
    Now,
    Refused(BmcError),
    /// Whoever gave it has gone: it is not begun.
    NobodyWaits,
}

async fn wait<Answer>(until: Instant, reply: &mut oneshot::Sender<Answer>) -> Turn {
    tokio::select! {
        biased;
        () = reply.closed() => Turn::NobodyWaits,
        () = sleep_until(until) => Turn::Now,
    }
}

/// The next order: those for remediations first, each kind in the order in which it came.
async fn next(
    queue: &mut mpsc::UnboundedReceiver<Request>,
    waiting: &mut VecDeque<Request>,
) -> Option<Request> {
    if waiting.is_empty() {
        waiting.push_back(queue.recv().await?);
    }
    while let Ok(order) = queue.try_recv() {
        waiting.push_back(order);
    }
    let first = waiting
        .iter()
        .position(|order| order.urgency == Urgency::Remediation)
        .unwrap_or_default();
    waiting.remove(first)
}
