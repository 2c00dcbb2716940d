//! Runs the health checker: decides whether it is active, and drives the passes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc as stream;
use kube::ResourceExt as _;
use remediator_api::views::MachineHealthCheck;
use remediator_core::checker::evaluator::Asks;
use remediator_core::machine_api::MachineApi;
use tokio::sync::mpsc;

use crate::mhc::activation::watch_activation;
use crate::mhc::pass::{Passes, forget_numbers};
use crate::mhc::state::{CheckKey, MhcController};
use crate::mhc::{check_inputs, pass, unserved};
use crate::report::Loops;
use crate::watch::caches;
use crate::watch::caches::{Guarded, MachineStores};
use crate::watch::change_events::{ChangeSender, MhcChange};
use crate::watch::indexed_store::ObjectKey;
use crate::watch::indexes::MachineIndex;
use crate::watch::work_queue::WorkQueue;

/// Changes within this time are looked at together: when much changes at once, each pass sees more of it.
const TOGETHER: Duration = Duration::from_millis(100);

/// Starts it in `tasks`. `mode_changed` is told when there is something else to say on the policy.
pub(crate) fn run(
    context: &Arc<MhcController>,
    (sender, changes): (ChangeSender, mpsc::UnboundedReceiver<MhcChange>),
    mode_changed: stream::UnboundedSender<()>,
    tasks: &mut Loops,
) {
    let dues = MachineApi::ALL.map(|api| (api, passes(context, api, tasks)));
    let changes = handle_changes(Arc::clone(context), changes, dues);
    tasks.spawn("health checker's event loop", changes);
    let activation = watch_activation(Arc::clone(context), sender, mode_changed);
    tasks.spawn("health checker's activation", activation);
}

/// What takes the checks of one API that are to be looked at.
type Due = stream::UnboundedSender<ObjectKey>;

fn passes(context: &Arc<MhcController>, api: MachineApi, tasks: &mut Loops) -> Due {
    let (due, dues) = stream::unbounded();
    let passes = Passes {
        context: Arc::clone(context),
        api,
    };
    // Checks are enqueued by `change_events` alone: the cache's own changes would enqueue them for each status.
    let checks = &context.sources.caches.of(api).health_checks;
    let queue = WorkQueue::of(checks).on(dues.map(|check| vec![check]));
    tasks.spawn(
        "health checker",
        queue.run(pass::reconcile, pass::error_policy, Arc::new(passes)),
    );
    due
}

/// Enqueues the health checks that a change concerns.
async fn handle_changes(
    context: Arc<MhcController>,
    mut changes: mpsc::UnboundedReceiver<MhcChange>,
    dues: [(MachineApi, Due); 2],
) {
    let caches = &context.sources.caches;
    let (mut asking, mut looked_at) = (Default::default(), None);
    while let Some(first) = changes.recv().await {
        tokio::time::sleep(TOGETHER).await;
        let more = std::iter::from_fn(|| changes.try_recv().ok());
        let batch: BTreeSet<MhcChange> = std::iter::once(first).chain(more).collect();
        forget(&context);
        // What follows from all checks is looked at when one of them has changed.
        let now = Some(MachineApi::ALL.map(|api| caches.of(api).health_checks.revision()));
        if looked_at != now {
            looked_at = now;
            let asked = MachineApi::ALL.map(|api| Asks::ALL.map(|asks| unserved::asking(caches, api, asks)));
            if asked != asking {
                asking = asked;
                context.checker.decide_activation();
            }
        }
        // Of Machines that may not be seen nothing is judged; once they may, they wake their checks.
        for (api, due) in dues.iter().filter(|(api, _)| !caches.hides(*api)) {
            for check in concerned(caches.of(*api), &batch) {
                if due.unbounded_send(check).is_err() {
                    return;
                }
            }
        }
    }
}

/// Forgets the checks that are gone or ask for something else by now.
fn forget(context: &MhcController) {
    let is_wanted = |key: &CheckKey| {
        let checks = &context.sources.caches.of(key.api).health_checks;
        caches::find(checks, Some(&key.namespace), &key.name)
            .is_some_and(|check| check_inputs::has_events(&check))
    };
    for key in context.checker.retain(is_wanted) {
        forget_numbers(context, &key);
    }
}

pub(crate) fn concerned(stores: &MachineStores, changed: &BTreeSet<MhcChange>) -> Vec<ObjectKey> {
    let checks = &stores.health_checks;
    let references = |checks: &[Arc<Guarded<MachineHealthCheck>>]| {
        let concerned = checks.iter().filter(|check| check_inputs::has_events(check));
        let references = concerned.map(|check| ObjectKey::of(check.as_ref()));
        references.collect()
    };
    let (mut namespaces, mut nodes) = (BTreeSet::new(), Vec::new());
    for one in changed {
        match one {
            MhcChange::All => return references(&checks.all()),
            MhcChange::Namespace(name) => drop(namespaces.insert(name.clone())),
            MhcChange::Node(name) => nodes.push(MachineIndex::Node(name.clone())),
        }
    }
    let of_nodes = stores.machines.by_any(nodes);
    namespaces.extend(of_nodes.iter().filter_map(|machine| machine.namespace()));
    let in_namespace = |namespace: &String| checks.in_namespace(Some(namespace));
    let in_question: Vec<_> = namespaces.iter().flat_map(in_namespace).collect();
    references(&in_question)
}
