//! How much is looked at, which a test counts.

#[cfg(test)]
use std::sync::Arc;

/// How many objects a store has looked at or handed out. Counted in tests only.
#[derive(Clone, Default)]
pub(super) struct Visits {
    #[cfg(test)]
    count: Arc<std::sync::atomic::AtomicUsize>,
}

impl Visits {
    #[cfg_attr(not(test), allow(clippy::unused_self, clippy::missing_const_for_fn))]
    pub(super) fn add(&self, objects: usize) {
        #[cfg(test)]
        self.count
            .fetch_add(objects, std::sync::atomic::Ordering::Relaxed);
        #[cfg(not(test))]
        let _ = objects;
    }

    #[cfg(test)]
    pub(super) fn until_now(&self) -> usize {
        self.count.load(std::sync::atomic::Ordering::Relaxed)
    }
}
