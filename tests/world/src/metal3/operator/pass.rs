//! One look at a host, which does one thing at the most.
//! Source: `host_state_machine.go` and `Reconcile` in `baremetalhost_controller.go`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::controller::Action;

use super::host::{DETACHED, Host, PAUSED};
use super::{Pace, Unfinished};
use crate::metal3::{IronicApi, Told};

const FINALIZER: &str = "baremetalhost.metal3.io";
const REGISTERING: &str = "registering";
const EXTERNALLY_PROVISIONED: &str = "externally provisioned";
const POWERING_OFF: &str = "powering off before delete";
const DELETING: &str = "deleting";

/// What the operator works with.
pub(super) struct Script {
    pub(super) hosts: Api<DynamicObject>,
    pub(super) secrets: Api<Secret>,
    pub(super) ironic: IronicApi,
    pub(super) pace: Pace,
    pub(super) unfinished: Mutex<Vec<String>>,
}

/// What comes of a step.
pub(super) enum Step {
    /// There is nothing left to do in it.
    Done,
    /// The pass ends here; the next begins after this time at the latest.
    Again(Duration),
    /// Something is wrong of this type.
    Failed(&'static str, String),
}

/// At once, but after what is already waiting.
pub(super) const AT_ONCE: Duration = Duration::ZERO;

pub(super) async fn pass(host: Arc<DynamicObject>, script: Arc<Script>) -> Result<Action, Unfinished> {
    let Some(host) = Host::read(&script.hosts, &host.name_any()).await? else {
        return Ok(Action::await_change());
    };
    // A paused host is not even asked after: `Reconcile` in `baremetalhost_controller.go`.
    if host.annotation(PAUSED).is_some() {
        return Ok(Action::await_change());
    }
    if !script.ironic.answers().await {
        return Ok(Action::requeue(script.pace.ironic_away));
    }
    match script.step(&host).await? {
        Step::Done => Ok(Action::await_change()),
        Step::Again(after) => Ok(Action::requeue(after)),
        // Source: `recordActionFailure` in `baremetalhost_controller.go`, `actionFailed` in `action_result.go`.
        Step::Failed(error_type, message) => {
            let mut status = host.status.clone();
            status.set_error(error_type, &message);
            let after = status.backoff(script.pace.after_an_error);
            host.write(status).await?;
            Ok(Action::requeue(after))
        }
    }
}

impl Script {
    /// Keeps what a pass could not do, for whoever looks at a story that failed.
    pub(super) fn note(&self, what: String) {
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.push(what);
    }

    /// What passes could not do.
    pub(super) fn notes(&self) -> Vec<String> {
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.clone()
    }

    /// Source: `ReconcileState` in `host_state_machine.go`: deletion, detachment, registration, then the state.
    async fn step(&self, host: &Host) -> Result<Step> {
        let deleted = host.object.metadata.deletion_timestamp.is_some();
        let has_finalizer = host.object.finalizers().iter().any(|one| one == FINALIZER);
        match host.status.provisioning.state.as_str() {
            _ if !deleted && !has_finalizer => {
                host.update(|object| object.finalizers_mut().push(FINALIZER.to_owned()))
                    .await?;
                return Ok(Step::Again(AT_ONCE));
            }
            // Source: `handleNone`; a host without a BMC would be unmanaged.
            "" => return self.enter(host, REGISTERING).await,
            POWERING_OFF => return self.power_off_before_deletion(host).await,
            DELETING => return self.delete(host).await,
            _ => {}
        }
        if deleted && let Some(state) = next_when_deleted(host) {
            return self.enter(host, state).await;
        }
        // Source: `checkDetachedHost`; only what is provisioned can be detached.
        let provisioned = host.status.provisioning.state == EXTERNALLY_PROVISIONED;
        if provisioned && host.annotation(DETACHED).is_some() {
            return self.detach(host).await;
        }
        if host.status.operational == "detached" {
            let mut status = host.status.clone();
            let is = if status.error_type.is_empty() {
                "OK"
            } else {
                "error"
            };
            is.clone_into(&mut status.operational);
            host.write(status).await?;
            return Ok(Step::Again(AT_ONCE));
        }
        if let step @ (Step::Again(_) | Step::Failed(..)) = self.register(host).await? {
            return Ok(step);
        }
        if !provisioned {
            // Source: `handleRegistering`; others would be inspected.
            anyhow::ensure!(
                host.spec.externally_provisioned,
                "the script knows only hosts that are externally provisioned"
            );
            return self.enter(host, EXTERNALLY_PROVISIONED).await;
        }
        // Source: `actionManageSteadyState` in `baremetalhost_controller.go`.
        match self.adopt(host).await? {
            Step::Done => self.manage_power(host).await,
            step @ (Step::Again(_) | Step::Failed(..)) => Ok(step),
        }
    }

