//! Who gets which control plane when. Nothing here waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use tokio::sync::oneshot;

use super::Setting;
use super::mount::{Mount, Plane};
use super::processors::{self, Processors, Room};

/// Control planes at once, and stories at once at most, unless the environment says otherwise.
const PLANES: (&str, usize) = ("STORY_CONTROL_PLANES", 10);
const STORIES: (&str, usize) = ("STORIES_AT_ONCE", 24);
/// As many begin however busy the processors are.
const FEWEST: usize = 8;

/// Leases of one control plane at once, so that a setting of many short stories leaves some for others.
const SHARERS: usize = 8;

/// A story that waits for a control plane.
pub(super) struct Waiter {
    pub(super) setting: &'static Setting,
    pub(super) story: ThreadId,
    pub(super) told: oneshot::Sender<Arc<Mount>>,
}

pub(super) struct Pool {
    state: Mutex<State>,
    planes: usize,
    most: usize,
}

/// How a story comes to its control plane.
enum Way {
    /// No other story has it.
    Begins,
    Shares(Arc<Mount>),
}

struct State {
    /// How many stories may run at once, by how busy the processors are.
    stories: usize,
    waiting: Vec<Waiter>,
    /// What is leased.
    mounts: Vec<Arc<Mount>>,
    /// Leases of each story; one that asks twice has two.
    leases: HashMap<ThreadId, usize>,
    /// Control planes that nobody has leased.
    free: Vec<Arc<Plane>>,
}

impl Pool {
    pub(super) fn of_this_process() -> &'static Self {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| {
            let existing = std::env::var("USE_EXISTING_CLUSTER").is_ok_and(|value| value == "true");
            let most = from_environment(STORIES);
            // It ends with the process, as the pool does.
            thread::spawn(|| Self::of_this_process().watch_processors());
            Self {
                state: Mutex::new(State {
                    stories: FEWEST.min(most),
                    waiting: Vec::new(),
                    mounts: Vec::new(),
                    leases: HashMap::new(),
                    free: Vec::new(),
                }),
                planes: if existing { 1 } else { from_environment(PLANES) },
                most,
            }
        })
    }

    /// Has one story more begin where processors are idle, and one less where they are not.
    fn watch_processors(&self) {
        let mut processors = Processors::new();
        loop {
            thread::sleep(processors::PAUSE);
            let room = processors.room();
            self.change(|state| state.make(room, self.most));
        }
    }

    pub(super) fn ask(&self, waiter: Waiter) {
        self.change(|state| state.waiting.push(waiter));
    }

    /// A lease has ended. `plane` is the control plane if it was the last one and it can be used again.
    pub(super) fn give_back(&self, story: ThreadId, mount: &Arc<Mount>) {
        self.change(|state| {
            if let Some(count) = state.leases.get_mut(&story) {
                *count = count.saturating_sub(1);
            }
            state.leases.retain(|_, count| *count > 0);
            mount.left();
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.end_mounts();
        while let Some((waiter, mount)) = state.next(self.planes) {
            mount.entered();
            let count = state.leases.entry(waiter.story).or_default();
            *count = count.saturating_add(1);
            if waiter.told.send(mount.clone()).is_err() {
                // Its story has ended meanwhile.
                mount.left();
                state.leases.remove(&waiter.story);
            }
        }
        // Nobody is left who could want them.
        if state.waiting.is_empty() && state.mounts.is_empty() {
            state.free.clear();
        }
    }
}

impl State {
    fn make(&mut self, room: Room, most: usize) {
        let running = self.leases.len();
        self.stories = match room {
            // More are of no use while fewer run than may.
            Room::ForMore if running >= self.stories => self.stories.saturating_add(1).min(most),
            Room::ForMore | Room::Enough => self.stories,
            Room::ForLess => self.stories.min(running).saturating_sub(1).max(FEWEST.min(most)),
        };
    }

    /// Takes back the control planes of settings that nobody has and nobody waits for.
    fn end_mounts(&mut self) {
        let (waiting, free) = (&self.waiting, &mut self.free);
        self.mounts.retain(|mount| {
            let wanted = waiting.iter().any(|waiter| mount.is_for(waiter.setting));
            if mount.leases() > 0 || wanted {
                return true;
            }
            free.extend(mount.end());
            false
        });
    }

    /// The next story that can begin. Who has begun goes on; then control planes are put to use; then they are shared.
    /// Of several the longest is first, and of the same length the one that asked first.
    fn next(&mut self, planes: usize) -> Option<(Waiter, Arc<Mount>)> {
        let mut order: Vec<usize> = (0..self.waiting.len()).collect();
        order.sort_by_key(|index| {
            let seconds = self
                .waiting
                .get(*index)
                .map_or(0, |waiter| waiter.setting.seconds);
            std::cmp::Reverse(seconds)
        });
        let ways = [Self::goes_on, Self::has_its_own, Self::joins];
        let found = ways.iter().find_map(|way| {
            order.iter().find_map(|index| {
                let way = way(self, self.waiting.get(*index)?, planes)?;
                Some((*index, way))
            })
        });
        let (index, way) = found?;
        let waiter = self.waiting.remove(index);
        let mount = match way {
            Way::Shares(mount) => mount,
            Way::Begins => self.mount(&waiter),
        };
        Some((waiter, mount))
    }

    fn mount(&mut self, waiter: &Waiter) -> Arc<Mount> {
        let used = if waiter.setting.takes_used() {
            self.free.pop()
        } else {
            None
        };
        let mount = Arc::new(Mount::new(waiter.setting, waiter.story, used));
        self.mounts.push(mount.clone());
        mount
    }

    /// Who has a control plane already does not wait for another, lest everybody waits for somebody.
    fn goes_on(&self, waiter: &Waiter, _: usize) -> Option<Way> {
        let has_begun = self.leases.contains_key(&waiter.story);
        has_begun.then(|| self.mounted(waiter).cloned().map_or(Way::Begins, Way::Shares))
    }

    fn has_its_own(&self, waiter: &Waiter, planes: usize) -> Option<Way> {
        let may =
            self.mounted(waiter).is_none() && self.mounts.len() < planes && self.leases.len() < self.stories;
        may.then_some(Way::Begins)
    }

    fn joins(&self, waiter: &Waiter, _: usize) -> Option<Way> {
        let mount = self.mounted(waiter)?;
        let may = mount.leases() < SHARERS && self.leases.len() < self.stories;
        may.then(|| Way::Shares(mount.clone()))
    }

    fn mounted(&self, waiter: &Waiter) -> Option<&Arc<Mount>> {
        let may = |mount: &&Arc<Mount>| mount.may_be_joined(waiter.setting, waiter.story);
        self.mounts.iter().find(may)
    }
}

fn from_environment((variable, usual): (&str, usize)) -> usize {
    let set = std::env::var(variable).ok().and_then(|value| value.parse().ok());
    set.filter(|count| *count > 0).unwrap_or(usual)
}
