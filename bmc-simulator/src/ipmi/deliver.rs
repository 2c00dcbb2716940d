//! What becomes of an answer on its way to the console.

use std::time::Duration;

use super::receive::Outgoing;
use super::state::Bmc;
use crate::fault::ReplyFault;

/// Replies that may wait to be overtaken, over all peers of a BMC.
const MOST_HELD: usize = 64;

impl Bmc<'_, '_> {
    /// The datagrams that an answer becomes.
    pub(super) fn deliver(
        &mut self,
        fate: Option<ReplyFault>,
        bytes: Vec<u8>,
        stale: Option<Vec<u8>>,
    ) -> Vec<Outgoing> {
        let life = self.acting.door().life;
        let reply = |bytes, after| Outgoing {
            to: self.peer,
            after,
            life,
            bytes,
        };
        let mut outgoing = match fate {
            None => vec![reply(bytes, Duration::ZERO)],
            Some(ReplyFault::Lose) => Vec::new(),
            Some(ReplyFault::Duplicate) => {
                vec![reply(bytes.clone(), Duration::ZERO), reply(bytes, Duration::ZERO)]
            }
            Some(ReplyFault::Delay(by)) => vec![reply(bytes, by)],
            Some(ReplyFault::Corrupt) => vec![reply(corrupted(bytes), Duration::ZERO)],
            Some(ReplyFault::Stale) => stale.into_iter().map(|old| reply(old, Duration::ZERO)).collect(),
            Some(ReplyFault::Reorder) => {
                let held = reply(bytes, Duration::ZERO);
                if self.ipmi.held.len() < MOST_HELD {
                    self.ipmi.held.push(held);
                }
                return Vec::new();
            }
        };
        let peer = self.peer;
        if !outgoing.is_empty() {
            outgoing.extend(self.ipmi.held.extract_if(.., |held| held.to == peer));
        }
        outgoing
    }
}

/// With all bits of the second half inverted: whatever the message, what matters is in there.
fn corrupted(mut bytes: Vec<u8>) -> Vec<u8> {
    let half = bytes.len() / 2;
    bytes.iter_mut().skip(half).for_each(|byte| *byte = !*byte);
    bytes
}
