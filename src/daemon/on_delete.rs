//! What is forgotten when an object is gone: a controller is not called for one that its cache has no more.

use std::sync::Arc;

use futures::StreamExt as _;
use kube::ResourceExt as _;
use remediator_api::views::Machine;
use remediator_api::{PowerCycleRemediation, RemediationPolicy};
use remediator_core::facts::Obstacle;
use remediator_core::journal::Journal;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;
use tokio::task::JoinSet;

use crate::mhc::Checker;
use crate::remediation::{Remediator, externally_remediated, left_off, reconcile};
use crate::report::Loops;
use crate::requests::annotation::Intakes;
use crate::watch::caches;
use crate::watch::caches::Caches;
use crate::watch::indexed_store::Changed;

pub(crate) fn forget(
    context: &Arc<Remediator>,
    checker: &Arc<Checker>,
    intakes: &Arc<Intakes>,
    tasks: &mut Loops,
) {
    let caches = &context.sources.caches;
    let changed = caches.remediations.subscribe();
    tasks.spawn(
        "memory of remediations",
        remediations(Arc::clone(context), changed),
    );
    let changed = caches.policies.subscribe();
    tasks.spawn("policy", policies(caches.clone(), Arc::clone(checker), changed));
    for of_api in [&caches.openshift, &caches.cluster_api] {
        let machines = of_api.machines.subscribe();
        tasks.spawn(
            "what Machines were told",
            of_machines(Arc::clone(intakes), machines),
        );
    }
}

/// The memory of a remediation, with its line to the BMC. Ours go when their finalizer does; this is for what
/// others took away, or kept for a while.
async fn remediations(context: Arc<Remediator>, mut changed: Changed<PowerCycleRemediation>) {
    // They end with this task: nobody begins a conversation with a BMC when the process ends them all.
    let mut left_off = JoinSet::new();
    loop {
        let one = tokio::select! {
            one = changed.next() => one,
            Some(_) = left_off.join_next() => continue,
        };
        let Some(one) = one else {
            return;
        };
        let there = caches::find(
            &context.sources.caches.remediations,
            one.namespace().as_deref(),
            &one.name_any(),
        );
        if there.is_some_and(|there| there.uid() == one.uid()) {
            continue;
        }
        if let Ok(remediation) = &one.0 {
            let now = context.sources.clock.now();
            context.admitted.note_gone(remediation, now);
            left_off.spawn(left_off::bring_back(Arc::clone(&context), remediation.clone()));
            tell_of_what_stands(&context, remediation).await;
            // Nobody's event waits for this.
            let (context, remediation) = (Arc::clone(&context), remediation.clone());
            tokio::spawn(async move { externally_remediated::take_back(&context, &remediation).await });
        } else if let Some(memory) = context.memories.known(&one.uid().unwrap_or_default()) {
            let uid = one.uid().unwrap_or_default();
            reconcile::forget(&context, &uid, &mut *memory.lock().await).await;
        }
    }
}

/// Says that a host may be off of which nobody takes care any more: somebody removed our finalizer.
async fn tell_of_what_stands(context: &Remediator, remediation: &PowerCycleRemediation) {
    // One that failed has said so itself.
    let is_untold = |journal: &&Journal| !journal.phase.is_final() && journal.may_have_left_off();
    let Some(journal) = remediation.journal().filter(is_untold) else {
        return;
    };
    let host = journal
        .subject
        .as_ref()
        .map_or_else(String::new, |subject| subject.host.to_string());
    let detail = format!(
        "PowerCycleRemediation {} was removed in phase {} although its finalizer was to keep it; {host} may be off",
        remediation.name_any(),
        journal.phase.as_str()
    );
    let obstacle = Obstacle::new(Reason::RemediationVanished, detail);
    context.reporter.warn_of(remediation, &obstacle).await;
}

/// Whether the health checker is active depends on the policy.
async fn policies(caches: Caches, checker: Arc<Checker>, mut changed: Changed<RemediationPolicy>) {
    while let Some(one) = changed.next().await {
        if caches::find(&caches.policies, None, &one.name_any()).is_none() {
            checker.decide_activation();
        }
    }
}

/// What people were told of a Machine.
async fn of_machines(intakes: Arc<Intakes>, mut changed: Changed<Machine>) {
    while let Some(one) = changed.next().await {
        let (namespace, name) = (one.namespace(), one.name_any());
        let is_there = |api: MachineApi| {
            let machines = &intakes.sources.caches.of(api).machines;
            let there = caches::find(machines, namespace.as_deref(), &name);
            there.is_some_and(|there| there.uid() == one.uid())
        };
        if !MachineApi::ALL.into_iter().any(is_there) {
            intakes.forget(&namespace.unwrap_or_default(), &name);
        }
    }
}
