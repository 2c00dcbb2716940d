//! Live checks take turns. Each has to be young when it is judged; where many hosts are looked at at once, an API server
//! that is slow would answer all of them too late, and all would be repeated, for as long as there are as many.
//!
//! Each cluster has turns of its own, and none lasts longer than a live check is good for: a workload cluster that does not
//! answer holds up nobody for long, and the hosts of other clusters not at all.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::step::LIVE_CHECK_AGE;
use tokio::sync::Semaphore;

/// Live checks at once. Each makes about ten calls, most of them side by side.
const AT_ONCE: usize = 4;

/// How long a turn lasts at the most.
const LONGEST: Duration = LIVE_CHECK_AGE.unsigned_abs();

/// Whose turn it is, by the cluster of the Node.
#[derive(Default)]
pub(crate) struct LiveCheckTurns(Mutex<BTreeMap<Option<ClusterKey>, Arc<Semaphore>>>);

impl LiveCheckTurns {
    /// Begins a live check when it is its turn; who waits longest is next.
    pub(crate) async fn take<T>(&self, of: Option<&ClusterKey>, look: impl Future<Output = T>) -> T {
        let turns = self.of(of);
        // It is never closed; without a turn it would only be slower.
        let turn = turns.acquire().await.ok();
        let mut look = pin!(look);
        if let Ok(found) = tokio::time::timeout(LONGEST, &mut look).await {
            return found;
        }
        // It is too old to be of use, and ends by itself.
        drop(turn);
        look.await
    }

    fn of(&self, of: Option<&ClusterKey>) -> Arc<Semaphore> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turns| Arc::strong_count(turns) > 1);
        let of = turns.entry(of.cloned());
        Arc::clone(of.or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Mutex;

    use super::*;

    /// Calls of one look.
    const CALLS: usize = 10;
    const LOOKS: usize = 40;

    /// An API server that answers one call after the other, which is its clock.
    #[derive(Default)]
    struct SlowServer {
        alone: Mutex<()>,
        answered: AtomicUsize,
    }

    impl SlowServer {
        async fn answer(&self) {
            let _alone = self.alone.lock().await;
            tokio::task::yield_now().await;
            self.answered.fetch_add(1, Ordering::Relaxed);
        }

        /// How many calls were answered from the beginning of a look to its end.
        async fn look(&self) -> usize {
            let began = self.answered.load(Ordering::Relaxed);
            join_all((0..CALLS).map(|_| self.answer())).await;
            self.answered.load(Ordering::Relaxed).saturating_sub(began)
        }
    }

    #[tokio::test]
    async fn each_of_many_live_checks_is_young_when_it_is_complete() {
        let (server, turns) = (SlowServer::default(), LiveCheckTurns::default());
        let ages = join_all((0..LOOKS).map(|_| server.look())).await;
        let late = ages.iter().filter(|age| **age > LOOKS * CALLS / 2).count();
        assert!(late >= LOOKS / 2, "without turns they are old: {ages:?}");

        let ages = join_all((0..LOOKS).map(|_| turns.take(None, server.look()))).await;

        let oldest = ages.iter().max().copied();
        assert!(oldest.is_some_and(|age| age <= AT_ONCE * CALLS), "{ages:?}");
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_answer_holds_up_no_other() {
        let turns = LiveCheckTurns::default();
        let silent = ClusterKey {
            namespace: "clusters".to_owned(),
            name: "silent".to_owned(),
        };
        let hung = join_all((0..LOOKS).map(|_| turns.take(Some(&silent), std::future::pending::<()>())));
        let other = turns.take(None, std::future::ready(()));
        tokio::select! {
            biased;
            _ = hung => panic!("nobody answers there"),
            () = other => {}
        }
        let _again = turns.of(None);
        assert_eq!(
            turns.0.lock().unwrap().len(),
            1,
            "what nobody waits for is forgotten"
        );
    }
}
