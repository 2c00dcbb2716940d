//! What becomes of an answer on its way to the console.

use std::time::Duration;

use super::receive::Outgoing;
use super::state::{Awaited, Bmc};
use crate::fault::ReplyFault;
use crate::host::Acting;
use crate::journal::Delivery;

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
        let awaited = std::mem::take(&mut self.awaited);
        let reply = |bytes, after| Outgoing {
            to: self.peer,
            after,
            life,
            bytes,
            awaited: Vec::new(),
        };
        let mut outgoing = match fate {
            None => vec![reply(bytes, Duration::ZERO)],
            Some(ReplyFault::Lose) => Vec::new(),
            Some(ReplyFault::Duplicate) => {
                vec![reply(bytes.clone(), Duration::ZERO), reply(bytes, Duration::ZERO)]
            }
            Some(ReplyFault::Delay(by)) => {
                let late = reply(bytes, by);
                vec![Outgoing { awaited, ..late }]
            }
            Some(ReplyFault::Corrupt) => vec![reply(corrupted(bytes), Duration::ZERO)],
            Some(ReplyFault::Stale) => stale.into_iter().map(|old| reply(old, Duration::ZERO)).collect(),
            Some(ReplyFault::Reorder) => {
                let held = reply(bytes, Duration::ZERO);
                if self.ipmi.held.len() < MOST_HELD {
                    self.ipmi.held.push(Outgoing { awaited, ..held });
                } else {
                    answered(self.acting, &awaited, false);
                }
                return Vec::new();
            }
        };
        let peer = self.peer;
        if !outgoing.is_empty() {
            let overtaken: Vec<Outgoing> = self.ipmi.held.extract_if(.., |held| held.to == peer).collect();
            for held in overtaken {
                answered(self.acting, &held.awaited, true);
                outgoing.push(held);
            }
        }
        outgoing
    }
}

/// Tells the journal that a late reply is sent now, or never. False when the BMC that should send it is gone.
pub(super) fn settle(acting: &mut Acting<'_>, reply: &Outgoing, sent: bool) -> bool {
    let sent = sent && acting.lives_in(reply.life);
    answered(acting, &reply.awaited, sent);
    sent
}

fn answered(acting: &mut Acting<'_>, awaited: &[Awaited], sent: bool) {
    for Awaited { of, status } in awaited {
        acting.log_answered([*of], sent.then_some(*status));
    }
}

/// What becomes of an answer to which this is done.
pub(super) fn delivery(fate: Option<ReplyFault>) -> Delivery {
    match fate {
        None | Some(ReplyFault::Duplicate) => Delivery::Sent,
        Some(ReplyFault::Delay(_) | ReplyFault::Reorder) => Delivery::Late,
        Some(ReplyFault::Lose | ReplyFault::Stale | ReplyFault::Corrupt) => Delivery::Lost,
    }
}

/// With all bits of the second half inverted: whatever the message, what matters is in there.
fn corrupted(mut bytes: Vec<u8>) -> Vec<u8> {
    let half = bytes.len() / 2;
    bytes.iter_mut().skip(half).for_each(|byte| *byte = !*byte);
    bytes
}
