//! What the kubelet's probes are answered from: whether the loops of this process move, and how far it has come.
//!
//! A loop moves when its task comes back each time that it is polled. One that waits for the API server or for a BMC
//! does so, however long that takes: a process that brings hosts back is not killed because others are slow. One that
//! has blocked its thread or computes for ever does not.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

/// How often a loop is polled at least.
const BEAT: Duration = Duration::from_secs(5);

/// A loop that has not come back for so long does not move. Many times [`BEAT`], for a machine may be busy.
const STILL: Duration = Duration::from_mins(1);

/// How far the process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Standing {
    /// Nobody here knows who leads: the Lease was not read yet, or cannot be read now.
    Starting,
    /// Another replica leads.
    StandingBy,
    /// This one leads, and has not listed everything yet.
    Listing,
    /// This one leads, and its caches have everything.
    Leading,
}

/// What the probes are answered from; a handle.
#[derive(Clone, Debug)]
pub struct Probes {
    begun: Instant,
    loops: Arc<Mutex<Vec<Beat>>>,
    standing: Arc<Mutex<Standing>>,
    /// The holder of the Lease, while that is another replica.
    leader: Arc<Mutex<Option<String>>>,
}

/// When a loop came back last, in milliseconds after the process began. It is gone when the loop has ended.
#[derive(Debug)]
struct Beat {
    name: &'static str,
    at: Weak<AtomicU64>,
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            loops: Arc::default(),
            standing: Arc::new(Mutex::new(Standing::Starting)),
            leader: Arc::default(),
        }
    }
}

impl Probes {
    /// Notes how far the process has come.
    pub fn stands(&self, standing: Standing) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }

    /// Notes that another replica leads: the holder of the Lease, as far as it is known.
    pub fn stands_by(&self, leader: Option<String>) {
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = leader;
        self.stands(Standing::StandingBy);
    }

    /// How far the process has come.
    pub fn standing(&self) -> Standing {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The holder of the Lease, as far as another replica leads and is known.
    pub fn leader(&self) -> Option<String> {
        let leads = self.standing() == Standing::StandingBy;
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        leader.clone().filter(|_| leads)
    }

    /// Whether caches are synced and it is known who leads.
    ///
    /// # Errors
    ///
    /// What is waited for, for people.
    pub fn ready(&self) -> Result<(), &'static str> {
        match self.standing() {
            Standing::Starting => Err(
                "it is not known who leads, because the Lease was not read; check the API server and the daemon's log",
            ),
            Standing::Listing => Err(
                "this replica leads and has not listed everything yet; the daemon's log says what it waits for",
            ),
            Standing::StandingBy | Standing::Leading => Ok(()),
        }
    }

    /// Whether all loops move.
    ///
    /// # Errors
    ///
    /// A line for each that does not.
    pub fn live(&self) -> Result<(), String> {
        let lines: Vec<String> = self
            .silence()
            .into_iter()
            .filter(|(_, silent)| *silent > STILL)
            .map(|(name, silent)| format!("the loop \"{name}\" has not moved for {} s\n", silent.as_secs()))
            .collect();
        if lines.is_empty() {
            Ok(())
        } else {
            Err(lines.concat())
        }
    }

    /// For how long each loop has not come back.
    pub fn silence(&self) -> Vec<(&'static str, Duration)> {
        let now = self.now();
        let mut loops = self.loops();
        loops.retain(|beat| beat.at.strong_count() > 0);
        let beats = loops
            .iter()
            .filter_map(|beat| Some((beat.name, beat.at.upgrade()?)));
        let since =
            |at: Arc<AtomicU64>| Duration::from_millis(now.saturating_sub(at.load(Ordering::Relaxed)));
        beats.map(|(name, at)| (name, since(at))).collect()
    }

    /// Runs a loop to its end, and notes whenever it comes back.
    pub async fn watched<T>(&self, name: &'static str, running: impl Future<Output = T>) -> T {
        self.polled_every(BEAT, name, running).await
    }

    async fn polled_every<T>(
        &self,
        beat: Duration,
        name: &'static str,
        running: impl Future<Output = T>,
    ) -> T {
        let mut beats = interval(beat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let came_back = Arc::new(AtomicU64::new(self.now()));
        self.loops().push(Beat {
            name,
            at: Arc::downgrade(&came_back),
        });
        let mut running = std::pin::pin!(running);
        std::future::poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            came_back.store(self.now(), Ordering::Relaxed);
            while beats.poll_tick(context).is_ready() {}
            polled
        })
        .await
    }

    /// As if everything had happened so long ago.
    #[cfg(test)]
    pub(super) fn later(&self, by: Duration) -> Self {
        Self {
            begun: self.begun.checked_sub(by).unwrap_or(self.begun),
            ..self.clone()
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn loops(&self) -> MutexGuard<'_, Vec<Beat>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tasks that run for as long as the process does.
#[derive(Debug, Default)]
pub struct Loops {
    tasks: JoinSet<&'static str>,
    probes: Probes,
}

impl Loops {
    /// None yet; those that are started are watched.
    pub fn new(probes: Probes) -> Self {
        Self {
            tasks: JoinSet::new(),
            probes,
        }
    }

    /// Starts one.
    pub fn spawn<T>(&mut self, name: &'static str, running: impl Future<Output = T> + Send + 'static) {
        let (probes, running) = (self.probes.clone(), Box::pin(running));
        self.tasks.spawn(async move {
            probes.watched(name, running).await;
            name
        });
    }

    /// Waits until one ends, which none should, and says which.
    pub async fn ended(&mut self) -> String {
        match self.tasks.join_next().await {
            Some(Ok(name)) => name.to_owned(),
            Some(Err(error)) => error.to_string(),
            None => "last".to_owned(),
        }
    }

    /// Ends all of them.
    pub async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }
}
