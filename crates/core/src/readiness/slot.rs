//! What hosts are known by, and the moment that each has in an interval.

use jiff::{SignedDuration, Timestamp};

use super::schedule::millis;

/// What a host is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey {
    /// The kind of the object.
    pub kind: HostKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The kind of the object that a host is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// A BMCEndpoint.
    Endpoint,
    /// A Machine that refers to a BareMetalHost.
    Machine,
}

impl HostKind {
    /// Its name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint => "BMCEndpoint",
            Self::Machine => "Machine",
        }
    }
}

/// The first moment after `now` that belongs to this host, if each host has one in every interval.
pub fn slot_after(key: &HostKey, interval: SignedDuration, now: Timestamp) -> Timestamp {
    let length = millis(interval).max(1);
    let hash = stable_hash(&[key.kind.as_str(), &key.namespace, &key.name]);
    let offset = i64::try_from(hash >> 1)
        .ok()
        .and_then(|hash| hash.checked_rem_euclid(length));
    let now = now.as_millisecond();
    let into = now.checked_rem_euclid(length).unwrap_or(0);
    let slot = now.saturating_sub(into).saturating_add(offset.unwrap_or(0));
    let slot = if slot <= now {
        slot.saturating_add(length)
    } else {
        slot
    };
    Timestamp::from_millisecond(slot).unwrap_or(Timestamp::MAX)
}

/// A hash that is the same in every process and version: FNV-1a with 64 bits, then mixed, because its upper
/// bits alone are uneven for texts that differ in their last letter.
/// Source: Fowler, Noll, Vo, draft-eastlake-fnv; the mixing is the finalizer of MurmurHash3.
pub fn stable_hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        // No text contains this byte, so no two lists of parts run together.
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}
