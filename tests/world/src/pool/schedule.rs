//! Who gets which control plane when. Nothing here waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;

use tokio::sync::oneshot;

use super::Setting;
use super::mount::{Mount, Plane};

/// Control planes at once, and stories at once by what they weigh, unless the environment says otherwise. More would
/// starve on two processors: then what a story waits for comes too late.
const PLANES: (&str, usize) = ("STORY_CONTROL_PLANES", 8);
const STORIES: (&str, usize) = ("STORIES_AT_ONCE", 14);

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
    stories: usize,
}

/// What a story has leased.
#[derive(Default)]
struct Leases {
    /// One that asks twice has two.
    count: usize,
    weight: usize,
}

/// How a story comes to its control plane.
enum Way {
    /// No other story has it.
    Begins,
    Shares(Arc<Mount>),
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiter>,
    /// What is leased.
    mounts: Vec<Arc<Mount>>,
    /// Leases of each story.
    leases: HashMap<ThreadId, Leases>,
    /// Control planes that nobody has leased.
    free: Vec<Arc<Plane>>,
}

impl Pool {
    pub(super) fn of_this_process() -> &'static Self {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| {
            let existing = std::env::var("USE_EXISTING_CLUSTER").is_ok_and(|value| value == "true");
            Self {
                state: Mutex::default(),
                planes: if existing { 1 } else { from_environment(PLANES) },
                stories: from_environment(STORIES),
            }
        })
    }

    pub(super) fn ask(&self, waiter: Waiter) {
        self.change(|state| state.waiting.push(waiter));
    }

    /// A lease has ended. `plane` is the control plane if it was the last one and it can be used again.
    pub(super) fn give_back(&self, story: ThreadId, mount: &Arc<Mount>) {
        self.change(|state| {
            if let Some(leases) = state.leases.get_mut(&story) {
                leases.count = leases.count.saturating_sub(1);
            }
            state.leases.retain(|_, leases| leases.count > 0);
            mount.left();
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.end_mounts();
        while let Some((waiter, mount)) = state.next(self.planes, self.stories) {
            mount.entered();
            let leases = state.leases.entry(waiter.story).or_default();
            leases.count = leases.count.saturating_add(1);
            leases.weight = leases.weight.max(waiter.setting.weight);
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
    fn next(&mut self, planes: usize, stories: usize) -> Option<(Waiter, Arc<Mount>)> {
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
                let way = way(self, self.waiting.get(*index)?, planes, stories)?;
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
    fn goes_on(&self, waiter: &Waiter, _: usize, _: usize) -> Option<Way> {
        let has_begun = self.leases.contains_key(&waiter.story);
        has_begun.then(|| self.mounted(waiter).cloned().map_or(Way::Begins, Way::Shares))
    }

    /// Whether one story more may begin, whatever it weighs: a heavy one is not to wait until all others have ended.
    fn has_room(&self, stories: usize) -> bool {
        let weights = self.leases.values().map(|leases| leases.weight);
        weights.sum::<usize>() < stories
    }

    fn has_its_own(&self, waiter: &Waiter, planes: usize, stories: usize) -> Option<Way> {
        let may = self.mounted(waiter).is_none() && self.mounts.len() < planes && self.has_room(stories);
        may.then_some(Way::Begins)
    }

    fn joins(&self, waiter: &Waiter, _: usize, stories: usize) -> Option<Way> {
        let mount = self.mounted(waiter)?;
        let may = mount.leases() < SHARERS && self.has_room(stories);
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
