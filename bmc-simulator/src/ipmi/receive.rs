//! From a datagram to the datagrams that answer it, faults included.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::command::{self, Completion};
use super::deliver::delivery;
use super::state::{Awaited, Bmc};
use super::wire::{self, Datagram, Enveloped, PayloadType, Request};
use crate::counters::{RequestClass, bump};
use crate::fault::{IpmiEffect, ReplyFault};
use crate::host::{HostCore, Stage};
use crate::journal::Delivery;

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) to: SocketAddr,
    pub(crate) after: Duration,
    /// The life of the BMC in which it was made: a later one does not send it.
    pub(crate) life: u64,
    pub(crate) bytes: Vec<u8>,
    /// Entries of the journal that wait for it to be sent.
    pub(crate) awaited: Vec<Awaited>,
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
            delivery: Delivery::Sent,
            awaited: Vec::new(),
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
            Datagram::Ping { tag } => Ok(self.answer(RequestClass::IpmiPing, |_| Some(wire::asf_pong(*tag)))),
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
                Ok(self.answer(RequestClass::IpmiOpenSession, |bmc| {
                    Some(bmc.open_session(&request))
                }))
            }
            PayloadType::Rakp1 => {
                let message = wire::rakp1(packet.payload)?;
                Ok(self.answer(RequestClass::IpmiRakp1, |bmc| Some(bmc.rakp1(&message))))
            }
            PayloadType::Rakp3 => {
                let message = wire::rakp3(packet.payload)?;
                let class = RequestClass::IpmiRakp3;
                if self.is_lost(class) {
                    return Ok(Vec::new());
                }
                if self.is_given_up(&message) {
                    // Nobody waits for an answer that faults could change.
                    self.give_up(&message);
                    return Ok(Vec::new());
                }
                Ok(self.answer_in_session(class, None, |bmc| Some(bmc.rakp3(&message))))
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
        if self.is_lost(class) || self.is_ignored(class, request) {
            return Vec::new();
        }
        self.answer_in_session(class, None, |bmc| Some(wrap(bmc.message(class, request, None))))
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
        if self.is_lost(class) || self.is_ignored(class, &request) {
            return Ok(Vec::new());
        }
        let stale = self.ipmi.sessions.find(id).map(|one| one.last_reply.clone());
        let stale = stale.filter(|reply| !reply.is_empty());
        Ok(self.answer_in_session(class, stale, |bmc| {
            // Close Session has to be answered with the keys that it throws away.
            let keys = Arc::clone(&bmc.ipmi.sessions.find(id)?.keys);
            let iv = bmc.ipmi.sessions.random();
            let skipped = bmc.fault(class, |effect| {
                if let IpmiEffect::SkipSequence(by) = effect {
                    Some(by)
                } else {
                    None
                }
            });
            let (console_id, sequence) = {
                let session = bmc.ipmi.sessions.find(id)?;
                session.skip_outbound(skipped.unwrap_or(0));
                (session.console_id, session.next_outbound())
            };
            let message = bmc.message(class, &request, Some(id));
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
    fn message(&mut self, class: RequestClass, request: &Request<'_>, session: Option<u32>) -> Vec<u8> {
        let busy = self.fault(class, |effect| (effect == IpmiEffect::Busy).then_some(()));
        let shifted = self.fault(class, |effect| (effect == IpmiEffect::WrongRqSeq).then_some(()));
        let damaged = self.fault(class, |effect| (effect == IpmiEffect::BadChecksum).then_some(()));
        if shifted.is_some() {
            // To the console it is the answer to another request. One with a wrong checksum is whole by its
            // integrity code, and consoles that know such BMCs take it.
            self.delivery = Delivery::Lost;
        }
        let done = match busy {
            Some(()) => Err(Completion::Busy),
            None => command::execute(self, request, session),
        };
        let rq_seq = shifted.map_or(request.rq_seq, |()| request.rq_seq.wrapping_add(1) & 0x3f);
        let mut message = match done {
            Ok(data) => wire::response(request, rq_seq, 0x00, &data),
            Err(completion) => wire::response(request, rq_seq, completion.number(), &[]),
        };
        if let (Some(()), Some(checksum)) = (damaged, message.last_mut()) {
            *checksum = !*checksum;
        }
        message
    }

    /// Counts a request; whether a fault loses it on its way here.
    fn is_lost(&mut self, class: RequestClass) -> bool {
        self.acting.state.counters.ipmi.count(class);
        let lost = self.fault(class, |effect| (effect == IpmiEffect::LoseRequest).then_some(()));
        lost.is_some()
    }

    /// Whether a fault neither executes nor answers this command.
    fn is_ignored(&mut self, class: RequestClass, request: &Request<'_>) -> bool {
        let this = IpmiEffect::Ignore {
            net_fn: request.net_fn,
            command: request.command,
        };
        let ignored = |effect| (effect == this).then_some(());
        self.fault(class, ignored).is_some()
    }

    /// Counts a request outside of sessions and answers it.
    fn answer(
        &mut self,
        class: RequestClass,
        make: impl FnOnce(&mut Self) -> Option<Vec<u8>>,
    ) -> Vec<Outgoing> {
        if self.is_lost(class) {
            return Vec::new();
        }
        self.answer_in_session(class, None, make)
    }

    /// Answers a request, and does to the answer what faults say.
    fn answer_in_session(
        &mut self,
        class: RequestClass,
        stale: Option<Vec<u8>>,
        make: impl FnOnce(&mut Self) -> Option<Vec<u8>>,
    ) -> Vec<Outgoing> {
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
        self.delivery = delivery(fate);
        let Some(bytes) = make(self) else {
            return Vec::new();
        };
        self.deliver(fate, bytes, stale)
    }
}
