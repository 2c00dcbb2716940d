//! What the health checker remembers. All of it is lost in a crash, and nothing but telling people
//! something twice depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use remediator_core::checker::activation::Activation;
use remediator_core::checker::notice::{Notice, Told};
use remediator_core::machine_api::MachineApi;
use tokio::sync::Notify;

use crate::mhc::unserved_checks::Unserved;
use crate::report::Reporter;
use crate::snapshot::Sources;

/// What evaluates MachineHealthChecks where the platform's controller does not run.
pub(crate) struct MhcController {
    pub(crate) sources: Arc<Sources>,
    pub(crate) reporter: Reporter,
    /// What was seen and told before.
    pub(crate) checker: Arc<Checker>,
}

/// A health check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CheckKey {
    pub(crate) api: MachineApi,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl CheckKey {
    /// Namespace and name, as the metrics of machine-api-operator label it. Of the checks of Cluster API their
    /// status is the measure, which kube-state-metrics exports.
    pub(super) fn in_metrics(&self) -> Option<(String, String)> {
        match self.api {
            MachineApi::OpenShift => Some((self.namespace.clone(), self.name.clone())),
            MachineApi::ClusterApi => None,
        }
    }
}

impl std::fmt::Display for CheckKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// What the health checker remembers.
#[derive(Default)]
pub(crate) struct Checker {
    state: Mutex<State>,
    /// Notified when the activation has to be decided anew.
    pub(super) activation_due: Notify,
}

#[derive(Default)]
struct State {
    modes: BTreeMap<MachineApi, Mode>,
    checks: BTreeMap<CheckKey, Remembered>,
    /// UID and generation of the policy that was heard of last.
    policy: Option<(Option<String>, Option<i64>)>,
}

/// Whether it is active for one API, and which checks nobody evaluates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) activation: Activation,
    pub(crate) unserved: Unserved,
}

/// What is remembered of one health check.
#[derive(Default)]
struct Remembered {
    told: Told,
    /// UIDs of the remediations of its Machines that were seen at work.
    at_work: BTreeSet<String>,
    /// The Machine up to which conditions were written when the time for that was over.
    said_up_to: Option<String>,
}

impl Checker {
    /// Whether it is active, and which checks nobody evaluates; nothing before that was looked at, or where the API is
    /// not served.
    pub(crate) fn mode(&self, api: MachineApi) -> Option<Mode> {
        self.state().modes.get(&api).cloned()
    }

    /// Has the activation decided anew, soon.
    pub(crate) fn decide_activation(&self) {
        self.activation_due.notify_one();
    }

    /// Hears of the policy, of which the field about it may have changed.
    pub(crate) fn policy_is(&self, policy: &ObjectMeta) {
        let version = (policy.uid.clone(), policy.generation);
        let before = self.state().policy.replace(version.clone());
        if before != Some(version) {
            self.decide_activation();
        }
    }

    /// Whether it is active.
    pub(super) fn is_in(&self, api: MachineApi) -> bool {
        let state = self.state();
        let mode = state.modes.get(&api);
        mode.is_some_and(|mode| mode.activation.is_in())
    }

    /// Whether status, conditions of Machines and numbers are for it to write.
    pub(super) fn is_alone(&self, api: MachineApi) -> bool {
        let state = self.state();
        let mode = state.modes.get(&api);
        mode.is_some_and(|mode| mode.activation.is_alone())
    }

    /// Notes a mode; answers with the one before if that was another.
    pub(super) fn take(&self, api: MachineApi, mode: &Mode) -> Option<Mode> {
        let before = self.state().modes.insert(api, mode.clone());
        (before.as_ref() != Some(mode)).then(|| before.unwrap_or_default())
    }

    /// Those of the notices of a pass that people were not told in the pass before.
    pub(super) fn news(&self, check: &CheckKey, notices: Vec<Notice>) -> Vec<Notice> {
        let mut state = self.state();
        state.checks.entry(check.clone()).or_default().told.news(notices)
    }

    /// How many remediations of a check's Machines have succeeded since the last time. `remediations` are
    /// all that are there.
    pub(super) fn succeeded(&self, check: &CheckKey, remediations: &Remediations) -> usize {
        let mut state = self.state();
        let at_work = &mut state.checks.entry(check.clone()).or_default().at_work;
        let succeeded = at_work.intersection(&remediations.succeeded).count();
        at_work.clone_from(&remediations.at_work);
        succeeded
    }

    /// Notes the Machine up to which conditions were written when the time for that was over; answers with the one
    /// before.
    pub(super) fn said_up_to(&self, check: &CheckKey, machine: Option<String>) -> Option<String> {
        let mut state = self.state();
        std::mem::replace(
            &mut state.checks.entry(check.clone()).or_default().said_up_to,
            machine,
        )
    }

    /// The checks of an API of which something is remembered.
    pub(super) fn of(&self, api: MachineApi) -> Vec<CheckKey> {
        let state = self.state();
        let keys = state.checks.keys().filter(|key| key.api == api);
        keys.cloned().collect()
    }

    /// Forgets the checks that are not wanted any more; answers with them.
    pub(super) fn retain(&self, is_wanted: impl Fn(&CheckKey) -> bool) -> Vec<CheckKey> {
        let mut state = self.state();
        let keys: Vec<CheckKey> = state.checks.keys().cloned().collect();
        let gone: Vec<CheckKey> = keys.into_iter().filter(|key| !is_wanted(key)).collect();
        for key in &gone {
            state.checks.remove(key);
        }
        gone
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// UIDs of the remediations that triggers of a check's Machines have led to.
#[derive(Debug, Default)]
pub(super) struct Remediations {
    pub(super) at_work: BTreeSet<String>,
    pub(super) succeeded: BTreeSet<String>,
}
