//! Runs the health checker: looks whether it stands in, and drives the passes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::channel::mpsc as stream;
use kube::ResourceExt as _;
use kube::runtime::Controller;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::state::Stance;
use super::wake::{Waker, Woke};
use super::{judged, pass, platform, unserved};
use crate::api::remediation_policy::{HealthChecker, POLICY_NAME};
use crate::api::views::MachineHealthCheck;
use crate::controller::caches::{self, Caches, Guarded};
use crate::controller::{Context, gather};
use crate::core::checker::platform::{Platform, Sighting, platform};
use crate::core::checker::standing::{Wanted, standing};
use crate::core::facts::Seen;

/// How often the Lease of the platform's controller is read while it decides something.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is read otherwise, and what hardly ever changes: the FeatureGate, NodeHealthChecks.
const LOOK_SELDOM: Duration = Duration::from_mins(1);
/// Changes within this time are looked at together: when much changes at once, each pass sees more of it.
const TOGETHER: Duration = Duration::from_millis(100);

/// Starts it in `tasks`. `changed` is told when there is something else to say on the policy.
pub(crate) fn run(
    context: &Arc<Context>,
    (waker, woken): (Waker, mpsc::UnboundedReceiver<Woke>),
    changed: stream::UnboundedSender<()>,
    tasks: &mut JoinSet<&'static str>,
) {
    let (due, dues) = stream::unbounded();
    // Whatever wakes it is heard from the watches; the cache's own stream would wake it for each status.
    let silence = futures::stream::pending::<Arc<Guarded<MachineHealthCheck>>>();
    let passes = Controller::for_shared_stream(silence, context.caches.openshift.health_checks.clone())
        .reconcile_on(dues)
        .run(pass::reconcile, pass::error_policy, Arc::clone(context));
    tasks.spawn(async move {
        passes.for_each(|_| std::future::ready(())).await;
        "health checker"
    });
    tasks.spawn(hear(Arc::clone(context), woken, due));
    tasks.spawn(look(Arc::clone(context), waker, changed));
}

/// Hears what has changed, and has the health checks looked at that it concerns.
async fn hear(
    context: Arc<Context>,
    mut woken: mpsc::UnboundedReceiver<Woke>,
    due: stream::UnboundedSender<ObjectRef<Guarded<MachineHealthCheck>>>,
) -> &'static str {
    let mut asking = BTreeSet::new();
    while let Some(first) = woken.recv().await {
        tokio::time::sleep(TOGETHER).await;
        let more = std::iter::from_fn(|| woken.try_recv().ok());
        let woken: BTreeSet<Woke> = std::iter::once(first).chain(more).collect();
        forget(&context);
        let before = std::mem::replace(&mut asking, unserved::asking(&context.caches));
        if before != asking {
            context.checker.look();
        }
        for check in concerned(&context.caches, &woken) {
            if due.unbounded_send(check).is_err() {
                return "health checker's ears";
            }
        }
    }
    "health checker's ears"
}

/// Forgets the checks that are gone or ask for something else by now.
fn forget(context: &Context) {
    let is_wanted = |(namespace, name): &(String, String)| {
        let found = caches::find(&context.caches.openshift.health_checks, Some(namespace), name);
        found.is_some_and(|check| judged::asking(&check).is_some())
    };
    for key in context.checker.retain(is_wanted) {
        context.reporter.check_gone(&key);
    }
}

/// The health checks that a change concerns.
fn concerned(caches: &Caches, woken: &BTreeSet<Woke>) -> Vec<ObjectRef<Guarded<MachineHealthCheck>>> {
    let all = woken.contains(&Woke::All);
    let mut namespaces = BTreeSet::new();
    let mut nodes = BTreeSet::new();
    for one in woken {
        match one {
            Woke::Namespace(name) => drop(namespaces.insert(name.clone())),
            Woke::Node(name) => drop(nodes.insert(name.as_str())),
            Woke::All => {}
        }
    }
    if !all && !nodes.is_empty() {
        let of_nodes = caches.openshift.machines.state_filter(|machine| {
            let node = machine.0.as_ref().ok().and_then(|machine| machine.node_name());
            node.is_some_and(|node| nodes.contains(node))
        });
        namespaces.extend(of_nodes.iter().filter_map(|machine| machine.namespace()));
    }
    let concerned = caches.openshift.health_checks.state_filter(|check| {
        let namespace = check.namespace().unwrap_or_default();
        (all || namespaces.contains(&namespace)) && judged::asking(check).is_some()
    });
    let references = concerned.iter().map(|check| ObjectRef::from_obj(check.as_ref()));
    references.collect()
}

