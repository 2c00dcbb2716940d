//! Every BMC that this process speaks to, and what the holders of one have in hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use remediator_core::{proof, readiness};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::pace::SharedPace;
use super::{Actor, Outcomes};
use crate::error::BmcError;
use crate::inspection::Scope;
use crate::{BmcTarget, CommandAnswer, Deadlines, Inspection, LogEntry, PowerRead, Until, Verb};

/// Whose requests go first, and who is turned away while a BMC does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// For a remediation: it has its own pauses, and bringing a host back waits for nothing.
    Remediation,
    /// For a check that can be made later.
    Background,
}

/// Every BMC that this process speaks to, and the queue of each.
#[derive(Clone, Debug, Default)]
pub struct Bmcs {
    pub(super) places: Arc<Mutex<BTreeMap<Place, Known>>>,
    pub(super) outcomes: Outcomes,
    pub(super) deadlines: Deadlines,
}

/// Host and port: what is one BMC to us.
pub(super) type Place = (String, u16);

#[derive(Debug, Default)]
pub(super) struct Known {
    requests: Option<mpsc::WeakUnboundedSender<Request>>,
    pub(super) pace: SharedPace,
    /// Held by the actor: its successor waits until it has ended its sessions.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Bmcs {
    /// A handle on the BMC of `target`. Nothing is sent yet.
    pub fn line(&self, target: BmcTarget, urgency: Urgency) -> BmcHandle {
        let place = place(&target);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, known| !known.is_forgettable());
        let known = places.entry(place).or_default();
        let running = known
            .requests
            .as_ref()
            .and_then(mpsc::WeakUnboundedSender::upgrade);
        let requests = running.unwrap_or_else(|| {
            let (requests, queue) = mpsc::unbounded_channel();
            known.requests = Some(requests.downgrade());
            let actor = Actor::new(known.pace.clone(), Arc::clone(&self.outcomes), self.deadlines);
            let turn = Arc::clone(&known.turn);
            tokio::spawn(async move {
                let _turn = turn.lock_owned().await;
                actor.run(queue).await;
            });
            requests
        });
        let handle = BmcHandle {
            requests,
            target: Arc::new(target),
            urgency,
        };
        handle.send(What::Join);
        handle
    }

    /// How often BMCs were read, inspected or commanded, by what came of it: `Answered`, or the reason of
    /// the error.
    pub fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.clone()
    }

    /// Waits until every session has ended. All handles have to be given back before.
    pub async fn ended(&self) {
        let turns: Vec<_> = {
            let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            places.values().map(|known| Arc::clone(&known.turn)).collect()
        };
        for turn in turns {
            drop(turn.lock().await);
        }
    }
}

pub(super) fn place(target: &BmcTarget) -> Place {
    (target.address.host.to_string(), target.address.port)
}

impl Known {
    fn is_forgettable(&self) -> bool {
        let requests = self.requests.as_ref();
        let idle = requests.is_none_or(|requests| requests.strong_count() == 0);
        // The actor of the last handle may still be ending its sessions.
        let gone = Arc::strong_count(&self.turn) == 1;
        idle && gone && self.pace.with(|pace, now| pace.is_blank(now))
    }
}

/// A handle on a BMC, for one host behind it. The session stays open while any handle is held; it ends with
/// [`BmcHandle::close`] or when the last one is dropped.
#[derive(Debug)]
pub struct BmcHandle {
    requests: mpsc::UnboundedSender<Request>,
    target: Arc<BmcTarget>,
    urgency: Urgency,
}

/// What is asked of the actor.
pub(super) struct Request {
    pub(super) target: Arc<BmcTarget>,
    pub(super) urgency: Urgency,
    pub(super) what: What,
}

/// In which order requests are served, the first first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    /// Costs nothing, and whatever a handle asks comes after it was taken.
    Join,
    /// A host that is off because of us is down; one that is still to be powered off is no worse for waiting.
    PowerOn,
    /// What is read after it counts; what is read before it only delays it.
    PowerOff,
    /// What else a remediation asks.
    Remediation,
    Background,
}

impl Request {
    pub(super) fn turn(&self) -> Turn {
        match (&self.what, self.urgency) {
            (What::Join, _) => Turn::Join,
            (_, Urgency::Background) => Turn::Background,
            (What::Command(Verb::PowerOn, ..), Urgency::Remediation) => Turn::PowerOn,
            (What::Command(Verb::PowerOff | Verb::Restart, ..), Urgency::Remediation) => Turn::PowerOff,
            (
                What::Leave
                | What::Prepare(_)
                | What::Inspect(..)
                | What::Log(_)
                | What::EndSession(..)
                | What::Close(_),
                Urgency::Remediation,
            ) => Turn::Remediation,
        }
    }

