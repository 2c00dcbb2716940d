//! Every BMC that this process sessions to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::Actor;
use super::handle::{BmcHandle, Request, Urgency};
use super::pace::SharedPace;
use super::sessions::Sessions;
use crate::{BmcTarget, Deadlines};

/// Every BMC that this process sessions to, and the queue of each.
#[derive(Clone, Debug, Default)]
pub struct Bmcs {
    places: Arc<Mutex<BTreeMap<Place, Known>>>,
    outcomes: Outcomes,
    deadlines: Deadlines,
}

/// How orders ended, by their count.
pub(super) type Outcomes = Arc<Mutex<BTreeMap<&'static str, u64>>>;

/// Host and port: what is one BMC to us.
type Place = (String, u16);

#[derive(Debug, Default)]
struct Known {
    orders: Option<mpsc::WeakUnboundedSender<Request>>,
    pace: SharedPace,
    /// Held by the actor: one that begins while its predecessor takes its leave waits for that.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Bmcs {
    /// None yet, with other deadlines than the usual ones.
    #[cfg(test)]
    pub(crate) fn within(deadlines: Deadlines) -> Self {
        Self {
            deadlines,
            ..Self::default()
        }
    }

    /// What is remembered of the BMC of `target`.
    #[cfg(test)]
    pub(super) fn pace(&self, target: &BmcTarget) -> SharedPace {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(place(target)).or_default().pace.clone()
    }

    /// A line to the BMC of `target`. Nothing is sent yet.
    pub fn line(&self, target: BmcTarget, urgency: Urgency) -> BmcHandle {
        let place = place(&target);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, known| !known.is_forgettable());
        let known = places.entry(place).or_default();
        let running = known.orders.as_ref().and_then(mpsc::WeakUnboundedSender::upgrade);
        let orders = running.unwrap_or_else(|| {
            let (orders, queue) = mpsc::unbounded_channel();
            known.orders = Some(orders.downgrade());
            let actor = Actor {
                pace: known.pace.clone(),
                outcomes: Arc::clone(&self.outcomes),
                sessions: Sessions::new(self.deadlines, known.pace.clone()),
            };
            let turn = Arc::clone(&known.turn);
            tokio::spawn(async move {
                let _turn = turn.lock_owned().await;
                actor.run(queue).await;
            });
            orders
        });
        BmcHandle::join(orders, target, urgency)
    }

    /// How often BMCs were read, inspected or commanded, by what came of it: `Answered`, or the reason of
    /// the error.
    pub fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        self.outcomes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until every session has ended. All lines have to be given back before.
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

fn place(target: &BmcTarget) -> Place {
    (target.address.host.to_string(), target.address.port)
}

impl Known {
    fn is_forgettable(&self) -> bool {
        let idle = self
            .orders
            .as_ref()
            .is_none_or(|orders| orders.strong_count() == 0);
        // The actor of the last line may still be taking its leave.
        let gone = Arc::strong_count(&self.turn) == 1;
        idle && gone && self.pace.with(|pace, now| pace.is_blank(now))
    }
}
