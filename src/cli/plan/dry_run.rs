//! Whether a remediation would begin now: the core is asked as the daemon asks it, with the facts that it would have.

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::admission::Reply;
use remediator_core::decision::{Act, Observation};
use remediator_core::facts::{Facts, Host, Lookup, Obstacle, Origin};
use remediator_core::journal::Journal;
use remediator_core::observed::Reading;
use remediator_core::step::step;

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::cli::plan::decision::Remediation;
use crate::cli::plan::snapshot::PlanSnapshot;
use crate::remediation::facts;
use crate::remediation::memory::Memory;
use crate::snapshot::{node_lease, remediation_history};

/// What comes of a remediation that has just been made.
pub(super) async fn dry_run(
    snapshot: &PlanSnapshot,
    remediation: &PowerCycleRemediation,
    host: Result<ResolvedHost, Obstacle>,
    because: String,
) -> Result<Remediation, ShellError> {
    let sources = &snapshot.sources;
    let namespace = remediation.namespace().unwrap_or_default();
    let machine = remediation.spec.machine_name.as_deref();
    if let Some(unknown) = remediation_history::unreadable_remediation(sources, &namespace, machine) {
        return Ok(unknown.into());
    }
    let nodes = sources.clusters.nodes_of(remediation);
    let known = |memory: &Memory| {
        let now = sources.clock.now();
        // The same admission as the daemon's, on what was listed.
        let asked = host.as_ref().ok();
        let admission = asked.map_or(Reply::NotAsked, |host| {
            snapshot.admitted.known(sources, remediation, host)
        });
        let host = host.clone().map(|resolved| resolved.host);
        let mut facts = facts(sources, remediation, &nodes, memory, (host, admission), now);
        // As if the trigger were there, where it is what asks.
        if let Lookup::Present(machine) = &mut facts.objects.machine {
            machine.state.triggered = facts.origin == Origin::Annotation;
        }
        let decision = step(&Journal::default(), &facts, now);
        (facts, decision)
    };
    let mut memory = Memory::default();
    let (mut facts, mut decision) = known(&memory);
    if decision.act == Some(Act::Observe(Observation::NodeLease))
        && let Lookup::Present(node) = &facts.objects.node
    {
        let began = sources.clock.now();
        match node_lease::look(sources, &nodes, &node.name).await {
            Ok(lease) => memory.observed.note_node_lease(Reading { began, found: lease }),
            Err(unknown) => memory.observed.note_node_lease_failure(began, unknown),
        }
        (facts, decision) = known(&memory);
    }
    if decision.act == Some(Act::Observe(Observation::Power))
        && let Ok(resolved) = &host
        && let Err(forbidden) = snapshot.access.may_reach(resolved).await
    {
        return Ok(forbidden.into());
    }
    let journal = decision.journal;
    Ok(match decision.act {
        Some(Act::Observe(Observation::Power)) => Remediation {
            next: facts.host.as_ref().ok().map(|host| next(&facts, host)),
            ..Remediation::new("Begins", because)
        },
        _ if journal.phase.is_final() || journal.reason.is_empty() => {
            Remediation::new("NotNeeded", journal.message)
        }
        _ => Remediation::new(journal.reason, journal.message),
    })
}

fn next(facts: &Facts, host: &Host) -> String {
    let node = facts.objects.node.present();
    let uuid = match node {
        Some(node) => node.system_uuid.clone(),
        None => host.stated_uuid.as_ref().map(ToString::to_string),
    };
    format!(
        "read power state and identity at {}; power off only if the system UUID is {}",
        host.bmc,
        uuid.as_deref().unwrap_or("that of the Node")
    )
}
