//! Which changes of which objects concern the health checker: a heartbeat, or a status that nobody judges, does not.

use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{about, begun, is_under_way};
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, MachineHealthCheck, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, keys};
use remediator_core::checker::machine_health::HEALTH_CHECK_SUCCEEDED;
use remediator_core::machine_api::MachineApi;
use tokio::sync::mpsc;

use crate::watch::indexed_store::{Change, Indexed};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MhcChange {
    /// Something in this namespace.
    Namespace(String),
    /// The Node of this name.
    Node(String),
    /// Whether our health checker is active.
    All,
}

/// Leads to the health checker.
pub(crate) type ChangeSender = mpsc::UnboundedSender<MhcChange>;

/// A kind that health checks are evaluated by.
pub(crate) trait Judged: Indexed {
    fn judged(&self) -> impl PartialEq;
}

/// Tells the health checker of the changes that concern it. The namespace is that of the Machines, for Nodes of a
/// workload cluster.
pub(crate) fn publish<K: Judged>(changes: &ChangeSender, namespace: Option<&str>, news: &[Change<K>]) {
    for change in news {
        let versions = change.before.as_deref().zip(change.now());
        if versions.is_some_and(|(before, now)| is_same(before, now)) {
            continue;
        }
        let namespace = namespace.map(ToOwned::to_owned);
        let namespace = namespace.or_else(|| change.object.namespace());
        let name = || MhcChange::Node(change.object.name_any());
        let whom = namespace.map_or_else(name, MhcChange::Namespace);
        if changes.send(whom).is_err() {
            tracing::debug!("the health checker has ended; nobody is told");
        }
    }
}

/// Whether two versions of an object are judged in the same way.
fn is_same<'a, K: Judged>(before: &'a Guarded<K>, now: &'a Guarded<K>) -> bool {
    match (&before.0, &now.0) {
        (Ok(before), Ok(now)) => before.judged() == now.judged(),
        (Err(error), Err(other)) => {
            // By its labels a Machine is selected, by these annotations a check is for us and paused.
            let same = |key| before.annotations().get(key) == now.annotations().get(key);
            error.error == other.error
                && before.labels() == now.labels()
                && same(keys::STRATEGY_ANNOTATION)
                && same(keys::PAUSED_ANNOTATION)
        }
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

impl Judged for Machine {
    fn judged(&self) -> impl PartialEq {
        let mut facts = self.facts();
        facts.resource_version = String::new();
        if facts.node_name.is_some() {
            // Read only of a Machine without a Node.
            facts.phase = None;
            facts.state.last_updated = None;
        }
        // What health checks say, which none judges.
        facts
            .state
            .conditions
            .retain(|one| one.kind != HEALTH_CHECK_SUCCEEDED);
        // By these the host is found.
        let host = self.annotations().get(keys::BARE_METAL_HOST_ANNOTATION);
        let cluster_api = self.spec.cluster_api.as_ref();
        (
            facts,
            self.labels(),
            host,
            cluster_api.map(|machine| &machine.infrastructure),
        )
    }
}

impl Judged for Node {
    fn judged(&self) -> impl PartialEq {
        let links = MachineApi::ALL.map(|api| self.machine_link(api));
        (
            self.facts().conditions,
            self.labels(),
            &self.spec.provider_id,
            links,
        )
    }
}

impl Judged for Cluster {
    fn judged(&self) -> impl PartialEq {
        &self.state
    }
}

/// Whether a host without a Node may be power-cycled is judged by what states which one it is.
impl Judged for BMCEndpoint {
    fn judged(&self) -> impl PartialEq {
        let spec = &self.spec;
        (
            &spec.machine_name,
            &spec.node_name,
            &spec.address,
            &spec.system_uuid,
        )
    }
}

/// Health checks that name it have a condition on whether requests can be made from it.
impl Judged for PowerCycleRemediationTemplate {
    fn judged(&self) -> impl PartialEq {
        &self.spec
    }
}

impl Judged for PowerCycleRemediation {
    fn judged(&self) -> impl PartialEq {
        let subject = begun(self).map(|subject| (&subject.machine, subject.node_name()));
        let about = about(self);
        (is_under_way(self), about.machine, about.node, subject)
    }
}

/// Of the status nothing is judged; what stands there is ours.
impl Judged for MachineHealthCheck {
    fn judged(&self) -> impl PartialEq {
        (self.annotations(), self.metadata.generation, &self.spec)
    }
}

#[cfg(test)]
mod tests;
