//! The queues of objects to look at: what looks at them, and what enqueues one.

use std::sync::Arc;

use futures::channel::mpsc;
use futures::stream::{self, Stream, StreamExt as _};
use kube::ResourceExt as _;
use remediator_api::keys;
use remediator_api::views::Node;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::clusters::workload::Change;
use crate::daemon::event_mapping::{
    all_active, neighbours, of_cluster, of_endpoint, of_health_check, of_machine, of_node, of_other,
    of_workload, triggered,
};
use crate::daemon::on_delete;
use crate::mhc::MhcController;
use crate::readiness::{Readiness, acceptance};
use crate::remediation::{Remediator, leftover_taints, reconcile, retry};
use crate::report::Loops;
use crate::requests::annotation;
use crate::requests::annotation::Intakes;
use crate::watch::caches::{Caches, Guarded, MachineStores};
use crate::watch::change_events::{ChangeSender, MhcChange};
use crate::watch::indexed_store::ObjectKey;
use crate::watch::machine_key::machine_name;
use crate::watch::work_queue::WorkQueue;
use crate::{mhc, readiness};

pub(crate) struct Parts {
    pub(crate) remediator: Arc<Remediator>,
    pub(crate) intakes: Arc<Intakes>,
    pub(crate) health_checker: Arc<MhcController>,
    pub(crate) readiness: Arc<Readiness>,
}

/// So many objects of a kind are looked at at once. Remediations have no such bound: a host must not wait for the BMC of
/// another.
const AT_ONCE: usize = 32;

/// Starts the controllers of triggers on the Machines of each API, what sets such triggers, and what looks after all
/// else.
pub(crate) fn drive(
    parts: &Parts,
    health_checker_changes: (ChangeSender, UnboundedReceiver<MhcChange>),
    tasks: &mut Loops,
) {
    let (context, intakes) = (&parts.remediator, &parts.intakes);
    let caches = &context.sources.caches;
    sweep(context, tasks);
    let (mode_changed, policy_again) = mpsc::unbounded();
    mhc::run(&parts.health_checker, health_checker_changes, mode_changed, tasks);
    let policy_again = stream::select(policy_again, caches.denied.changes());
    judge(&parts.readiness, policy_again, tasks);
    for (name, stores) in [
        ("intake of OpenShift's triggers", &caches.openshift),
        ("intake of Cluster API's triggers", &caches.cluster_api),
    ] {
        take_in(caches, (name, stores.clone()), intakes, tasks);
    }
}

/// Starts the controller of remediations, once they are listed. Until everything else is, too, it brings hosts back that
/// may be off, and begins nothing; `all_again` tells that it is.
pub(crate) fn drive_remediations(
    parts: &Parts,
    workload: mpsc::UnboundedReceiver<Change>,
    all_again: mpsc::UnboundedReceiver<()>,
    tasks: &mut Loops,
) {
    let context = &parts.remediator;
    let caches = context.sources.caches.clone();
    on_delete::forget(context, &parts.health_checker.checker, &parts.intakes, tasks);
    let in_workload = {
        let (caches, clusters) = (caches.clone(), context.sources.clusters.workload.clone());
        workload.map(move |change| of_workload(&caches, &clusters, &change))
    };
    let on_nodes = {
        let caches = caches.clone();
        let changes = caches.nodes.subscribe_to_changes();
        changes.map(move |change| of_node(&caches, &change))
    };
    let on_endpoints = {
        let caches = caches.clone();
        let changes = caches.endpoints.subscribe_to_changes();
        changes.map(move |change| of_endpoint(&caches, &change))
    };
    let on_policies = {
        let caches = caches.clone();
        let changes = caches.policies.subscribe();
        changes.map(move |_| all_active(&caches))
    };
    let clusters = caches.clusters.subscribe();
    let mut queue = WorkQueue::of(&caches.remediations)
        .on_change(|_| true)
        .on(caches.remediations.subscribe().map(of_other(&caches)))
        .on(on_nodes)
        .on(on_endpoints)
        .on(on_policies)
        .on(in_workload)
        .on(clusters.map(of_cluster(&caches, &context.sources.clusters.workload)))
        .on_all(all_again);
    for of_api in [&caches.openshift, &caches.cluster_api] {
        queue = queue
            .on(of_api.machines.subscribe().map(of_machine(&caches)))
            .on(of_api.health_checks.subscribe().map(of_health_check(&caches)));
    }
    tasks.spawn(
        "remediation",
        queue.run(reconcile::reconcile, retry::error_policy, Arc::clone(context)),
    );
}

