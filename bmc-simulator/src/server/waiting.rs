//! Connections of which nobody knows yet for whom they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// So many may wait for their first words at one time. One more pushes the oldest out, so that nobody is locked
/// out by peers who say nothing.
const MOST: usize = 1024;

/// All that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    last: u64,
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
}

/// One that waits, until it is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    queue: Arc<Mutex<Queue>>,
    number: u64,
    /// Ready once it has waited for too long.
    pub(super) pushed_out: oneshot::Receiver<()>,
}

impl Waiting {
    /// Takes the last place, and the first one's when there is no other.
    pub(super) fn enter(&self) -> Ticket {
        let (sender, pushed_out) = oneshot::channel();
        let mut queue = lock(&self.queue);
        if queue.waiting.len() >= MOST {
            // Its sender is dropped, which ends its wait.
            queue.waiting.pop_first();
        }
        queue.last = queue.last.saturating_add(1);
        let number = queue.last;
        queue.waiting.insert(number, sender);
        Ticket {
            queue: Arc::clone(&self.queue),
            number,
            pushed_out,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.queue).waiting.remove(&self.number);
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{MOST, Waiting, lock};

    #[tokio::test]
    async fn the_newest_pushes_the_oldest_out() {
        let waiting = Waiting::default();
        let mut tickets: Vec<_> = (0..MOST).map(|_| waiting.enter()).collect();
        assert!(
            tickets[0]
                .pushed_out
                .try_recv()
                .is_err_and(|error| { error == tokio::sync::oneshot::error::TryRecvError::Empty })
        );
        let newest = waiting.enter();
        let mut oldest = tickets.remove(0);
        assert!((&mut oldest.pushed_out).await.is_err(), "it is told");
        assert_eq!(lock(&waiting.queue).waiting.len(), MOST);
        drop((tickets, newest));
        assert!(
            lock(&waiting.queue).waiting.is_empty(),
            "who is gone waits no more"
        );
    }
}
