//! From a datagram to the datagrams that answer it, faults included.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::command::{self, Completion};
use super::state::Bmc;
use super::wire::{self, Datagram, Enveloped, PayloadType, Request};
use crate::counters::{RequestClass, bump};
use crate::fault::{IpmiEffect, ReplyFault};
use crate::host::{HostCore, Stage};

/// Replies that may wait to be overtaken, over all peers of a BMC.
const MOST_HELD: usize = 64;

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) to: SocketAddr,
    pub(crate) after: Duration,
    pub(crate) bytes: Vec<u8>,
}

/// Deals with one datagram at this instant.
pub(crate) fn receive(core: &HostCore, peer: SocketAddr, datagram: &[u8]) -> Vec<Outgoing> {
    core.act(|acting| {
        match acting.stage() {
            Stage::Dead | Stage::NotReady => return Vec::new(),
            Stage::Rejecting | Stage::Up => {}
        }
        let Some(mut ipmi) = acting.state.ipmi.take() else {
            return Vec::new();
        };
        let mut bmc = Bmc {
            acting,
            ipmi: &mut ipmi,
            peer,
        };
        let outgoing = bmc.receive(datagram);
        acting.state.ipmi = Some(ipmi);
        outgoing
    })
}

impl Bmc<'_, '_> {
    fn receive(&mut self, datagram: &[u8]) -> Vec<Outgoing> {
        bump(&mut self.acting.state.counters.ipmi.datagrams);
        let read = wire::parse(datagram).and_then(|datagram| self.understand(&datagram));
        read.unwrap_or_else(|_| {
            bump(&mut self.acting.state.counters.ipmi.malformed);
            Vec::new()
        })
    }

    fn understand(&mut self, datagram: &Datagram<'_>) -> Result<Vec<Outgoing>, wire::Malformed> {
        match datagram {
            Datagram::Ping { tag } => {
                Ok(self.answer(RequestClass::IpmiPing, |_, _| Some(wire::asf_pong(*tag))))
            }
            Datagram::Ipmi15 {
                authentication_type: 0,
                session_id: 0,
                payload,
            } => {
                let request = wire::request(payload)?;
                Ok(self.outside(&request, |message| wire::rmcp_ipmi15(&message)))
            }
            // There are no IPMI 1.5 sessions, and Get Channel Authentication Capabilities says so.
            Datagram::Ipmi15 { .. } => Ok(self.discard()),
            Datagram::RmcpPlus(packet) if packet.session_id == 0 => self.handshake(packet),
            Datagram::RmcpPlus(packet) => self.inside(packet),
        }
    }

    /// A packet that belongs to no session: most often one that opens a session.
    fn handshake(&mut self, packet: &Enveloped<'_>) -> Result<Vec<Outgoing>, wire::Malformed> {
        if packet.encrypted || packet.authenticated {
            return Ok(self.discard());
        }
        match packet.payload_type {
            PayloadType::Message => {
                let request = wire::request(packet.payload)?;
                let envelope = wire::Envelope::outside(PayloadType::Message);
                Ok(self.outside(&request, |message| envelope.around(&message)))
            }
            PayloadType::OpenSessionRequest => {
                let request = wire::open_session(packet.payload)?;
                Ok(self.answer(RequestClass::IpmiOpenSession, |bmc, _| {
                    Some(bmc.open_session(&request))
                }))
            }
            PayloadType::Rakp1 => {
                let message = wire::rakp1(packet.payload)?;
                Ok(self.answer(RequestClass::IpmiRakp1, |bmc, _| Some(bmc.rakp1(&message))))
            }
            PayloadType::Rakp3 => {
                let message = wire::rakp3(packet.payload)?;
                Ok(self.answer(RequestClass::IpmiRakp3, |bmc, _| bmc.rakp3(&message)))
            }
            // What a BMC sends and never gets.
            PayloadType::OpenSessionResponse | PayloadType::Rakp2 | PayloadType::Rakp4 => Ok(self.discard()),
        }
    }

    fn outside(&mut self, request: &Request<'_>, wrap: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<Outgoing> {
        if request.net_fn & 1 != 0 {
            return self.discard();
        }
        let class = command::class(request);
        self.answer(class, |bmc, answered| {
            bmc.message(class, request, None, answered).map(wrap)
        })
    }

