//! Who gets which control plane when. Nothing here waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;

use tokio::sync::oneshot;

use super::Setting;
use super::mount::{Mount, Plane};

/// Control planes at once, and stories at once, unless the environment says otherwise.
const PLANES: (&str, usize) = ("STORY_CONTROL_PLANES", 5);
const STORIES: (&str, usize) = ("STORIES_AT_ONCE", 12);

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

#[derive(Default)]
struct State {
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
        while let Some((waiter, mount)) = state.next(self.planes, self.stories) {
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
    /// Takes back the control planes of settings that nobody has and nobody waits for.
    fn end_mounts(&mut self) {
        let (waiting, free) = (&self.waiting, &mut self.free);
        self.mounts.retain(|mount| {
            let wanted = waiting.iter().any(|waiter| mount.is_for(waiter.setting));
            if mount.is_in_use() || wanted {
                return true;
            }
            free.extend(mount.end());
            false
        });
    }

    /// The next story that can begin: the longest first, and of the same length the one that asked first.
    fn next(&mut self, planes: usize, stories: usize) -> Option<(Waiter, Arc<Mount>)> {
        let mut order: Vec<usize> = (0..self.waiting.len()).collect();
        order.sort_by_key(|index| {
            let seconds = self
                .waiting
                .get(*index)
                .map_or(0, |waiter| waiter.setting.seconds);
            std::cmp::Reverse(seconds)
        });
        for index in order {
            let Some(waiter) = self.waiting.get(index) else {
                continue;
            };
            let has_begun = self.leases.contains_key(&waiter.story);
            if !has_begun && self.leases.len() >= stories {
                continue;
            }
            let (setting, story) = (waiter.setting, waiter.story);
            let joined = self
                .mounts
                .iter()
                .find(|mount| mount.may_be_joined(setting, story))
                .cloned();
            let mount = match joined {
                Some(mount) => mount,
                // Who has one already and wants another does not wait, lest everybody waits for somebody.
                None if self.mounts.len() >= planes && !has_begun => continue,
                None => {
                    let used = if setting.takes_used() {
                        self.free.pop()
                    } else {
                        None
                    };
                    let mount = Arc::new(Mount::new(setting, story, used));
                    self.mounts.push(mount.clone());
                    mount
                }
            };
            return Some((self.waiting.remove(index), mount));
        }
        None
    }
}

fn from_environment((variable, usual): (&str, usize)) -> usize {
    let set = std::env::var(variable).ok().and_then(|value| value.parse().ok());
    set.filter(|count| *count > 0).unwrap_or(usual)
}
