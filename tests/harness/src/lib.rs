//! What the tests and the demo stand on.
//!
//! * [`control_plane`] and [`ControlPlane`]: a real etcd, kube-apiserver and
//!   kube-controller-manager, started in seconds and never left behind.
//! * [`Cluster`]: clients, kubeconfigs, namespaces, CRDs, tables and the audit log of such a
//!   control plane, or of an existing cluster (`USE_EXISTING_CLUSTER=true`).
//! * [`kubelet`] and [`scheduler`]: the two actors that a cluster without hosts lacks.
//! * [`process`]: a daemon under test as a child process.
//!
//! Lifetimes: the processes belong to threads, not to a runtime, so one control plane serves every
//! `#[tokio::test]` of a binary. Clients and actors belong to the runtime that made them: ask the
//! [`Cluster`] for a client in each test.
#![allow(
    clippy::missing_errors_doc,
    reason = "every function here fails for one reason: the test cannot go on, and the error says why"
)]

mod apply;
mod assets;
mod audit;
mod cluster;
mod control_plane;
mod folders;
mod foreign;
mod namespaces;
mod pki;
mod table;
mod wait;

pub mod kubelet;
pub mod process;
pub mod scheduler;

pub use assets::Assets;
pub use audit::{AuditEvent, AuditResource};
pub use cluster::{AUDITED_GROUP, Cluster};
pub use control_plane::{ControlPlane, ControllerManagerOptions, Options};
pub use foreign::ForeignCrd;
pub use process::Cursor;
pub use table::Table;
pub use wait::await_condition;

use tokio::sync::OnceCell;

static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
static WORKLOAD: OnceCell<ControlPlane> = OnceCell::const_new();

/// The control plane that all tests of this binary share, started by the first that asks.
///
/// It ends with the process: statics are not dropped, but the watchdogs see the process go.
pub async fn control_plane() -> anyhow::Result<&'static ControlPlane> {
    SHARED
        .get_or_try_init(|| ControlPlane::start(Options::default()))
        .await
}

/// Another one, that the tests of this binary share as the workload cluster whose Machines are in
/// [`control_plane`].
pub async fn workload_cluster() -> anyhow::Result<&'static Cluster> {
    let plane = WORKLOAD
        .get_or_try_init(|| ControlPlane::start(Options::default()))
        .await?;
    Ok(plane.cluster())
}
