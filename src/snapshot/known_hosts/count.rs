//! Hosts, counted one by one as they change.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::views::Node;
use remediator_core::brakes::LATEST_IN_DOMAIN;
use remediator_core::machine_api::MachineApi;

use crate::watch::caches::Guarded;

/// A host, by what stands for it in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Which {
    /// Its Node.
    Node(String),
    /// Its Machine, in a namespace, which has no Node.
    Machine(MachineApi, String, String),
}

/// What counts of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    is_unhealthy: bool,
    /// Since when, by its Node's condition Ready.
    unhealthy_since: Option<Timestamp>,
    domain: Option<String>,
}

impl Host {
    pub(super) fn of(node: &Guarded<Node>, domain_label: &str) -> Self {
        let readable = node.0.as_ref().ok();
        let is_unhealthy = !readable.is_some_and(Node::is_ready);
        let conditions = readable.map_or(&[][..], |node| &node.status.conditions);
        let ready = conditions.iter().find(|condition| condition.kind == "Ready");
        let since = ready.and_then(|ready| ready.last_transition_time.as_ref());
        Self {
            is_unhealthy,
            unhealthy_since: since.filter(|_| is_unhealthy).map(|time| time.0),
            domain: node.labels().get(domain_label).cloned(),
        }
    }

    /// One whose Node is missed.
    pub(super) fn without_node() -> Self {
        Self {
            is_unhealthy: true,
            unhealthy_since: None,
            domain: None,
        }
    }
}

/// The hosts of one cluster.
#[derive(Debug, Default)]
pub(super) struct Count {
    hosts: BTreeMap<Which, Host>,
    unhealthy: usize,
    domains: BTreeMap<String, OfDomain>,
}

#[derive(Debug, Default)]
struct OfDomain {
    hosts: usize,
    unhealthy: BTreeSet<(Timestamp, Which)>,
}

/// How many hosts there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostsOfCluster {
    pub(crate) hosts: usize,
    pub(crate) unhealthy: usize,
    /// Those of the failure domain that was asked about.
    pub(crate) in_domain: usize,
    /// Since when those of that domain are unhealthy that became so last, the latest first.
    pub(crate) latest_in_domain: Vec<Timestamp>,
}

impl HostsOfCluster {
    /// Of one cluster that was counted under two names.
    pub(crate) fn of_same(self, other: Self) -> Self {
        let (more, less) = if self.hosts >= other.hosts {
            (self, other)
        } else {
            (other, self)
        };
        Self {
            unhealthy: more.unhealthy.max(less.unhealthy),
            in_domain: more.in_domain.max(less.in_domain),
            ..more
        }
    }
}

impl Count {
    /// Counts a host as it is now; nothing, where it is none.
    pub(super) fn set(&mut self, which: Which, now: Option<Host>) {
        if let Some(before) = self.hosts.remove(&which) {
            self.unhealthy = self.unhealthy.saturating_sub(usize::from(before.is_unhealthy));
            self.leave_domain(&which, &before);
        }
        let Some(host) = now else { return };
        self.unhealthy = self.unhealthy.saturating_add(usize::from(host.is_unhealthy));
        if let Some(name) = &host.domain {
            let domain = self.domains.entry(name.clone()).or_default();
            domain.hosts = domain.hosts.saturating_add(1);
            domain
                .unhealthy
                .extend(host.unhealthy_since.map(|since| (since, which.clone())));
        }
        self.hosts.insert(which, host);
    }

    fn leave_domain(&mut self, which: &Which, host: &Host) {
        let Some(name) = &host.domain else { return };
        let Some(domain) = self.domains.get_mut(name) else {
            return;
        };
        domain.hosts = domain.hosts.saturating_sub(1);
        if let Some(since) = host.unhealthy_since {
            domain.unhealthy.remove(&(since, which.clone()));
        }
        if domain.hosts == 0 {
            self.domains.remove(name);
        }
    }

    pub(super) fn told(&self, domain: Option<&str>) -> HostsOfCluster {
        let domain = domain.and_then(|name| self.domains.get(name));
        let latest = domain.map(|domain| {
            let latest = domain.unhealthy.iter().rev().take(LATEST_IN_DOMAIN);
            latest.map(|(since, _)| *since)
        });
        HostsOfCluster {
            hosts: self.hosts.len(),
            unhealthy: self.unhealthy,
            in_domain: domain.map_or(0, |domain| domain.hosts),
            latest_in_domain: latest.into_iter().flatten().collect(),
        }
    }
}
