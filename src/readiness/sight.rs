//! Which hosts are there to be checked.

use kube::ResourceExt as _;
use remediator_api::{BMCEndpoint, keys};
use remediator_core::readiness::schedule::{First, HostKey, HostKind, Schedule, stable_hash};

use crate::readiness::state::Readiness;
use crate::report::ReadinessState;
use crate::report::conditions::READY;
use crate::snapshot::host;

/// Those that a BMCEndpoint describes. When checks begin, what an earlier process wrote is believed.
pub(super) fn endpoints(context: &Readiness, schedule: &mut Schedule, begins: bool) {
    let now = context.sources.clock.now();
    for guarded in context.sources.caches.endpoints.all() {
        let Ok(endpoint) = &guarded.0 else { continue };
        let key = key_of(HostKind::Endpoint, endpoint);
        let metadata = &endpoint.metadata;
        let generation = metadata.generation.unwrap_or_default().to_string();
        let version = stable_hash(&[metadata.uid.as_deref().unwrap_or_default(), &generation]);
        let mut first = First::Soon;
        if begins {
            let standing = standing(endpoint);
            match &standing {
                Some((ReadinessState::Ready, checked)) if *checked == metadata.generation => {
                    first = First::InTurn;
                    context.reporter.host_stands(&key, true);
                }
                Some((ReadinessState::NotReady(_), _)) => context.reporter.host_stands(&key, false),
                Some(_) | None => {}
            }
        }
        schedule.see(&key, version, first, now);
    }
}

/// Those whose Machine refers to a BareMetalHost.
pub(super) fn machines(context: &Readiness, schedule: &mut Schedule, at_start: bool) {
    let now = context.sources.clock.now();
    let first = if at_start { First::Settling } else { First::Soon };
    for guarded in context.sources.caches.machines() {
        let Ok(machine) = &guarded.0 else { continue };
        // A reference that cannot be read is one, too.
        if matches!(host::reference(machine), Ok(None)) {
            continue;
        }
        let key = key_of(HostKind::Machine, machine);
        let annotation = machine.annotations().get(keys::BARE_METAL_HOST_ANNOTATION);
        let version = stable_hash(&[
            machine.metadata.uid.as_deref().unwrap_or_default(),
            machine.spec.provider_id.as_deref().unwrap_or_default(),
            annotation.map(String::as_str).unwrap_or_default(),
            machine.node_name().unwrap_or_default(),
        ]);
        schedule.see(&key, version, first, now);
    }
}

fn key_of<K: kube::Resource>(kind: HostKind, object: &K) -> HostKey {
    HostKey {
        kind,
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
    }
}

/// What the condition of an endpoint says, and of which generation.
pub(super) fn standing(endpoint: &BMCEndpoint) -> Option<(ReadinessState, Option<i64>)> {
    let conditions = &endpoint.status.as_ref()?.conditions;
    let ready = conditions.iter().find(|condition| condition.type_ == READY)?;
    Some((
        ReadinessState::of(&ready.status, &ready.reason),
        ready.observed_generation,
    ))
}