    async fn enter(&self, host: &Host, state: &str) -> Result<Step> {
        let mut status = host.status.clone();
        state.clone_into(&mut status.provisioning.state);
        status.error_count = 0;
        host.write(status).await?;
        Ok(Step::Again(AT_ONCE))
    }

    /// Source: `detachHost` in `baremetalhost_controller.go`.
    async fn detach(&self, host: &Host) -> Result<Step> {
        if let step @ (Step::Again(_) | Step::Failed(..)) = self.forget(host).await? {
            return Ok(step);
        }
        let mut status = host.status.clone();
        "detached".clone_into(&mut status.operational);
        host.write(status).await?;
        Ok(Step::Again(self.pace.detached))
    }

    /// Has Ironic forget the node, which it does only in maintenance. Source: `realDelete` in
    /// `pkg/provisioner/ironic/ironic.go`.
    async fn forget(&self, host: &Host) -> Result<Step> {
        let Some(node) = self.ironic.node(&host.node()).await? else {
            return Ok(Step::Done);
        };
        let in_the_way = !["enroll", "available", "manageable"].contains(&node.provision_state.as_str());
        let told = match node.provision_state.as_str() {
            "verifying" => return Ok(Step::Again(self.pace.at_work)),
            _ if in_the_way && !node.maintenance => {
                let reason = "forcing deletion in baremetal-operator";
                self.ironic.maintain(&node.uuid, Some(reason)).await?
            }
            _ => self.ironic.delete(&node.uuid).await?,
        };
        Ok(self.after(&told))
    }

    /// When to look again after Ironic was told something.
    pub(super) fn after(&self, told: &Told) -> Step {
        match told {
            Told::Accepted | Told::Gone => Step::Again(AT_ONCE),
            Told::Busy(_) => Step::Again(self.pace.at_work),
        }
    }

    /// Source: `actionPowerOffBeforeDeleting` in `baremetalhost_controller.go`: at once, not by the operating system.
    async fn power_off_before_deletion(&self, host: &Host) -> Result<Step> {
        let node = self.ironic.node(&host.node()).await?;
        if let Some(node) = node.filter(|_| !host.spec.disable_power_off) {
            let forced = host.has_power_error();
            if let step @ (Step::Again(_) | Step::Failed(..)) =
                self.power_off(host, &node, true, forced).await?
            {
                return Ok(step);
            }
        }
        self.enter(host, DELETING).await
    }

    /// Source: `actionDeleting` in `baremetalhost_controller.go`.
    async fn delete(&self, host: &Host) -> Result<Step> {
        if let step @ (Step::Again(_) | Step::Failed(..)) = self.forget(host).await? {
            return Ok(step);
        }
        host.update(|object| object.finalizers_mut().retain(|one| one != FINALIZER))
            .await?;
        Ok(Step::Done)
    }
}

/// Source: `checkInitiateDelete` and `delayDeleteForDetachedHost` (`annotations.go`).
fn next_when_deleted(host: &Host) -> Option<&'static str> {
    let detached = host.annotation(DETACHED);
    if detached.is_some() || host.status.operational == "detached" {
        let arguments = detached.map(serde_json::from_str::<serde_json::Value>);
        let delayed = match arguments {
            None => true,
            Some(Ok(arguments)) => arguments
                .get("deleteAction")
                .is_some_and(|action| action == "delay"),
            Some(Err(_)) => false,
        };
        return (!delayed).then_some(DELETING);
    }
    if host.status.provisioning.state == REGISTERING {
        return Some(DELETING);
    }
    Some(POWERING_OFF)
}
