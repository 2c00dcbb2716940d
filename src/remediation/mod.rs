//! One remediation from request to end: reconciles, writes the journal, carries out the one act.
//!
//! [`acting`] has helpers for the kinds of acts: `observing`, `writing` and [`node_lease`]. `watching` reads a host that may
//! be off while a call to the API server is awaited. [`sessions`] ends those that were left at BMCs, [`leftover_taints`]
//! removes taints of deleted remediations, and [`left_off`] brings hosts back whose remediation was forced away.

pub(crate) mod acting;
pub(crate) mod admission;
pub(crate) mod bare_metal_host;
pub(crate) mod externally_remediated;
pub(crate) mod journal;
pub(crate) mod left_off;
pub(crate) mod leftover_holds;
pub(crate) mod leftover_taints;
pub(crate) mod live_check_turns;
pub(crate) mod memory;
pub(crate) mod node_lease;
pub(crate) mod node_reads;
pub(crate) mod observing;
pub(crate) mod power_reads;
pub(crate) mod reconcile;
pub(crate) mod retry;
pub(crate) mod sessions;
pub(crate) mod unanswered;
pub(crate) mod unlisted;
pub(crate) mod watching;
pub(crate) mod writing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::target_ref::{about, is_told_to_stop};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::admission::Reply;
use remediator_core::facts::{Facts, Host, Obstacle};

use crate::bmc_access::BmcAccess;
use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::admission::Admitted;
use crate::remediation::live_check_turns::LiveCheckTurns;
use crate::remediation::memory::{Memories, Memory};
use crate::report::Reporter;
use crate::snapshot::{Sources, cached, confirm_off, node_lease as medik8s_lease};

pub(crate) struct Remediator {
    pub(crate) sources: Arc<Sources>,
    pub(crate) bmc: Arc<BmcAccess>,
    pub(crate) reporter: Reporter,
    pub(crate) memories: Memories,
    pub(crate) admitted: Arc<Admitted>,
    pub(crate) live_checks: LiveCheckTurns,
    /// Whether everything is listed that is decided on.
    all_listed: AtomicBool,
}

impl Remediator {
    pub(crate) fn new(sources: Arc<Sources>, bmc: Arc<BmcAccess>, reporter: Reporter) -> Self {
        Self {
            sources,
            bmc,
            reporter,
            memories: Memories::default(),
            admitted: Arc::default(),
            live_checks: LiveCheckTurns::default(),
            all_listed: AtomicBool::new(false),
        }
    }

    /// From now on, something may be begun.
    pub(crate) fn all_is_listed(&self) {
        self.all_listed.store(true, Ordering::Release);
    }

    pub(crate) fn is_all_listed(&self) -> bool {
        self.all_listed.load(Ordering::Acquire)
    }
}

/// Gathers the facts of a remediation. `host` was resolved before, because that may take a call; `nodes` is
/// where its Node is, and where what is decided on these facts has to be done.
pub(crate) fn facts(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    nodes: &Result<NodeCluster, Obstacle>,
    memory: &Memory,
    (host, admission): (Result<Host, Obstacle>, Reply),
    now: Timestamp,
) -> Facts {
    let about = about(remediation);
    Facts {
        strategy: remediation.spec.strategy.validated(),
        origin: cached::origin(remediation),
        namespace: remediation.namespace().unwrap_or_default(),
        created: remediation
            .metadata
            .creation_timestamp
            .as_ref()
            .map_or(now, |time| time.0),
        deletion_requested: remediation.metadata.deletion_timestamp.is_some(),
        told_to_stop: is_told_to_stop(remediation),
        leave_off: remediation
            .annotations()
            .get(keys::LEAVE_OFF_ANNOTATION)
            .is_some_and(|value| value == "true"),
        confirm_off: confirm_off::said_of(remediation),
        has_finalizer: remediation.finalizers().iter().any(|one| one == keys::FINALIZER),
        expected_machine_uid: about.machine_uid,
        named_node: about.node,
        leadership: sources.lead.at(now),
        objects: cached::objects(
            sources,
            remediation,
            (nodes, &host),
            (memory.asked_by.as_ref(), memory.written_node.as_ref()),
        ),
        live_check: memory.live_check.clone(),
        host,
        admission,
        lease_holders: medik8s_lease::holders(remediation),
        leases_were_unused: medik8s_lease::were_unused(sources, nodes),
        out_of_service_supported: sources.clusters.supports_out_of_service(remediation),
        node_metadata: memory.node_metadata.clone(),
        observed: memory.observed.clone(),
    }
}
