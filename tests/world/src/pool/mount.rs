//! A control plane while stories of one setting have it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use anyhow::{Context as _, Result};
use harness::{Cluster, ControlPlane, Options};
use tokio::sync::OnceCell;

use super::{Setting, reset};
use crate::{failure, install};

const CONTROL_PLANE_LOGS: [&str; 3] = ["etcd.log", "kube-controller-manager.log", "kube-apiserver.log"];

/// A control plane that is not leased, and what was in it when it was new.
pub(super) struct Plane {
    pub(super) control_plane: ControlPlane,
    pub(super) original: reset::Original,
}

type Shared = Arc<OnceCell<Arc<dyn Any + Send + Sync>>>;

pub(super) struct Mount {
    setting: &'static Setting,
    /// Whose it is, where it is for one story alone.
    owner: Option<ThreadId>,
    leases: AtomicUsize,
    /// From an earlier setting.
    used: Mutex<Option<Arc<Plane>>>,
    ready: OnceCell<Arc<Plane>>,
    shared: Mutex<HashMap<TypeId, Shared>>,
    logs: Mutex<Vec<PathBuf>>,
}

impl Mount {
    pub(super) fn new(setting: &'static Setting, story: ThreadId, used: Option<Arc<Plane>>) -> Self {
        Self {
            setting,
            owner: setting.alone.then_some(story),
            leases: AtomicUsize::new(0),
            used: Mutex::new(used),
            ready: OnceCell::new(),
            shared: Mutex::default(),
            logs: Mutex::default(),
        }
    }

    pub(super) fn is_for(&self, setting: &'static Setting) -> bool {
        self.setting.name == setting.name && self.owner.is_none()
    }

    pub(super) fn may_be_joined(&self, setting: &'static Setting, story: ThreadId) -> bool {
        self.setting.name == setting.name && self.owner.is_none_or(|owner| owner == story)
    }

    pub(super) fn entered(&self) {
        self.leases.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn left(&self) {
        self.leases.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn leases(&self) -> usize {
        self.leases.load(Ordering::Relaxed)
    }

    /// Ends what was shared; answers the control plane if it can be used again.
    pub(super) fn end(&self) -> Option<Arc<Plane>> {
        locked(&self.shared).clear();
        let plane = self.ready.get().cloned();
        plane.filter(|_| !self.setting.spoils)
    }

    /// What stories share, made by the first that asks.
    pub(super) async fn share<T, M>(&self, make: M) -> Result<Arc<T>>
    where
        T: Send + Sync + 'static,
        M: AsyncFnOnce() -> Result<T>,
    {
        let cell = locked(&self.shared).entry(TypeId::of::<T>()).or_default().clone();
        let shared = cell.get_or_try_init(async || {
            let first: Arc<dyn Any + Send + Sync> = Arc::new(make().await?);
            anyhow::Ok(first)
        });
        let shared = shared.await?.clone();
        let found = shared.downcast().ok();
        found.context("another type is kept under this one; mend the pool")
    }

    pub(super) fn note_log(&self, log: &Path) {
        locked(&self.logs).push(log.to_owned());
    }

    /// The logs that tell what happened: of the daemons, the newest last, and of the control plane.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        let mut logs = locked(&self.logs).clone();
        if let Some(plane) = self.ready.get() {
            let folder = plane.control_plane.log_folder();
            logs.extend(CONTROL_PLANE_LOGS.map(|log| folder.join(log)));
        }
        logs
    }

    pub(super) fn setting(&self) -> &'static str {
        self.setting.name
    }

    /// The control plane, started or cleared by the first story that asks.
    pub(super) async fn cluster(&self, setting: &'static Setting) -> Result<Cluster> {
        let ready = self.ready.get_or_try_init(|| self.prepare());
        let plane = ready
            .await
            .with_context(|| format!("no control plane for {}", setting.name))?;
        Ok(plane.control_plane.cluster().clone())
    }

    async fn prepare(&self) -> Result<Arc<Plane>> {
        let used = locked(&self.used).take();
        if let Some(used) = used {
            match reset::clear(&used).await {
                Ok(()) => return Ok(used),
                Err(error) => failure::show(&format!("a control plane is not used again: {error:#}")),
            }
        }
        let control_plane = ControlPlane::start(Options::default()).await?;
        install::install_with(&control_plane, self.setting.definitions).await?;
        let original = reset::Original::of(&control_plane).await?;
        Ok(Arc::new(Plane {
            control_plane,
            original,
        }))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
