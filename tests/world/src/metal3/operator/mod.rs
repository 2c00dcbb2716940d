//! A script that keeps baremetal-operator's rules for hosts that were provisioned by somebody else: it registers them in
//! a real Ironic, keeps their power as `spec.online` and reboot annotations want it, and says so in their status. Every
//! change of power goes through Ironic.
//!
//! Source: metal3-io/baremetal-operator at 02aa5059e (2026-08-20), `internal/controller/metal3.io` and
//! `pkg/provisioner/ironic`; each rule names its file.
//!
//! Left out: provisioning, inspection, servicing (HostUpdatePolicy), DataImages, new credentials, events, conditions,
//! metrics. Its real counterpart is run by [`super::real_operator`].

mod host;
mod pass;
mod power;
mod register;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use harness::{AUDITED_GROUP, Cluster};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::{Predicate as _, WatchStreamExt as _, predicates, reflector, watcher};
use tokio::task::JoinHandle;

use super::IronicApi;
use pass::Script;

/// Who baremetal-operator is to the API server, by its own manifests.
pub const USER: &str =
    "system:serviceaccount:baremetal-operator-system:baremetal-operator-controller-manager";

/// How long it waits before it looks at a host again.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// While Ironic is at work or a node is locked. Source: `shortRetryDelay` in `pkg/provisioner/ironic/ironic.go`,
    /// without its jitter of up to a quarter.
    pub at_work: Duration,
    /// When the power is as wanted. Source: `steadyStateResult` in `baremetalhost_controller.go`.
    pub steady: Duration,
    /// When Ironic does not answer. Source: `provisionerNotReadyRetryDelay` in `baremetalhost_controller.go`.
    pub ironic_away: Duration,
    /// When the host is detached. Source: `unmanagedRetryDelay` in `baremetalhost_controller.go`.
    pub detached: Duration,
    /// After the n-th error in a row it waits up to 2^n times this, and half of that at least, up to the ninth. Source:
    /// `calculateBackoff` in `action_result.go`; the script waits the longest.
    pub after_an_error: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            at_work: Duration::from_secs(3),
            steady: Duration::from_mins(1),
            ironic_away: Duration::from_secs(30),
            detached: Duration::from_mins(10),
            after_an_error: Duration::from_mins(1),
        }
    }
}

impl Pace {
    /// In the same proportions, for tests.
    pub fn shortened() -> Self {
        Self {
            at_work: Duration::from_millis(300),
            steady: Duration::from_secs(6),
            ironic_away: Duration::from_secs(3),
            detached: Duration::from_mins(1),
            after_an_error: Duration::from_secs(6),
        }
    }
}

/// The script, at work in one namespace. It is dead when this is dropped, in the middle of whatever it does.
pub struct Operator {
    task: JoinHandle<()>,
    script: Arc<Script>,
}

impl Drop for Operator {
    fn drop(&mut self) {
        if crate::failure::story_fails() {
            let unfinished = self.script.notes().join("\n");
            crate::failure::show(&format!("what the scripted operator could not do:\n{unfinished}"));
        }
        self.task.abort();
    }
}

impl Operator {
    /// Starts it for the BareMetalHosts of a namespace.
    pub async fn start(cluster: &Cluster, namespace: &str, ironic: IronicApi, pace: Pace) -> Result<Self> {
        let client = cluster
            .client_as(USER, &[AUDITED_GROUP, "system:masters"])
            .await?;
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("metal3.io", "v1alpha1", "BareMetalHost"));
        let hosts = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
        let script = Arc::new(Script {
            secrets: Api::namespaced(client, namespace),
            hosts: hosts.clone(),
            ironic,
            pace,
            unfinished: Mutex::default(),
        });
        let store = reflector::store::Writer::new(kind.clone());
        let reader = store.as_reader();
        // Its own words about a host wake nobody: `updateEventHandler` in `baremetalhost_controller.go`.
        let wakes = predicates::generation
            .combine(predicates::annotations)
            .combine(predicates::finalizers);
        let changes = watcher(hosts, watcher::Config::default())
            .default_backoff()
            .reflect(store)
            .applied_objects()
            .predicate_filter(wakes, kube::runtime::PredicateConfig::default());
        let passes = Controller::for_stream_with(changes, reader, kind)
            .run(pass::pass, after_a_failure, Arc::clone(&script))
            // A pass that failed is noted and comes again.
            .for_each(|_| std::future::ready(()));
        Ok(Self {
            task: tokio::spawn(passes),
            script,
        })
    }

    /// Ends it as a crash does; answers when it does nothing any more.
    pub async fn kill(mut self) -> Result<()> {
        self.task.abort();
        let ended = tokio::time::timeout(Duration::from_mins(1), &mut self.task).await;
        match ended.context("the scripted operator does not end")? {
            Err(error) if error.is_panic() => Err(error).context("the scripted operator panicked"),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Why a pass was not carried to its end.
#[derive(Debug)]
pub(super) struct Unfinished(anyhow::Error);

impl From<anyhow::Error> for Unfinished {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#}", self.0)
    }
}

impl std::error::Error for Unfinished {}

/// The first steps of controller-runtime's exponential delay are too short to be told apart from at once.
#[allow(
    clippy::needless_pass_by_value,
    reason = "the controller passes all three by value"
)]
fn after_a_failure(host: Arc<DynamicObject>, error: &Unfinished, script: Arc<Script>) -> Action {
    let name = host.metadata.name.as_deref().unwrap_or_default();
    script.note(format!("BareMetalHost {name}: {error}"));
    Action::requeue(script.pace.at_work)
}