/// Starts the intake of triggers on the Machines of one API.
fn take_in(
    caches: &Caches,
    (name, stores): (&'static str, MachineStores),
    intakes: &Arc<Intakes>,
    tasks: &mut Loops,
) {
    let of_remediations = {
        let caches = caches.clone();
        caches.remediations.subscribe().map(move |remediation| {
            let readable = remediation.0.as_ref().ok();
            let machine = readable.and_then(|remediation| machine_name(&caches, remediation));
            let key = machine.map(|machine| ObjectKey::new(remediation.namespace().as_deref(), &machine));
            key.into_iter().collect()
        })
    };
    let of_policies = {
        let intakes = Arc::clone(intakes);
        caches.policies.subscribe().map(move |_| intakes.refused())
    };
    let machines = stores.machines.clone();
    let health_checks = stores.health_checks.subscribe();
    let queue = WorkQueue::of(&machines)
        .at_once(AT_ONCE)
        .on_change(|_| true)
        .on(of_remediations)
        .on(health_checks.map(move |check| triggered(&stores, check.namespace().as_deref())))
        .on(of_policies);
    tasks.spawn(
        name,
        queue.run(
            annotation::reconcile,
            annotation::error_policy,
            Arc::clone(intakes),
        ),
    );
}

/// Starts those that say whether endpoints, templates and the policy can be used, and whether BMCs are ready.
/// `policy_again`: there is something else to say on the policy.
fn judge(context: &Arc<Readiness>, policy_again: impl Stream<Item = ()> + Send + 'static, tasks: &mut Loops) {
    let Caches {
        endpoints,
        policies,
        templates,
        ..
    } = &context.sources.caches;
    let (one, one_again) = mpsc::unbounded();
    let (all, all_again) = mpsc::unbounded();
    let beside = {
        let endpoints = endpoints.clone();
        let changes = endpoints.subscribe_to_changes();
        changes.map(move |change| neighbours(&endpoints, &change))
    };
    // Whether an address may be used depends on the policy, and whether the host is named twice on the others.
    let queue = WorkQueue::of(endpoints)
        .at_once(AT_ONCE)
        .on_change(|_| true)
        .on(one_again.map(|endpoint| vec![endpoint]))
        .on(beside)
        .on_all(stream::select(all_again, policies.subscribe().map(drop)));
    tasks.spawn(
        "BMCEndpoint",
        queue.run(
            acceptance::endpoint,
            acceptance::error_policy,
            Arc::clone(context),
        ),
    );
    let checks = readiness::run(Arc::clone(context), readiness::ConditionQueue { one, all });
    tasks.spawn("readiness", checks);
    let queue = WorkQueue::of(policies).on_change(|_| true).on_all(policy_again);
    tasks.spawn(
        "RemediationPolicy",
        queue.run(acceptance::policy, acceptance::error_policy, Arc::clone(context)),
    );
    // What a remediation may choose depends on the policy.
    let queue = WorkQueue::of(templates)
        .at_once(AT_ONCE)
        .on_change(|_| true)
        .on_all(policies.subscribe().map(drop));
    tasks.spawn(
        "PowerCycleRemediationTemplate",
        queue.run(
            acceptance::template,
            acceptance::error_policy,
            Arc::clone(context),
        ),
    );
}

fn sweep(context: &Arc<Remediator>, tasks: &mut Loops) {
    let nodes = &context.sources.caches.nodes;
    let is_tainted = |node: &Guarded<Node>| node.annotations().contains_key(keys::TAINTED_BY_ANNOTATION);
    let queue = WorkQueue::of(nodes).at_once(AT_ONCE).on_change(is_tainted);
    tasks.spawn(
        "leftover taint",
        queue.run(
            leftover_taints::reconcile,
            leftover_taints::error_policy,
            Arc::clone(context),
        ),
    );
}
