//! What the holders of a BMC have in hand, and what goes from there to its actor.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::error::BmcError;
use crate::{BmcTarget, CommandAnswer, Inspection, PowerRead, Verb};

/// Whose orders go first, and who is turned away while a BMC does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// For a remediation: it has its own pauses, and bringing a host back waits for nothing.
    Remediation,
    /// For a check that can be made later.
    Background,
}

/// A line to a BMC, for one host behind it. While any line is held its session stays open; the
/// session ends with [`BmcHandle::close`] or when the last line is dropped.
#[derive(Debug)]
pub struct BmcHandle {
    orders: mpsc::UnboundedSender<Request>,
    target: Arc<BmcTarget>,
    urgency: Urgency,
}

/// What is asked of the actor.
pub(super) struct Request {
    pub(super) target: Arc<BmcTarget>,
    pub(super) urgency: Urgency,
    pub(super) what: What,
}

pub(super) enum What {
    /// A line was taken.
    Join,
    /// A line was dropped.
    Leave,
    Prepare(oneshot::Sender<Result<(), BmcError>>),
    Read(oneshot::Sender<Result<PowerRead, BmcError>>),
    Inspect(oneshot::Sender<Result<Inspection, BmcError>>),
    Command {
        command: Verb,
        not_after: Instant,
        reply: oneshot::Sender<Result<CommandAnswer, BmcError>>,
    },
    EndSession {
        path: String,
        reply: oneshot::Sender<Result<bool, BmcError>>,
    },
    Close(oneshot::Sender<Result<bool, BmcError>>),
}

impl Drop for BmcHandle {
    fn drop(&mut self) {
        self.tell(What::Leave);
    }
}

impl BmcHandle {
    /// Tells the actor of a new line.
    pub(super) fn join(orders: mpsc::UnboundedSender<Request>, target: BmcTarget, urgency: Urgency) -> Self {
        let line = Self {
            orders,
            target: Arc::new(target),
            urgency,
        };
        line.tell(What::Join);
        line
    }

    /// What it leads to.
    pub fn target(&self) -> &BmcTarget {
        &self.target
    }

    /// Checks what can be checked without sending a byte to the BMC: protocol, protection, trust
    /// settings, and that all addresses of the host are allowed.
    ///
    /// # Errors
    /// As [`crate::Bmc::connect`].
    pub async fn prepare(&self) -> Result<(), BmcError> {
        self.ask(What::Prepare).await.unwrap_or_else(|| Err(ended()))
    }

    /// Reads power state and identity with a fresh request, not sooner than a second after the
    /// read before it.
    ///
    /// # Errors
    /// As [`crate::Bmc::read`]; and [`BmcError::Resting`] when the BMC is not asked now.
    pub async fn read(&self) -> Result<PowerRead, BmcError> {
        self.ask(What::Read).await.unwrap_or_else(|| Err(ended()))
    }

    /// Reads everything that says whether the BMC could be used. Sends no command.
    ///
    /// # Errors
    /// As [`BmcHandle::read`].
    pub async fn inspect(&self) -> Result<Inspection, BmcError> {
        self.ask(What::Inspect).await.unwrap_or_else(|| Err(ended()))
    }

    /// Sends a power command once, to the system that this line's target was last read from, and
    /// not after the given time.
    ///
    /// # Errors
    /// As [`crate::Bmc::power_off`].
    pub async fn command(&self, command: Verb, not_after: Instant) -> Result<CommandAnswer, BmcError> {
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
    /// As [`crate::Bmc::end_session`].
    pub async fn end_session(&self, path: String) -> Result<bool, BmcError> {
        let order = |reply| What::EndSession { path, reply };
        self.ask(order).await.unwrap_or_else(|| Err(ended()))
    }

    /// Gives the line back. The session ends unless another line uses it. Answers whether one ended.
    ///
    /// # Errors
    /// As [`crate::Bmc::close`].
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
        let _ = self.orders.send(Request {
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
