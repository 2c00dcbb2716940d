//! The controllers: what each looks at, and what wakes it.

use std::sync::Arc;

use futures::channel::mpsc;
use futures::stream::{self, BoxStream, StreamExt as _};
use kube::ResourceExt as _;
use kube::runtime::Controller;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::caches::{Caches, Changes, Guarded};
use super::concerned::{active, of_cluster, of_machine, of_namespace, of_node, of_workload, triggered};
use super::context::Context;
use super::machine_key::machine_name;
use super::machine_stores::MachineStores;
use super::shared_cache::Changed;
use super::workload::Change;
use super::{acceptance, leftover, readiness, reconcile};
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, RemediationPolicy};
use crate::intake::annotation::{self, Intakes};
use crate::intake::health_check;
use crate::intake::health_check::wake::{Waker, Woke};

/// Starts the controllers of remediations, and of triggers on the Machines of each API; and what sets such
/// triggers.
pub(super) fn drive(
    context: &Arc<Context>,
    changes: Changes,
    workload: mpsc::UnboundedReceiver<Change>,
    wakes: (Waker, UnboundedReceiver<Woke>),
    tasks: &mut JoinSet<&'static str>,
) {
    sweep(context, changes.returning, tasks);
    let (stance_taken, policy_again) = mpsc::unbounded();
    health_check::run(context, wakes, stance_taken, tasks);
    judge(
        context,
        Judged {
            endpoints: changes.new_endpoints,
            policies: changes.new_policies,
            templates: changes.templates,
            policy_again: stream::select(policy_again, context.caches.refusals.changes()).boxed(),
        },
        tasks,
    );
    let caches = context.caches.clone();
    let in_workload = workload.flat_map({
        let caches = caches.clone();
        move |change| stream::iter(of_workload(&caches, &change))
    });
    let in_clusters = changes.clusters.flat_map({
        let concerned = of_cluster(&caches);
        move |cluster| stream::iter(concerned(cluster))
    });
    let remediations = Controller::for_shared_stream(changes.remediations, caches.remediations.clone())
        .watches_shared_stream(changes.openshift.machines, of_machine(&caches))
        .watches_shared_stream(changes.cluster_api.machines, of_machine(&caches))
        .watches_shared_stream(changes.nodes, of_node(&caches))
        .watches_shared_stream(
            changes.openshift.health_checks,
            of_namespace::<MachineHealthCheck>(&caches),
        )
        .watches_shared_stream(
            changes.cluster_api.health_checks,
            of_namespace::<MachineHealthCheck>(&caches),
        )
        .watches_shared_stream(changes.endpoints, of_namespace::<BMCEndpoint>(&caches))
        .watches_shared_stream(changes.policies, {
            let caches = caches.clone();
            move |_| active(&caches, |_| true)
        })
        .reconcile_on(stream::select(in_workload, in_clusters))
        .run(reconcile::reconcile, reconcile::error_policy, Arc::clone(context));
    tasks.spawn(async move {
        remediations.for_each(|_| std::future::ready(())).await;
        "remediation"
    });
    let intakes = Arc::new(Intakes::new(Arc::clone(context)));
    for (stores, triggers, vouching, finished) in [
        (
            caches.openshift.clone(),
            changes.openshift.triggers,
            changes.openshift.vouching,
            changes.openshift.finished,
        ),
        (
            caches.cluster_api.clone(),
            changes.cluster_api.triggers,
            changes.cluster_api.vouching,
            changes.cluster_api.finished,
        ),
    ] {
        take_in(&caches, stores, (triggers, vouching, finished), &intakes, tasks);
    }
}

/// Changes that the intake of one API's Machines looks at.
type IntakeChanges = (
    Changed<Machine>,
    Changed<MachineHealthCheck>,
    Changed<PowerCycleRemediation>,
);

/// Starts the intake of triggers on the Machines of one API.
fn take_in(
    caches: &Caches,
    stores: MachineStores,
    (triggers, vouching, finished): IntakeChanges,
    intakes: &Arc<Intakes>,
    tasks: &mut JoinSet<&'static str>,
) {
    let caches = caches.clone();
    let triggers = Controller::for_shared_stream(triggers, stores.machines.clone())
        .watches_shared_stream(finished, {
            move |remediation: Arc<Guarded<PowerCycleRemediation>>| {
                let namespace = remediation.namespace().unwrap_or_default();
                let readable = remediation.0.as_ref().ok();
                let machine = readable.and_then(|remediation| machine_name(&caches, remediation));
                machine.map(|machine| ObjectRef::<Guarded<Machine>>::new(&machine).within(&namespace))
            }
        })
        .watches_shared_stream(vouching, {
            move |check: Arc<Guarded<MachineHealthCheck>>| triggered(&stores, check.namespace().as_deref())
        })
        .run(
            annotation::reconcile,
            annotation::error_policy,
            Arc::clone(intakes),
        );
    tasks.spawn(async move {
        triggers.for_each(|_| std::future::ready(())).await;
        "intake"
    });
}

/// Starts those that say whether endpoints, templates and the policy can be used, and whether BMCs are ready.
fn judge(context: &Arc<Context>, changes: Judged, tasks: &mut JoinSet<&'static str>) {
    let (endpoints, policies) = (context.caches.endpoints.clone(), context.caches.policies.clone());
    let (one, one_again) = mpsc::unbounded();
    let (all, all_again) = mpsc::unbounded();
    let endpoints = Controller::for_shared_stream(changes.endpoints, endpoints)
        .reconcile_on(one_again)
        .reconcile_all_on(all_again)
        .run(
            acceptance::endpoint,
            acceptance::error_policy,
            Arc::clone(context),
        );
    let checks = readiness::run(Arc::clone(context), readiness::Tell { one, all });
    tasks.spawn(async move {
        checks.await;
        "readiness"
    });
    tasks.spawn(async move {
        endpoints.for_each(|_| std::future::ready(())).await;
        "BMCEndpoint"
    });
    let policies = Controller::for_shared_stream(changes.policies, policies)
        .reconcile_all_on(changes.policy_again)
        .run(acceptance::policy, acceptance::error_policy, Arc::clone(context));
    tasks.spawn(async move {
        policies.for_each(|_| std::future::ready(())).await;
        "RemediationPolicy"
    });
    let templates = Controller::for_shared_stream(changes.templates, context.caches.templates.clone()).run(
        acceptance::template,
        acceptance::error_policy,
        Arc::clone(context),
    );
    tasks.spawn(async move {
        templates.for_each(|_| std::future::ready(())).await;
        "PowerCycleRemediationTemplate"
    });
}

/// Changes of what is judged before it is needed.
struct Judged {
    endpoints: Changed<BMCEndpoint>,
    policies: Changed<RemediationPolicy>,
    templates: Changed<PowerCycleRemediationTemplate>,
    /// There is something else to say on the policy.
    policy_again: BoxStream<'static, ()>,
}

/// Starts the one that removes leftover taints.
fn sweep(context: &Arc<Context>, returning: Changed<Node>, tasks: &mut JoinSet<&'static str>) {
    let nodes = Controller::for_shared_stream(returning, context.caches.nodes.clone()).run(
        leftover::reconcile,
        leftover::error_policy,
        Arc::clone(context),
    );
    tasks.spawn(async move {
        nodes.for_each(|_| std::future::ready(())).await;
        "leftover taint"
    });
}
