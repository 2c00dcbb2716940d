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
//! giver.

mod pace;
mod places;
mod talks;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use self::pace::Pace;
pub use self::places::Bmcs;
use self::places::Outcomes;
use self::talks::Talks;
use super::error::BmcError;
use super::{BmcTarget, CommandAnswer, Inspection, PowerCommand, Reading};

/// Whose orders go first, and who is turned away while a BMC does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// For a remediation: it has its own pauses, and bringing a host back waits for nothing.
    Remediation,
    /// For a check that can be made later.
    Background,
}

/// A line to a BMC, for one host behind it. While any line is held its session stays open; the
/// session ends with [`BmcLine::close`] or when the last line is dropped.
#[derive(Debug)]
pub struct BmcLine {
    orders: mpsc::UnboundedSender<Order>,
    target: Arc<BmcTarget>,
    urgency: Urgency,
}

/// What is asked of the actor.
struct Order {
    target: Arc<BmcTarget>,
    urgency: Urgency,
    what: What,
}

enum What {
    /// A line was taken.
    Join,
    /// A line was dropped.
    Leave,
    Prepare(oneshot::Sender<Result<(), BmcError>>),
    Read(oneshot::Sender<Result<Reading, BmcError>>),
    Inspect(oneshot::Sender<Result<Inspection, BmcError>>),
    Command {
        command: PowerCommand,
        not_after: Instant,
        reply: oneshot::Sender<Result<CommandAnswer, BmcError>>,
    },
    EndSession {
        path: String,
        reply: oneshot::Sender<Result<bool, BmcError>>,
    },
    Close(oneshot::Sender<Result<bool, BmcError>>),
}

impl Drop for BmcLine {
    fn drop(&mut self) {
        self.tell(What::Leave);
    }
}

impl BmcLine {
    /// What it leads to.
    pub fn target(&self) -> &BmcTarget {
        &self.target
    }

    /// Checks what can be checked without sending a byte to the BMC: protocol, protection, trust
    /// settings, and that all addresses of the host are allowed.
    ///
    /// # Errors
    /// As [`super::Bmc::connect`].
    pub async fn prepare(&self) -> Result<(), BmcError> {
        self.ask(What::Prepare).await.unwrap_or_else(|| Err(ended()))
    }

    /// Reads power state and identity with a fresh request, not sooner than a second after the
    /// read before it.
    ///
    /// # Errors
    /// As [`super::Bmc::read`]; and [`BmcError::Resting`] when the BMC is not asked now.
    pub async fn read(&self) -> Result<Reading, BmcError> {
        self.ask(What::Read).await.unwrap_or_else(|| Err(ended()))
    }

    /// Reads everything that says whether the BMC could be used. Sends no command.
    ///
    /// # Errors
    /// As [`BmcLine::read`].
    pub async fn inspect(&self) -> Result<Inspection, BmcError> {
        self.ask(What::Inspect).await.unwrap_or_else(|| Err(ended()))
    }

    /// Sends a power command once, to the system that this line's target was last read from, and
    /// not after the given time.
    ///
    /// # Errors
    /// As [`super::Bmc::power_off`].
    pub async fn command(
        &self,
        command: PowerCommand,
        not_after: Instant,
    ) -> Result<CommandAnswer, BmcError> {
        let order = |reply| What::Command {
            command,
            not_after,
            reply,
        };
        // An actor that is gone without an answer may have sent it.
        self.ask(order).await.unwrap_or_else(|| {
            Err(BmcError::UnknownOutcome {
                cause: "the conversation ended".to_owned(),
            })
        })
    }

    /// Ends a session that is not ours any more. Answers whether it was still there.
    ///
    /// # Errors
    /// As [`super::Bmc::end_session`].
    pub async fn end_session(&self, path: String) -> Result<bool, BmcError> {
        let order = |reply| What::EndSession { path, reply };
        self.ask(order).await.unwrap_or_else(|| Err(ended()))
    }

    /// Gives the line back. The session ends unless another line uses it. Answers whether one ended.
    ///
    /// # Errors
    /// As [`super::Bmc::close`].
    pub async fn close(self) -> Result<bool, BmcError> {
        self.ask(What::Close).await.unwrap_or(Ok(false))
    }

