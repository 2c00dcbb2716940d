//! A read that many ask for at about the same time, and that is made for all of them at once: one list of a whole
//! cluster for the hosts of a rack, and not one for each.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use tokio::sync::oneshot;

use crate::api_call::ShellError;

/// One read at a time, of questions `Q` that are answered with `A`. Copies share it.
///
/// Whoever asks is answered by a read that was begun after they had asked. While one is under way, the questions
/// that come wait together for the next.
pub(crate) struct SingleFlight<Q, A> {
    call: &'static str,
    desk: Arc<Mutex<Desk<Q, A>>>,
}

struct Desk<Q, A> {
    waiting: Vec<Asker<Q, A>>,
    /// Whether somebody reads, who will see to those that wait.
    is_attended: bool,
}

struct Asker<Q, A> {
    question: Q,
    answer: Answer<A>,
}

type Answer<A> = oneshot::Sender<Result<A, ShellError>>;

impl<Q, A> Clone for SingleFlight<Q, A> {
    fn clone(&self) -> Self {
        Self {
            call: self.call,
            desk: Arc::clone(&self.desk),
        }
    }
}

impl<Q, A> SingleFlight<Q, A>
where
    Q: Send + 'static,
    A: Send + 'static,
{
    /// Nobody has asked yet. `call` is what people are told that is read.
    pub(crate) fn new(call: &'static str) -> Self {
        let desk = Desk {
            waiting: Vec::new(),
            is_attended: false,
        };
        Self {
            call,
            desk: Arc::new(Mutex::new(desk)),
        }
    }

    /// Asks. `read` takes questions and gives as many answers in the same order; it has to be the same whoever
    /// asks, for it is used for the questions of others, too, and it has to end by itself. It is carried on when
    /// whoever asked is not there any more.
    ///
    /// # Errors
    /// Those of the read, for everyone who waited for it.
    pub(crate) async fn ask<R, F>(&self, question: Q, read: R) -> Result<A, ShellError>
    where
        R: Fn(Vec<Q>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<A>, ShellError>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        if self.is_first(Asker { question, answer }) {
            tokio::spawn(self.clone().attend(read));
        }
        let unanswered = ShellError::Unanswered { call: self.call };
        answered.await.unwrap_or(Err(unanswered))
    }

    /// Adds one who waits; says whether there is nobody to see to them.
    fn is_first(&self, asker: Asker<Q, A>) -> bool {
        let mut desk = self.desk();
        desk.waiting.push(asker);
        !std::mem::replace(&mut desk.is_attended, true)
    }

    /// Reads until nobody waits.
    async fn attend<R, F>(self, read: R)
    where
        R: Fn(Vec<Q>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<A>, ShellError>> + Send + 'static,
    {
        while let Some((questions, askers)) = self.next() {
            // Were it to end with a panic, nobody would see to those that come later.
            match AssertUnwindSafe(read(questions)).catch_unwind().await {
                Ok(Ok(answers)) => {
                    for (asker, answer) in askers.into_iter().zip(answers) {
                        tell(asker, Ok(answer));
                    }
                }
                Ok(Err(error)) => {
                    for asker in askers {
                        tell(asker, Err(error.clone()));
                    }
                }
                Err(_panic) => drop(askers),
            }
        }
    }

    /// Those that wait and are still there. Nobody attends where there are none.
    fn next(&self) -> Option<(Vec<Q>, Vec<Answer<A>>)> {
        let mut desk = self.desk();
        let waiting = std::mem::take(&mut desk.waiting).into_iter();
        let there = waiting.filter(|asker| !asker.answer.is_closed());
        let (questions, askers): (Vec<_>, Vec<_>) = there.map(|asker| (asker.question, asker.answer)).unzip();
        desk.is_attended = !askers.is_empty();
        desk.is_attended.then_some((questions, askers))
    }

    fn desk(&self) -> MutexGuard<'_, Desk<Q, A>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell<A>(asker: Answer<A>, answer: Result<A, ShellError>) {
    // Who is gone wants no answer.
    let _ = asker.send(answer);
}

#[cfg(test)]
mod tests;
