//! Failed logins by the address they came from.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::lock::{Lock, Policy};

/// Addresses remembered; beyond that the lowest is forgotten, so that many of them cost no memory.
const REMEMBERED: usize = 256;

/// Where failed logins came from.
#[derive(Debug, Default)]
pub(super) struct Peers {
    known: BTreeMap<IpAddr, Lock>,
}

impl Peers {
    /// Takes one try and says whether it gets in. Somebody without an address is nobody that could be blocked.
    pub(super) fn admits(
        &mut self,
        peer: Option<IpAddr>,
        right: bool,
        policy: Policy,
        now: Duration,
    ) -> bool {
        let Some(peer) = peer else {
            return right;
        };
        if self.known.len() >= REMEMBERED && !self.known.contains_key(&peer) {
            self.known.pop_first();
        }
        let lock = self.known.entry(peer).or_default();
        let admitted = lock.admits(right, policy, now);
        if admitted {
            self.known.remove(&peer);
        }
        admitted
    }

    /// Whether nothing from there is answered now.
    pub(super) fn blocks(&self, peer: Option<IpAddr>, now: Duration) -> bool {
        let lock = peer.and_then(|peer| self.known.get(&peer));
        lock.is_some_and(|lock| lock.is_locked(now))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use super::{Peers, REMEMBERED};
    use crate::redfish::accounts::Policy;
    use crate::redfish::quirks::LockoutBy;

    const POLICY: Policy = Policy {
        threshold: 1,
        duration: 60,
        reset_after: 60,
        tries_prolong: false,
        by: LockoutBy::Address,
    };

    #[test]
    fn remembers_only_so_many() {
        let mut peers = Peers::default();
        let address = |number: u32| Some(IpAddr::from(number.to_be_bytes()));
        let count = u32::try_from(REMEMBERED).unwrap();
        for number in 0..=count {
            assert!(!peers.admits(address(number), false, POLICY, Duration::ZERO));
        }
        assert_eq!(peers.known.len(), REMEMBERED);
        assert!(peers.blocks(address(count), Duration::ZERO));
        assert!(!peers.blocks(address(count), Duration::from_mins(1)));
        assert!(!peers.blocks(None, Duration::ZERO) && peers.admits(None, true, POLICY, Duration::ZERO));
    }
}
