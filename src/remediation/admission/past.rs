//! Power-offs of the last day: those of remediations that are deleted are kept in the status of the policy, so that they
//! count also after another replica has taken over.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::RemediationPolicy;
use remediator_api::remediation_policy::{MOST_POWER_OFFS, POLICY_NAME, PastPowerOff};
use remediator_core::admission::{Key, Remediation};
use remediator_core::identity::SystemUuid;
use remediator_core::phase::Phase;

use super::held::{DAY, Held, SentPowerOff};
use super::remediations::{index_of, keys_of_begun};
use crate::snapshot::Sources;
use crate::watch::caches::{self, readable};
use crate::watch::indexes::{RemediationIndex, power_offs};

/// Those of remediations that are deleted: what this process has sent, and what the policy says of earlier ones.
pub(super) fn of_deleted(sources: &Sources, held: &Held, now: Timestamp) -> Vec<SentPowerOff> {
    let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
    let policy = policy.as_ref().and_then(|policy| policy.0.as_ref().ok());
    let written = policy.map(written).unwrap_or_default();
    let all = held.sent.iter().cloned().chain(written);
    let is_gone = |sent: &SentPowerOff| {
        let key = RemediationIndex::Uid(sent.uid.clone());
        sent.is_young(now) && sources.caches.remediations.count(&key) == 0
    };
    // One is written a while after it was sent, by both.
    let gone: BTreeMap<_, _> = all
        .filter(is_gone)
        .map(|sent| ((sent.uid.clone(), sent.at.as_second()), sent))
        .collect();
    gone.into_values().collect()
}

fn written(policy: &RemediationPolicy) -> Vec<SentPowerOff> {
    let status = policy.status.as_ref();
    let past = status.map_or(&[][..], |status| &status.power_offs);
    let read = past.iter().map(|past| SentPowerOff {
        cluster: past.cluster.as_deref().and_then(|cluster| {
            let (namespace, name) = cluster.split_once('/')?;
            Some((namespace.to_owned(), name.to_owned()))
        }),
        uid: past.remediation.clone(),
        at: past.at,
        host: past
            .system_uuid
            .as_deref()
            .and_then(|uuid| SystemUuid::parse(uuid).ok())
            .map(|uuid| uuid.in_either_order()),
    });
    read.collect()
}

/// What the status of the policy has to say of them, the newest first.
pub(super) fn to_write(sources: &Sources, held: &Held, now: Timestamp) -> Vec<PastPowerOff> {
    let mut gone = of_deleted(sources, held, now);
    gone.sort_by(|one, other| (other.at, &other.uid).cmp(&(one.at, &one.uid)));
    gone.truncate(MOST_POWER_OFFS);
    let past = gone.into_iter().map(|sent| PastPowerOff {
        remediation: sent.uid,
        at: Timestamp::from_second(sent.at.as_second()).unwrap_or(sent.at),
        cluster: sent
            .cluster
            .map(|(namespace, name)| format!("{namespace}/{name}")),
        system_uuid: sent.host.map(|uuid| uuid.to_string()),
    });
    past.collect()
}

/// When the host of a remediation was powered off, whoever asked for it, but for the attempt that is under way.
pub(super) fn of_host(sources: &Sources, held: &Held, own: &Remediation, now: Timestamp) -> Vec<Timestamp> {
    let hosts = own.keys.iter().filter(|key| match key {
        Key::Host(_) | Key::Bmc(_) => true,
        Key::Node { .. } | Key::Machine { .. } | Key::ControlPlane { .. } => false,
    });
    let hosts: BTreeSet<&Key> = hosts.collect();
    let found = sources
        .caches
        .remediations
        .by_any(hosts.iter().map(|key| index_of(key)));
    let of_same = readable(&found).filter(|one| keys_of_begun(one).iter().any(|key| hosts.contains(key)));
    let there = of_same.flat_map(|one| {
        let is_own = one.uid().as_ref() == Some(&own.uid);
        let journal = one.journal();
        let is_under_way = journal.is_some_and(|journal| journal.phase != Phase::Pending);
        let present = usize::from(is_own && is_under_way);
        journal.into_iter().flat_map(power_offs).skip(present)
    });
    let of_deleted = of_deleted(sources, held, now).into_iter().filter(|sent| {
        let host = sent.host.clone().map(Key::Host);
        host.is_some_and(|host| hosts.contains(&host))
    });
    let all = there.chain(of_deleted.map(|sent| sent.at));
    all.filter(|at| now.duration_since(*at) < DAY).collect()
}
