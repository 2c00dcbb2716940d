//! The controllers: what each looks at, and what enqueues an object.

use std::sync::Arc;

use futures::channel::mpsc;
use futures::stream::{self, Stream, StreamExt as _};
use kube::ResourceExt as _;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, controller};
use remediator_api::PowerCycleRemediation;
use remediator_api::views::{Machine, MachineHealthCheck};
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
use crate::watch::machine_key::machine_name;
use crate::{mhc, readiness};

pub(crate) struct Parts {
    pub(crate) remediator: Arc<Remediator>,
    pub(crate) intakes: Arc<Intakes>,
    pub(crate) health_checker: Arc<MhcController>,
    pub(crate) readiness: Arc<Readiness>,
}

/// Objects of which one controller looks at so many at once. After a start it is told of all, and each that waits for an
/// answer takes memory. Remediations have no such bound: a host must not wait for the BMC of another.
const AT_ONCE: u16 = 32;

fn bounded() -> controller::Config {
    controller::Config::default().concurrency(AT_ONCE)
}

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
    let in_workload = workload.flat_map({
        let (caches, clusters) = (caches.clone(), context.sources.clusters.workload.clone());
        move |change| stream::iter(of_workload(&caches, &clusters, &change))
    });
    let on_nodes = caches.nodes.subscribe_to_changes().flat_map({
        let caches = caches.clone();
        move |change| stream::iter(of_node(&caches, &change))
    });
    let on_endpoints = caches.endpoints.subscribe_to_changes().flat_map({
        let caches = caches.clone();
        move |change| stream::iter(of_endpoint(&caches, &change))
    });
    let in_clusters = caches.clusters.subscribe().flat_map({
        let concerned = of_cluster(&caches, &context.sources.clusters.workload);
        move |cluster| stream::iter(concerned(cluster))
    });
    let remediations = Controller::for_shared_stream(
        caches.remediations.subscribe(),
        caches.remediations.for_controller(),
    )
    .watches_shared_stream(caches.remediations.subscribe(), of_other(&caches))
    .watches_shared_stream(caches.openshift.machines.subscribe(), of_machine(&caches))
    .watches_shared_stream(caches.cluster_api.machines.subscribe(), of_machine(&caches))
    .watches_shared_stream(
        caches.openshift.health_checks.subscribe(),
        of_health_check(&caches),
    )
    .watches_shared_stream(
        caches.cluster_api.health_checks.subscribe(),
        of_health_check(&caches),
    )
    .watches_shared_stream(caches.policies.subscribe(), {
        let caches = caches.clone();
        move |_| all_active(&caches)
    })
    .reconcile_on(stream::select(on_nodes, on_endpoints))
    .reconcile_on(stream::select(in_workload, in_clusters))
    .reconcile_all_on(all_again)
    .run(reconcile::reconcile, retry::error_policy, Arc::clone(context));
    run("remediation", remediations, tasks);
}

/// Starts the intake of triggers on the Machines of one API.
fn take_in(
    caches: &Caches,
    (name, stores): (&'static str, MachineStores),
    intakes: &Arc<Intakes>,
    tasks: &mut Loops,
) {
    let triggers =
        Controller::for_shared_stream(stores.machines.subscribe(), stores.machines.for_controller())
            .with_config(bounded())
            .watches_shared_stream(caches.remediations.subscribe(), {
                let caches = caches.clone();
                move |remediation: Arc<Guarded<PowerCycleRemediation>>| {
                    let namespace = remediation.namespace().unwrap_or_default();
                    let readable = remediation.0.as_ref().ok();
                    let machine = readable.and_then(|remediation| machine_name(&caches, remediation));
                    machine.map(|machine| ObjectRef::<Guarded<Machine>>::new(&machine).within(&namespace))
                }
            })
            .watches_shared_stream(stores.health_checks.subscribe(), {
                move |check: Arc<Guarded<MachineHealthCheck>>| {
                    triggered(&stores, check.namespace().as_deref())
                }
            })
            .watches_shared_stream(caches.policies.subscribe(), {
                let intakes = Arc::clone(intakes);
                move |_| intakes.refused()
            })
            .run(
                annotation::reconcile,
                annotation::error_policy,
                Arc::clone(intakes),
            );
    run(name, triggers, tasks);
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
    let beside = endpoints.subscribe_to_changes().flat_map({
        let endpoints = endpoints.clone();
        move |change| stream::iter(neighbours(&endpoints, &change))
    });
    // Whether an address may be used depends on the policy, and whether the host is named twice on the others.
    let all_again = stream::select(all_again, policies.subscribe().map(|_| ()));
    let endpoints = Controller::for_shared_stream(endpoints.subscribe(), endpoints.for_controller())
        .with_config(bounded())
        .reconcile_on(stream::select(one_again, beside))
        .reconcile_all_on(all_again)
        .run(
            acceptance::endpoint,
            acceptance::error_policy,
            Arc::clone(context),
        );
    let checks = readiness::run(Arc::clone(context), readiness::ConditionQueue { one, all });
    tasks.spawn("readiness", checks);
    run("BMCEndpoint", endpoints, tasks);
    let policies_again = policies.subscribe().map(|_| ());
    let policies = Controller::for_shared_stream(policies.subscribe(), policies.for_controller())
        .with_config(bounded())
        .reconcile_all_on(policy_again)
        .run(acceptance::policy, acceptance::error_policy, Arc::clone(context));
    run("RemediationPolicy", policies, tasks);
    // What a remediation may choose depends on the policy.
    let templates = Controller::for_shared_stream(templates.subscribe(), templates.for_controller())
        .with_config(bounded())
        .reconcile_all_on(policies_again)
        .run(
            acceptance::template,
            acceptance::error_policy,
            Arc::clone(context),
        );
    run("PowerCycleRemediationTemplate", templates, tasks);
}

fn sweep(context: &Arc<Remediator>, tasks: &mut Loops) {
    let nodes = &context.sources.caches.nodes;
    let nodes = Controller::for_shared_stream(nodes.subscribe(), nodes.for_controller())
        .with_config(bounded())
        .run(
            leftover_taints::reconcile,
            leftover_taints::error_policy,
            Arc::clone(context),
        );
    run("leftover taint", nodes, tasks);
}

fn run(name: &'static str, controller: impl Stream + Send + 'static, tasks: &mut Loops) {
    tasks.spawn(name, async move {
        controller.for_each(|_| std::future::ready(())).await;
    });
}