    fn inside(&mut self, packet: &Enveloped<'_>) -> Result<Vec<Outgoing>, wire::Malformed> {
        let Some(payload) = self.open_packet(packet) else {
            return Ok(self.discard());
        };
        let request = wire::request(&payload)?;
        if request.net_fn & 1 != 0 {
            return Ok(self.discard());
        }
        let (class, id) = (command::class(&request), packet.session_id);
        let stale = self.ipmi.sessions.find(id).map(|one| one.last_reply.clone());
        let stale = stale.filter(|reply| !reply.is_empty());
        Ok(self.answer_in_session(class, stale, |bmc, answered| {
            // Close Session has to be answered with the keys that it throws away.
            let keys = Arc::clone(&bmc.ipmi.sessions.find(id)?.keys);
            let iv = bmc.ipmi.sessions.random();
            let skipped = bmc.fault(class, |effect| match effect {
                IpmiEffect::SkipSequence(by) => Some(by),
                IpmiEffect::LoseRequest
                | IpmiEffect::Ignore { .. }
                | IpmiEffect::Busy
                | IpmiEffect::WrongRqSeq
                | IpmiEffect::BadChecksum
                | IpmiEffect::RefuseSuite { .. }
                | IpmiEffect::Exhausted
                | IpmiEffect::Reply(_) => None,
            });
            let (console_id, sequence) = {
                let session = bmc.ipmi.sessions.find(id)?;
                session.skip_outbound(skipped.unwrap_or(0));
                (session.console_id, session.next_outbound())
            };
            let message = bmc.message(class, &request, Some(id), answered)?;
            let sealed = keys.seal(console_id, sequence, iv, &message);
            if let Some(session) = bmc.ipmi.sessions.find(id) {
                session.last_reply.clone_from(&sealed);
            }
            Some(sealed)
        }))
    }

    /// The payload of a packet that is the session's, unchanged and new.
    fn open_packet(&mut self, packet: &Enveloped<'_>) -> Option<Vec<u8>> {
        let (now, peer) = (self.acting.now, self.peer);
        let session = self.ipmi.sessions.find(packet.session_id)?;
        if packet.payload_type != PayloadType::Message {
            return None;
        }
        let payload = session.keys.open(packet)?;
        // Looked at after the code was checked: a forged packet must not move the window.
        if !session.inbound.accept(packet.sequence) {
            return None;
        }
        session.touch(now, peer);
        Some(payload)
    }

    /// Executes a request and returns the message that answers it.
    fn message(
        &mut self,
        class: RequestClass,
        request: &Request<'_>,
        session: Option<u32>,
        answered: bool,
    ) -> Option<Vec<u8>> {
        let ignored = |effect| match effect {
            IpmiEffect::Ignore { net_fn, command } => {
                (net_fn == request.net_fn && command == request.command).then_some(())
            }
            IpmiEffect::LoseRequest
            | IpmiEffect::Busy
            | IpmiEffect::WrongRqSeq
            | IpmiEffect::BadChecksum
            | IpmiEffect::SkipSequence(_)
            | IpmiEffect::RefuseSuite { .. }
            | IpmiEffect::Exhausted
            | IpmiEffect::Reply(_) => None,
        };
        if self.fault(class, ignored).is_some() {
            return None;
        }
        let busy = self.fault(class, |effect| (effect == IpmiEffect::Busy).then_some(()));
        let done = match busy {
            Some(()) => Err(Completion::Busy),
            None => command::execute(self, request, session, answered),
        };
        let shifted = self.fault(class, |effect| (effect == IpmiEffect::WrongRqSeq).then_some(()));
        let rq_seq = shifted.map_or(request.rq_seq, |()| request.rq_seq.wrapping_add(1) & 0x3f);
        let mut message = match done {
            Ok(data) => wire::response(request, rq_seq, 0x00, &data),
            Err(completion) => wire::response(request, rq_seq, completion.number(), &[]),
        };
        let damaged = self.fault(class, |effect| (effect == IpmiEffect::BadChecksum).then_some(()));
        if let (Some(()), Some(checksum)) = (damaged, message.last_mut()) {
            *checksum = !*checksum;
        }
        Some(message)
    }

    fn answer(
        &mut self,
        class: RequestClass,
        make: impl FnOnce(&mut Self, bool) -> Option<Vec<u8>>,
    ) -> Vec<Outgoing> {
        self.answer_in_session(class, None, make)
    }

    /// Counts a request, answers it, and does to the answer what faults say.
    fn answer_in_session(
        &mut self,
        class: RequestClass,
        stale: Option<Vec<u8>>,
        make: impl FnOnce(&mut Self, bool) -> Option<Vec<u8>>,
    ) -> Vec<Outgoing> {
        self.acting.state.counters.ipmi.count(class);
        let lost = self.fault(class, |effect| (effect == IpmiEffect::LoseRequest).then_some(()));
        if lost.is_some() {
            return Vec::new();
        }
        let can_be_stale = stale.is_some();
        let fate = self.fault(class, |effect| match effect {
            IpmiEffect::Reply(fault) => (fault != ReplyFault::Stale || can_be_stale).then_some(fault),
            IpmiEffect::LoseRequest
            | IpmiEffect::Ignore { .. }
            | IpmiEffect::Busy
            | IpmiEffect::WrongRqSeq
            | IpmiEffect::BadChecksum
            | IpmiEffect::SkipSequence(_)
            | IpmiEffect::RefuseSuite { .. }
            | IpmiEffect::Exhausted => None,
        });
        let reaches = !matches!(
            fate,
            Some(ReplyFault::Lose | ReplyFault::Stale | ReplyFault::Corrupt)
        );
        let Some(bytes) = make(self, reaches) else {
            return Vec::new();
        };
        self.deliver(fate, bytes, stale)
    }

    fn deliver(&mut self, fate: Option<ReplyFault>, bytes: Vec<u8>, stale: Option<Vec<u8>>) -> Vec<Outgoing> {
        let reply = |bytes, after| Outgoing {
            to: self.peer,
            after,
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
