//! Which BMCs are ready, and why the others are not.

use kube::ResourceExt as _;
use remediator_api::BMCEndpoint;
use remediator_core::readiness::schedule::HostKind;
use serde::Serialize;

use crate::readiness::Findings;
use crate::report::conditions::READY;
use crate::status_page::document::texts::{Why, first};
use crate::watch::caches::{Caches, readable};

/// As many are shown that are not ready.
const MOST: usize = 100;

/// The BMCs, by what the last check of each has found.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bmcs {
    pub(crate) ready: usize,
    /// Those that were not checked yet, or are not to be.
    pub(crate) unchecked: usize,
    pub(crate) not_ready: Vec<NotReady>,
    pub(crate) not_ready_left_out: usize,
}

/// A host whose BMC is not ready.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct NotReady {
    pub(crate) namespace: String,
    /// `kind/name` of what the host is known by.
    pub(crate) host: String,
    #[serde(flatten)]
    pub(crate) why: Why,
}

/// What the last check of one has found.
enum Found {
    Ready,
    NotReady(NotReady),
    /// It was not checked yet, or is not to be.
    Unchecked,
}

/// Endpoints say it themselves, also what an earlier process has found. What is found of the host of a Machine only the
/// process knows that has asked.
pub(super) fn of(caches: &Caches, findings: &Findings) -> Bmcs {
    let endpoints = caches.endpoints.all();
    let of_endpoints = readable(&endpoints).map(of_endpoint);
    let of_machines = findings.of_machines();
    let of_machines = of_machines.iter().map(|(host, verdict)| match verdict {
        Ok(_) => Found::Ready,
        Err(obstacle) => Found::NotReady(NotReady {
            namespace: host.namespace.clone(),
            host: format!("{}/{}", host.kind.as_str(), host.name),
            why: Why::of(obstacle.reason.as_str(), &obstacle.detail),
        }),
    });
    let (mut bmcs, mut not_ready) = (Bmcs::default(), Vec::new());
    for found in of_endpoints.chain(of_machines) {
        match found {
            Found::Ready => bmcs.ready = bmcs.ready.saturating_add(1),
            Found::Unchecked => bmcs.unchecked = bmcs.unchecked.saturating_add(1),
            Found::NotReady(one) => not_ready.push(one),
        }
    }
    not_ready.sort_by(|one, other| (&one.namespace, &one.host).cmp(&(&other.namespace, &other.host)));
    (bmcs.not_ready, bmcs.not_ready_left_out) = first(not_ready, MOST);
    bmcs
}

fn of_endpoint(endpoint: &BMCEndpoint) -> Found {
    let mut conditions = endpoint.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.find(|condition| condition.type_ == READY);
    match ready.map(|condition| (condition, condition.status.as_str())) {
        Some((_, "True")) => Found::Ready,
        Some((condition, "False")) => Found::NotReady(NotReady {
            namespace: endpoint.namespace().unwrap_or_default(),
            host: format!("{}/{}", HostKind::Endpoint.as_str(), endpoint.name_any()),
            why: Why::of(&condition.reason, &condition.message),
        }),
        Some(_) | None => Found::Unchecked,
    }
}
