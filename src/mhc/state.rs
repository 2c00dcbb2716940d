//! What the health checker remembers. It is lost in a crash, and nothing but publishing an event twice depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use remediator_core::checker::activation::Activation;
use remediator_core::checker::events::{Event, Published};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Phase;
use tokio::sync::Notify;

use crate::mhc::unserved::Unserved;
use crate::report::Reporter;
use crate::snapshot::Sources;

/// What evaluates MachineHealthChecks where the platform's controller does not run.
pub(crate) struct MhcController {
    pub(crate) sources: Arc<Sources>,
    pub(crate) reporter: Reporter,
    pub(crate) checker: Arc<Checker>,
}

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
    /// UID and generation of the policy that was read last.
    policy: Option<(Option<String>, Option<i64>)>,
}

/// Whether it is active for one API, and which checks nobody evaluates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) activation: Activation,
    pub(crate) unserved: Unserved,
}

#[derive(Default)]
struct Remembered {
    published: Published,
    /// UIDs of the remediations of its Machines that were seen at work.
    at_work: BTreeSet<String>,
    /// The Machine up to which conditions were written when the time for that was over.
    written_up_to: Option<String>,
}

impl Checker {
    /// The mode for an API; none before that was looked at, or where the API is not served.
    pub(crate) fn mode(&self, api: MachineApi) -> Option<Mode> {
        self.state().modes.get(&api).cloned()
    }

    pub(crate) fn decide_activation(&self) {
        self.activation_due.notify_one();
    }

    /// Notes the policy as it is now: the field about it may have changed.
    pub(crate) fn policy_is(&self, policy: &ObjectMeta) {
        let version = (policy.uid.clone(), policy.generation);
        let before = self.state().policy.replace(version.clone());
        if before != Some(version) {
            self.decide_activation();
        }
    }

    /// Which policy there is, once one was seen.
    pub(super) fn policy(&self) -> Option<(Option<String>, Option<i64>)> {
        self.state().policy.clone()
    }

    pub(super) fn is_active(&self, api: MachineApi) -> bool {
        self.activation_is(api, Activation::is_active)
    }

    /// Whether status, conditions of Machines and numbers are for it to write.
    pub(super) fn is_alone(&self, api: MachineApi) -> bool {
        self.activation_is(api, Activation::is_alone)
    }

    fn activation_is(&self, api: MachineApi, what: fn(&Activation) -> bool) -> bool {
        let state = self.state();
        state.modes.get(&api).is_some_and(|mode| what(&mode.activation))
    }

    /// Notes a mode; answers with the one before if that was another.
    pub(super) fn set_mode(&self, api: MachineApi, mode: &Mode) -> Option<Mode> {
        let before = self.state().modes.insert(api, mode.clone());
        (before.as_ref() != Some(mode)).then(|| before.unwrap_or_default())
    }

    /// Those of the events of a pass that were not published after the pass before.
    pub(super) fn new_events(&self, check: &CheckKey, events: Vec<Event>) -> Vec<Event> {
        self.remembered(check, |check| check.published.new_ones(events))
    }

    /// How many remediations of a check's Machines have succeeded since the last time, of all that are there.
    pub(super) fn succeeded(&self, check: &CheckKey, remediations: &BTreeMap<String, Phase>) -> usize {
        let at_work = remediations.iter().filter(|(_, phase)| !phase.is_final());
        let at_work = at_work.map(|(uid, _)| uid.clone()).collect();
        let has_succeeded = |uid: &&String| remediations.get(*uid) == Some(&Phase::Succeeded);
        self.remembered(check, |check| {
            let before = std::mem::replace(&mut check.at_work, at_work);
            before.iter().filter(has_succeeded).count()
        })
    }

    /// Notes the Machine up to which conditions were written in this turn; answers with that of the one before.
    pub(super) fn written_up_to(&self, check: &CheckKey, machine: Option<String>) -> Option<String> {
        self.remembered(check, |check| {
            std::mem::replace(&mut check.written_up_to, machine)
        })
    }

    fn remembered<T>(&self, check: &CheckKey, change: impl FnOnce(&mut Remembered) -> T) -> T {
        change(self.state().checks.entry(check.clone()).or_default())
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
        let gone = state.checks.extract_if(.., |key, _| !is_wanted(key));
        gone.map(|(key, _)| key).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
