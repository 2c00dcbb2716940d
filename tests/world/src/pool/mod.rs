//! Control planes for the stories of a test binary. A story leases one: alone, or together with other stories of the
//! same setting. What is given back is cleared and leased again.
//!
//! A daemon serves a whole cluster. So there is at most one policy and one set of daemons in a control plane at a
//! time, and stories share a control plane only if their setting is the same.
//!
//! The pool decides which story begins when, so the test harness may start all of them at once.

mod lease;
mod mount;
mod reset;
mod schedule;
mod told;

use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use harness::{Cluster, ForeignCrd};
use tokio::sync::oneshot;

pub use lease::Lease;
use schedule::{Pool, Waiter};

use crate::install;

/// What stories need of a control plane.
#[derive(Debug)]
pub struct Setting {
    name: &'static str,
    alone: bool,
    spoils: bool,
    definitions: &'static [ForeignCrd],
    seconds: u32,
    weight: usize,
}

impl Setting {
    /// Stories that name this setting share a control plane, and what [`share`] makes in it.
    pub const fn shared(name: &'static str) -> Self {
        Self {
            name,
            alone: false,
            spoils: false,
            definitions: &install::USUAL,
            seconds: 0,
            weight: 1,
        }
    }

    /// Each story has the control plane alone.
    pub const fn alone(name: &'static str) -> Self {
        Self {
            name,
            alone: true,
            spoils: false,
            definitions: &install::USUAL,
            seconds: 0,
            weight: 1,
        }
    }

    /// With these definitions of others instead of the usual ones.
    #[must_use]
    pub const fn with(self, definitions: &'static [ForeignCrd]) -> Self {
        Self {
            definitions,
            spoils: true,
            ..self
        }
    }

    /// The stories change what [`reset`] does not put right afterwards: their control plane is not used again.
    #[must_use]
    pub const fn spoiling(self) -> Self {
        Self { spoils: true, ..self }
    }

    /// Whether a control plane that was used before has the right definitions.
    fn takes_used(&self) -> bool {
        self.definitions == install::USUAL
    }

    /// How long its longest story takes, roughly: the longest begin first.
    #[must_use]
    pub const fn taking(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    /// As how many stories each counts, for what it computes: many hosts, many daemons, or Ironic.
    #[must_use]
    pub const fn weighing(self, weight: usize) -> Self {
        Self { weight, ..self }
    }
}

/// Leases a control plane for the story of this thread, with definitions and the daemon's role in it, and without a
/// policy. The lease ends with the last clone of the [`Cluster`]. A story that asks again for the same setting
/// gets the same control plane.
pub async fn lease(setting: &'static Setting) -> Result<Cluster> {
    let pool = Pool::of_this_process();
    let (told, granted) = oneshot::channel();
    pool.ask(Waiter {
        setting,
        story: thread::current().id(),
        told,
    });
    let mount = granted.await.context("the pool of control planes is gone")?;
    let lease = Arc::new(Lease::new(mount));
    let cluster = lease.mount().cluster(setting).await?;
    Ok(cluster.kept_by(lease))
}

/// What the stories of a control plane share besides it, made by the first that asks. It ends with the last lease.
pub async fn share<T, M>(cluster: &Cluster, make: M) -> Result<Arc<T>>
where
    T: Send + Sync + 'static,
    M: AsyncFnOnce() -> Result<T>,
{
    let lease = cluster.keeper::<Lease>();
    let lease = lease.context("this cluster is not leased; get it from pool::lease")?;
    lease.mount().share(make).await
}

/// Notes a log that is shown if a story of this control plane fails.
pub(crate) fn note_log(cluster: &Cluster, log: &std::path::Path) {
    if let Some(lease) = cluster.keeper::<Lease>() {
        lease.mount().note_log(log);
    }
}