    /// Whether it is still wanted.
    pub(super) fn is_wanted(&self) -> bool {
        match &self.what {
            What::Join | What::Leave | What::Close(_) => true,
            What::Prepare(reply) => !reply.is_closed(),
            What::Inspect(_, reply) => !reply.is_closed(),
            What::Command(_, _, reply) => !reply.is_closed(),
            What::Log(reply) => !reply.is_closed(),
            What::EndSession(_, reply) => !reply.is_closed(),
        }
    }
}

type Reply<Answer> = oneshot::Sender<Result<Answer, BmcError>>;

pub(super) enum What {
    /// A handle was taken.
    Join,
    /// A handle was dropped.
    Leave,
    Prepare(Reply<()>),
    Inspect(Scope, Reply<Inspection>),
    /// What, and until when.
    Command(Verb, Until, Reply<CommandAnswer>),
    Log(Reply<Vec<LogEntry>>),
    EndSession(String, Reply<bool>),
    Close(Reply<bool>),
}

impl Drop for BmcHandle {
    fn drop(&mut self) {
        self.send(What::Leave);
    }
}

impl BmcHandle {
    /// What it leads to.
    pub fn target(&self) -> &BmcTarget {
        &self.target
    }

    /// Checks what can be checked without sending a byte to the BMC.
    pub async fn prepare(&self) -> Result<(), BmcError> {
        self.ask(What::Prepare, BmcError::NoAnswer).await
    }

    /// Reads power state and identity with a fresh request, not sooner than a second after the
    /// read before it. `now` is the caller's clock, by which the reading is dated: when its request was sent, however
    /// long it had waited for its turn. Never later, though that clock be moved meanwhile.
    ///
    /// # Errors
    /// As [`crate::Bmc::read`]; and [`BmcError::Resting`] when the BMC is not asked now.
    pub async fn read(&self, now: impl Fn() -> Timestamp) -> Result<PowerRead, BmcError> {
        let (began, asked) = (now(), Instant::now());
        let found = self.look(Scope::Power).await?;
        let waited = found.sent.saturating_duration_since(asked);
        Ok(PowerRead {
            began: began.checked_add(waited).unwrap_or(began),
            ended: now(),
            ..found.reading
        })
    }

    /// Reads everything that says whether the BMC could be used. Sends no command. One slow answer is no verdict: it
    /// reads again, and what came fastest counts ([`readiness::SLOW_ANSWERS`]).
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn inspect(&self) -> Result<Inspection, BmcError> {
        let mut fastest = self.look(Scope::Everything).await?;
        for _ in 1..readiness::SLOW_ANSWERS {
            if !proof::is_too_slow(SignedDuration::try_from(fastest.took).unwrap_or(SignedDuration::MAX)) {
                break;
            }
            let next = self.look(Scope::Everything).await?;
            if next.took < fastest.took {
                fastest = next;
            }
        }
        Ok(fastest)
    }

    async fn look(&self, scope: Scope) -> Result<Inspection, BmcError> {
        let order = |reply| What::Inspect(scope, reply);
        self.ask(order, BmcError::NoAnswer).await
    }

    /// Sends a power command once, to the system that the target was last read from, and not after the given
    /// time.
    pub async fn command(&self, command: Verb, until: impl Into<Until>) -> Result<CommandAnswer, BmcError> {
        let until = until.into();
        let order = |reply| What::Command(command, until, reply);
        // An actor that is gone without an answer may have sent it.
        self.ask(order, BmcError::UnknownOutcome).await
    }

    /// The newest entries of the BMC's log about the host that the target was last read from, as [`crate::Bmc::newest_log`].
    pub async fn newest_log(&self) -> Vec<LogEntry> {
        self.ask(What::Log, BmcError::NoAnswer).await.unwrap_or_default()
    }

    /// Ends a session that is not ours any more. Answers whether it was still there.
    pub async fn end_session(&self, path: String) -> Result<bool, BmcError> {
        let order = |reply| What::EndSession(path, reply);
        self.ask(order, BmcError::NoAnswer).await
    }

    /// Gives the handle back. The session ends unless another handle uses it. Answers whether one ended.
    pub async fn close(self) -> Result<bool, BmcError> {
        let (reply, answer) = oneshot::channel();
        self.send(What::Close(reply));
        answer.await.unwrap_or(Ok(false))
    }

    /// `gone`: what it means that the actor has ended without an answer.
    async fn ask<Answer>(
        &self,
        what: impl FnOnce(Reply<Answer>) -> What,
        gone: fn(String) -> BmcError,
    ) -> Result<Answer, BmcError> {
        let (reply, answer) = oneshot::channel();
        self.send(what(reply));
        let answer = answer.await;
        answer.unwrap_or_else(|_| Err(gone("the conversation ended".to_owned())))
    }

    /// An actor that is gone drops what it is sent, and with it the way to answer.
    fn send(&self, what: What) {
        let _ = self.requests.send(Request {
            target: Arc::clone(&self.target),
            urgency: self.urgency,
            what,
        });
    }
}