/// Looks, for ever, whether the platform's controller runs and who evaluates what.
async fn look(context: Arc<Context>, waker: Waker, changed: stream::UnboundedSender<()>) -> &'static str {
    let mut seen = Sighting::default();
    let mut jumps = context.clock.jumps();
    let (mut seldom, mut switched_off, mut disabled) = (None::<Instant>, false, BTreeSet::new());
    loop {
        let read = platform::lease(&context.client).await;
        let now = context.clock.now();
        if context.clock.jumps() != jumps {
            jumps = context.clock.jumps();
            seen = seen.counted_from(now);
        }
        seen = seen.after(read, now);
        if seldom.is_none_or(|last| last.elapsed() >= LOOK_SELDOM) {
            seldom = Some(Instant::now());
            switched_off = platform::is_switched_off(&context.client).await;
            disabled = unserved::disabled(&context.client).await.unwrap_or(disabled);
        }
        let platform = platform(&seen, switched_off, context.clock.now());
        let stance = stance(&context, &platform, &disabled);
        if let Some(before) = context.checker.take(&stance) {
            report(&context, &before, &stance);
            if waker.send(Woke::All).is_err() || changed.unbounded_send(()).is_err() {
                return "health checker's look-out";
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause(&context)) => {}
            () = context.checker.bell.notified() => {}
        }
    }
}

/// Until the next look, if nobody asks for one before.
fn pause(context: &Context) -> Duration {
    let decides = wanted(context) == Seen::Present(Wanted::Auto);
    if decides && !unserved::asking(&context.caches).is_empty() {
        LOOK
    } else {
        LOOK_SELDOM
    }
}

/// What the administrator wants.
fn wanted(context: &Context) -> Seen<Wanted> {
    let policy = caches::find(&context.caches.policies, None, POLICY_NAME);
    let policy = gather::seen(policy.as_deref(), "RemediationPolicy", POLICY_NAME);
    policy.map(|policy| match policy.spec.health_checker {
        HealthChecker::Auto => Wanted::Auto,
        HealthChecker::Always => Wanted::Always,
        HealthChecker::Never => Wanted::Never,
    })
}

fn stance(context: &Context, platform: &Platform, disabled: &BTreeSet<String>) -> Stance {
    let standing = standing(&wanted(context), platform);
    let asking = unserved::asking(&context.caches);
    let is_unknown = matches!(platform, Platform::Unknown(_)) && !standing.is_in();
    Stance {
        unserved: unserved::Unserved {
            unknown: is_unknown && !asking.is_empty(),
            machine_checks: if standing.leaves_checks_unserved(platform) {
                asking
            } else {
                BTreeSet::new()
            },
            node_checks: disabled.clone(),
        },
        standing,
    }
}

fn report(context: &Arc<Context>, before: &Stance, after: &Stance) {
    if before.standing != after.standing {
        context.reporter.health_checker_stands(&after.standing);
        if !after.standing.is_in() {
            // The numbers are those of whoever evaluates.
            for key in context.checker.retain(|_| false) {
                context.reporter.check_gone(&key);
            }
        }
    }
    let (machine_checks, node_checks) = (&after.unserved.machine_checks, &after.unserved.node_checks);
    context.reporter.unserved(machine_checks.len(), node_checks.len());
    let (context, before, after) = (
        Arc::clone(context),
        before.unserved.clone(),
        after.unserved.clone(),
    );
    // There may be many, and whether the platform's controller has come back is looked at meanwhile.
    tokio::spawn(async move { unserved::tell(&context, &before, &after).await });
}
