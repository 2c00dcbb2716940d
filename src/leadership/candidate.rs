//! Whether a Lease may be taken, by how long it was seen unchanged.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

/// How long a Lease is that is not renewed.
pub(super) const LEASE: Duration = Duration::from_secs(15);

/// The same in the field of the Lease.
const LEASE_SECONDS: i32 = 15;

/// The longest that a Lease of somebody else is respected for. Nobody who is elected here writes a longer one.
const LONGEST: Duration = Duration::from_mins(10);

/// What a candidate does next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turn {
    /// There is no Lease: makes it, in this term.
    Create(i64),
    /// Takes the Lease, in this term, if its resourceVersion is still this one.
    Take(i64, String),
    /// Somebody holds it; if it stays as it is, it may be taken then.
    Wait(Instant),
}

/// Who wants to lead, and what it has seen of the Lease.
pub(super) struct Candidate {
    identity: String,
    seen: Option<(String, Instant)>,
}

impl Candidate {
    pub(super) fn new(identity: String) -> Self {
        Self { identity, seen: None }
    }

    /// `lease` as it was read, which was begun at `now`. Times in the Lease are of another machine's clock: what counts
    /// is for how long it did not change.
    pub(super) fn turn(&mut self, lease: Option<&Lease>, now: Instant) -> Turn {
        let version = lease.and_then(|lease| lease.metadata.resource_version.clone());
        let version = version.unwrap_or_default();
        let unchanged_since = match &self.seen {
            Some((seen, since)) if *seen == version => *since,
            Some(_) | None => now,
        };
        self.seen = Some((version.clone(), unchanged_since));
        let Some(lease) = lease else {
            // It may have been deleted under somebody who does not know yet.
            let gone_for_long = unchanged_since.checked_add(LEASE).unwrap_or(now);
            return if gone_for_long <= now {
                Turn::Create(1)
            } else {
                Turn::Wait(gone_for_long)
            };
        };
        let spec = lease.spec.as_ref();
        let terms = spec.and_then(|spec| spec.lease_transitions).unwrap_or_default();
        let take = Turn::Take(i64::from(terms.max(0)).saturating_add(1), version);
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
        let is_free = holder.is_none_or(|holder| holder.is_empty() || holder == self.identity);
        let valid_until = unchanged_since.checked_add(length(spec)).unwrap_or(now);
        if is_free || valid_until <= now {
            take
        } else {
            Turn::Wait(valid_until)
        }
    }

    /// The Lease as this candidate holds it in a term.
    pub(super) fn held(&self, epoch: i64, acquired: &MicroTime, renewed: MicroTime) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            acquire_time: Some(acquired.clone()),
            renew_time: Some(renewed),
            lease_transitions: Some(i32::try_from(epoch).unwrap_or(i32::MAX)),
            ..LeaseSpec::default()
        }
    }
}

/// The Lease as who held it gives it away: anybody may take it at once.
pub(super) fn given_away(epoch: i64, now: &MicroTime) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(now.clone()),
        renew_time: Some(now.clone()),
        lease_transitions: Some(i32::try_from(epoch).unwrap_or(i32::MAX)),
        ..LeaseSpec::default()
    }
}

fn length(spec: Option<&LeaseSpec>) -> Duration {
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    let stated = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    stated.map_or(LEASE, Duration::from_secs).min(LONGEST)
}