    async fn ask<Answer>(&self, what: impl FnOnce(oneshot::Sender<Answer>) -> What) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        self.tell(what(reply));
        answer.await.ok()
    }

    /// An actor that is gone drops what it is told, and with it the way to answer.
    fn tell(&self, what: What) {
        let _ = self.orders.send(Order {
            target: Arc::clone(&self.target),
            urgency: self.urgency,
            what,
        });
    }
}

fn ended() -> BmcError {
    BmcError::NoAnswer {
        cause: "the conversation ended".to_owned(),
    }
}

struct Actor {
    pace: Arc<Mutex<Pace>>,
    outcomes: Outcomes,
    talks: Talks,
}

impl Actor {
    /// Serves until the last line is gone, then ends every session.
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Order>) {
        let mut waiting = VecDeque::new();
        while let Some(order) = next(&mut queue, &mut waiting).await {
            self.serve(order).await;
        }
        self.talks.close_all().await;
    }

    async fn serve(&mut self, order: Order) {
        let Order {
            target,
            urgency,
            what,
        } = order;
        match what {
            What::Join => self.talks.join(target),
            What::Leave => self.talks.leave(&target).await,
            What::Prepare(reply) => {
                if !reply.is_closed() {
                    let _ = reply.send(self.talks.prepare(&target).await);
                }
            }
            What::Read(reply) => {
                if !reply.is_closed() {
                    let read = self.read(&target, urgency).await;
                    let _ = reply.send(read);
                }
            }
            What::Inspect(reply) => {
                if !reply.is_closed() {
                    let inspection = self.inspect(&target, urgency).await;
                    let _ = reply.send(inspection);
                }
            }
            What::Command {
                command,
                not_after,
                reply,
            } => {
                if !reply.is_closed() {
                    let answer = self.command(&target, command, not_after).await;
                    let _ = reply.send(answer);
                }
            }
            What::EndSession { path, reply } => {
                if !reply.is_closed() {
                    let _ = reply.send(self.talks.end_session(&target, &path).await);
                }
            }
            What::Close(reply) => {
                let _ = reply.send(self.talks.close(&target).await);
            }
        }
    }

    async fn read(&mut self, target: &Arc<BmcTarget>, urgency: Urgency) -> Result<Reading, BmcError> {
        self.wait_for_a_turn(target, urgency).await?;
        let read = self.talks.read(target).await;
        self.note(read.as_ref().err());
        read
    }

    async fn inspect(&mut self, target: &Arc<BmcTarget>, urgency: Urgency) -> Result<Inspection, BmcError> {
        self.wait_for_a_turn(target, urgency).await?;
        let inspection = self.talks.inspect(target).await;
        self.note(inspection.as_ref().err());
        inspection
    }

    /// Waits until the target may be read again.
    async fn wait_for_a_turn(&mut self, target: &Arc<BmcTarget>, urgency: Urgency) -> Result<(), BmcError> {
        self.is_it_asked_now(urgency)?;
        self.talks.prepare(target).await?;
        sleep_until(self.talks.read_at(target, Instant::now())).await;
        Ok(())
    }

    async fn command(
        &mut self,
        target: &Arc<BmcTarget>,
        command: PowerCommand,
        not_after: Instant,
    ) -> Result<CommandAnswer, BmcError> {
        let at = self.with_pace(|pace, now| pace.command_at(now));
        if at >= not_after {
            return Err(BmcError::TooLate);
        }
        sleep_until(at).await;
        self.with_pace(Pace::note_command);
        let answer = self.talks.command(target, command, not_after).await;
        self.note(answer.as_ref().err());
        if let Ok(CommandAnswer::Refused {
            retry_after: Some(wish),
            ..
        }) = &answer
        {
            self.with_pace(|pace, now| pace.note_wish(*wish, now));
        }
        answer
    }

    /// A BMC that asked to be left alone is left alone; one that does not answer is asked for a
    /// remediation only.
    fn is_it_asked_now(&self, urgency: Urgency) -> Result<(), BmcError> {
        let left = self.with_pace(|pace, now| {
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
        self.with_pace(|pace, now| match error {
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

    fn with_pace<Answer>(&self, look: impl FnOnce(&mut Pace, Instant) -> Answer) -> Answer {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut pace, Instant::now())
    }
}

/// The next order: those for remediations first, each kind in the order in which it came.
async fn next(queue: &mut mpsc::UnboundedReceiver<Order>, waiting: &mut VecDeque<Order>) -> Option<Order> {
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
