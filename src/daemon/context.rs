//! What every reconciliation shares.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use remediator_api::remediation_policy::BmcRules;
use remediator_bmc::Bmcs;
use remediator_core::facts::Leadership;

use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::bmc_access::latch::Latch;
use crate::clock::Clock;
use crate::clusters::workload::WorkloadClusters;
use crate::metal3;
use crate::mhc::Checker;
use crate::readiness::Findings;
use crate::remediation::claims::Claims;
use crate::remediation::memory::Memories;
use crate::remediation::node_lease::Unused;
use crate::report::Reporter;
use crate::report::stated::Stated;
use crate::snapshot::look::EndpointReads;
use crate::snapshot::node_of_host::Searches;
use crate::snapshot::{look, node_of_host};
use crate::watch::caches::Caches;
use crate::watch::lost_nodes::LostNodes;
use crate::watch::served::ServedClusterApi;

/// How long after each look at the lead an effect may still begin.
const ACT_WITHIN: SignedDuration = SignedDuration::from_secs(15);

/// What every reconciliation shares.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) caches: Caches,
    pub(crate) lost_nodes: LostNodes,
    /// Of the daemon's own cluster.
    pub(crate) searches: Searches,
    pub(crate) endpoint_reads: EndpointReads,
    pub(crate) networks: ClusterNetworks,
    pub(crate) cluster_api: ServedClusterApi,
    pub(crate) workload: WorkloadClusters,
    pub(crate) metal3: metal3::Provider,
    pub(crate) memories: Memories,
    pub(crate) reporter: Reporter,
    pub(crate) out_of_service_supported: bool,
    epoch: i64,
    pub(crate) claims: Claims,
    pub(crate) bmcs: Bmcs,
    pub(crate) latch: Latch,
    pub(crate) findings: Findings,
    pub(crate) stated: Stated,
    pub(crate) leases_unused: Unused,
    pub(crate) checker: Checker,
    last_rules: Mutex<Option<BmcRules>>,
}

impl Context {
    pub(crate) fn new(
        client: Client,
        clock: Clock,
        (caches, lost_nodes, networks): (Caches, LostNodes, ClusterNetworks),
        (cluster_api, workload): (ServedClusterApi, WorkloadClusters),
        reporter: Reporter,
        out_of_service_supported: bool,
    ) -> Self {
        Self {
            metal3: metal3::Provider::new(client.clone()),
            client,
            clock,
            caches,
            lost_nodes,
            searches: Searches::new(node_of_host::LISTING),
            endpoint_reads: EndpointReads::new(look::LISTING_ENDPOINTS),
            networks,
            cluster_api,
            workload,
            memories: Memories::default(),
            reporter,
            out_of_service_supported,
            // There is one replica and no election yet: every process leads, in the first term.
            epoch: 1,
            claims: Claims::default(),
            bmcs: Bmcs::default(),
            latch: Latch::default(),
            findings: Findings::default(),
            stated: Stated::default(),
            leases_unused: Unused::default(),
            checker: Checker::default(),
            last_rules: Mutex::default(),
        }
    }

    /// This process's right to act.
    pub(crate) fn leadership(&self, now: Timestamp) -> Leadership {
        Leadership {
            epoch: self.epoch,
            act_until: now.saturating_add(ACT_WITHIN).ok(),
        }
    }

    /// Remembers the rules that were in force last.
    pub(crate) fn remember_rules(&self, rules: &BmcRules) {
        let mut last = self.last_rules.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(rules.clone());
    }

    /// The rules that were in force last: a host that was switched off under them is switched on under
    /// them, also when the policy was deleted or broken since.
    pub(crate) fn last_rules(&self) -> Option<BmcRules> {
        self.last_rules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
