//! An open session: asking in it, and ending it (IPMI 2.0, sections 6.12 and 13.27).

use std::time::Duration;

use tokio::time::Instant;

use super::crypto::SessionKeys;
use super::link::{Link, Repeat, Unanswered};
use super::random;
use super::wire::net_fn::APP;
use super::wire::{self, Request};
use crate::error::BmcError;

/// How long a BMC keeps a session in which nothing happens: 60 s, give or take 3 (section 6.12.15).
const BMC_TIMEOUT: Duration = Duration::from_secs(63);
/// After this long we take a session for ended.
const OUR_TIMEOUT: Duration = Duration::from_secs(50);

/// Section 22.19.
const CLOSE_SESSION: u8 = 0x3c;
/// Close Session: no such session, so it is closed already.
const UNKNOWN_SESSION: u8 = 0x87;

/// An answer in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Completion code (table 5-2); 0 = done.
    pub(super) completion: u8,
    pub(super) data: Vec<u8>,
}

/// A session at a BMC. Dropping it sends one Close Session and waits for nothing.
pub(super) struct Session {
    link: Link,
    keys: SessionKeys,
    console_id: u32,
    managed_id: u32,
    /// Of the next datagram.
    sequence: u32,
    window: Window,
    /// Of the next request, 6 bits.
    rq_seq: u8,
    /// When something was last sent.
    used: Instant,
    closed: bool,
}

impl Session {
    pub(super) fn new(link: Link, keys: SessionKeys, console_id: u32, managed_id: u32) -> Self {
        Self {
            link,
            keys,
            console_id,
            managed_id,
            sequence: 1,
            window: Window::new(),
            rq_seq: 1,
            used: Instant::now(),
            closed: false,
        }
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// There is nothing to close at the BMC.
    pub(super) fn never_was(mut self) {
        self.closed = true;
    }

    /// Whether the BMC may have ended it because nothing happened.
    pub(super) fn is_stale(&self) -> bool {
        self.used.elapsed() >= OUR_TIMEOUT
    }

    /// When the BMC will have ended it in any case.
    pub(super) fn ends_by_itself(&self) -> Instant {
        self.used.checked_add(BMC_TIMEOUT).unwrap_or(self.used)
    }

    /// Asks, and takes only the answer to this very request: authentic, of this session, not seen
    /// before, with its number, network function and command.
    /// What is sent again has the same number (rqSeq), so that a late answer to the first
    /// transmission is an answer, and a new sequence number, because the BMC takes each once.
    pub(super) async fn ask(
        &mut self,
        request: &Request<'_>,
        deadline: Instant,
        repeat: Repeat,
    ) -> Result<Answer, Unanswered> {
        let rq_seq = self.rq_seq;
        self.rq_seq = rq_seq.wrapping_add(1) & 0x3f;
        let message = wire::request(request, rq_seq);
        let next = || {
            let number = self.sequence;
            self.sequence = number.checked_add(1).unwrap_or(1);
            self.used = Instant::now();
            Ok(self.keys.seal(self.managed_id, number, random()?, &message))
        };
        let answer = |_, datagram: &[u8]| {
            let packet = wire::packet(datagram).ok()?;
            if packet.session_id != self.console_id {
                return None;
            }
            let opened = self.keys.open(&packet)?;
            if !self.window.take(packet.sequence) {
                return None;
            }
            let response = wire::response(&opened).ok()?;
            let ours = response.rq_seq == rq_seq
                && response.net_fn == request.net_fn | 1
                && response.command == request.command;
            ours.then(|| Answer {
                completion: response.completion,
                data: response.data.to_vec(),
            })
        };
        self.link.ask(deadline, repeat, next, answer).await
    }

    /// Ends the session and waits until the BMC says so.
    pub(super) async fn close(&mut self, deadline: Instant) -> Result<(), BmcError> {
        if self.closed {
            return Ok(());
        }
        let id = self.managed_id.to_le_bytes();
        let request = Request::new(APP, CLOSE_SESSION, &id);
        let cause = match self.ask(&request, deadline, Repeat::UntilAnswered).await {
            Ok(Answer {
                completion: 0 | UNKNOWN_SESSION,
                ..
            }) => {
                self.closed = true;
                return Ok(());
            }
            Ok(other) => format!("completion code {:#04x}", other.completion),
            Err(Unanswered::NotSent(cause) | Unanswered::Silent(cause)) => cause,
        };
        let left = format!("its session may last another minute: {cause}");
        Err(BmcError::NoAnswer(left))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        let Ok(vector) = random() else { return };
        let id = self.managed_id.to_le_bytes();
        let request = Request::new(APP, CLOSE_SESSION, &id);
        let message = wire::request(&request, self.rq_seq);
        let datagram = self.keys.seal(self.managed_id, self.sequence, vector, &message);
        self.link.send_now(&datagram);
    }
}

/// How many numbers before the newest are told apart, and how many may be skipped at once: 32 in all. BMCs that
/// share their port with the host are known to skip some (FreeIPMI, "LAN Session" notes, ASRock).
const BEHIND: u32 = 15;
const AHEAD: u32 = 16;

/// Takes each sequence number of the BMC once, in any order (section 6.12.13).
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    newest: u32,
    /// Bit n: `newest - n` was taken.
    taken: u32,
}

impl Window {
    /// Before the first packet, which has the number 1 unless some were skipped.
    pub(super) fn new() -> Self {
        Self {
            newest: 0,
            taken: u32::MAX,
        }
    }

    /// Takes a number, or says that it is a duplicate or too old or too new.
    pub(super) fn take(&mut self, number: u32) -> bool {
        // 0 is for packets outside of sessions.
        if number == 0 {
            return false;
        }
        let ahead = number.wrapping_sub(self.newest);
        if (1..=AHEAD).contains(&ahead) {
            self.newest = number;
            self.taken = self.taken.wrapping_shl(ahead) | 1;
            return true;
        }
        let behind = self.newest.wrapping_sub(number);
        if behind > BEHIND {
            return false;
        }
        let bit = 1_u32.wrapping_shl(behind);
        let new = self.taken & bit == 0;
        self.taken |= bit;
        new
    }
}
