//! One read for all who ask at about the same time: one list of a cluster for the hosts of a rack, not one for each.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::api_call::ShellError;

/// One read at a time, of questions `Q` that are answered with `A`. Copies share it. Whoever asks is answered by a read
/// that was begun after they had asked: while one is under way, the questions that come wait together for the next.
pub(crate) struct SingleFlight<Q, A> {
    call: &'static str,
    spacing: Duration,
    queue: Arc<Mutex<Queue<Q, A>>>,
}

struct Queue<Q, A> {
    waiting: Vec<(Q, Answer<A>)>,
    /// Whether a task reads, which will answer those that wait, too.
    is_attended: bool,
    /// When the last read began.
    began: Option<Instant>,
}

type Answer<A> = oneshot::Sender<Result<A, ShellError>>;

impl<Q, A> Clone for SingleFlight<Q, A> {
    fn clone(&self) -> Self {
        Self {
            call: self.call,
            spacing: self.spacing,
            queue: Arc::clone(&self.queue),
        }
    }
}

impl<Q, A> SingleFlight<Q, A>
where
    Q: Send + 'static,
    A: Send + 'static,
{
    /// `call` names the read in errors.
    pub(crate) fn new(call: &'static str) -> Self {
        let queue = Queue {
            waiting: Vec::new(),
            is_attended: false,
            began: None,
        };
        Self {
            call,
            spacing: Duration::ZERO,
            queue: Arc::new(Mutex::new(queue)),
        }
    }

    /// The same with reads that begin this far apart at least, however many ask. Those who come too early wait together.
    pub(crate) fn spaced(self, spacing: Duration) -> Self {
        Self { spacing, ..self }
    }

    /// Asks. `read` gives as many answers as it takes questions, in the same order. It has to be the same whoever asks,
    /// for it answers others, too, and has to end by itself. It is carried on when whoever asked is gone.
    ///
    /// # Errors
    /// Those of the read, for everyone who waited for it.
    pub(crate) async fn ask<R, F>(&self, question: Q, read: R) -> Result<A, ShellError>
    where
        R: Fn(Vec<Q>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<A>, ShellError>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let is_attended = {
            let mut queue = self.queue();
            queue.waiting.push((question, answer));
            std::mem::replace(&mut queue.is_attended, true)
        };
        if !is_attended {
            tokio::spawn(self.clone().attend(read));
        }
        let unanswered = ShellError::Unanswered { call: self.call };
        answered.await.unwrap_or(Err(unanswered))
    }

    /// Reads until nobody waits.
    async fn attend<R, F>(self, read: R)
    where
        R: Fn(Vec<Q>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<A>, ShellError>> + Send + 'static,
    {
        loop {
            self.turn().await;
            let Some((questions, askers)) = self.next() else {
                return;
            };
            // Were it to end with a panic, those that come later would not be answered.
            let Ok(read) = AssertUnwindSafe(read(questions)).catch_unwind().await else {
                continue;
            };
            let answers: Vec<_> = match read {
                Ok(answers) => answers.into_iter().map(Ok).collect(),
                Err(error) => askers.iter().map(|_| Err(error.clone())).collect(),
            };
            for (asker, answer) in askers.into_iter().zip(answers) {
                // Who is gone wants no answer.
                let _ = asker.send(answer);
            }
        }
    }

    /// Waits until the next read may begin.
    async fn turn(&self) {
        let began = self.queue().began;
        if let Some(next) = began.and_then(|began| began.checked_add(self.spacing)) {
            sleep_until(next).await;
        }
    }

    /// Those that wait and are still there. Nobody attends where there are none.
    fn next(&self) -> Option<(Vec<Q>, Vec<Answer<A>>)> {
        let mut queue = self.queue();
        let waiting = std::mem::take(&mut queue.waiting).into_iter();
        let there = waiting.filter(|(_, asker)| !asker.is_closed());
        let (questions, askers): (Vec<_>, Vec<_>) = there.unzip();
        queue.is_attended = !askers.is_empty();
        if askers.is_empty() {
            return None;
        }
        queue.began = Some(Instant::now());
        Some((questions, askers))
    }

    fn queue(&self) -> MutexGuard<'_, Queue<Q, A>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
