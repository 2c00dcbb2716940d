//! Opening a session: Open Session and RAKP 1 to 4 (sections 13.15 to 13.23).

use std::sync::Arc;

use super::crypto::{Suite, Transcript};
use super::session::Claim;
use super::spec::Privilege;
use super::state::Bmc;
use super::wire::{Envelope, OpenSession, PayloadType, Proposed, Rakp1, Rakp3};
use crate::counters::{RequestClass, bump};
use crate::fault::IpmiEffect;
use crate::journal::{Delivery, Ended, Event};

/// RMCP+ status codes (table 13-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    NoErrors,
    InsufficientResources,
    InvalidSessionId,
    InvalidAuthentication,
    InvalidIntegrity,
    InvalidRole,
    UnauthorizedRole,
    InvalidNameLength,
    UnauthorizedName,
    InvalidCheckValue,
    InvalidConfidentiality,
    NoCipherSuite,
    IllegalParameter,
    /// What a fault says.
    Injected(u8),
}

impl Status {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::NoErrors => 0x00,
            Self::InsufficientResources => 0x01,
            Self::InvalidSessionId => 0x02,
            Self::InvalidAuthentication => 0x04,
            Self::InvalidIntegrity => 0x05,
            Self::InvalidRole => 0x09,
            Self::UnauthorizedRole => 0x0a,
            Self::InvalidNameLength => 0x0c,
            Self::UnauthorizedName => 0x0d,
            Self::InvalidCheckValue => 0x0f,
            Self::InvalidConfidentiality => 0x10,
            Self::NoCipherSuite => 0x11,
            Self::IllegalParameter => 0x12,
            Self::Injected(number) => number,
        }
    }

    /// The answer to a step that failed: the fields up to the console's session id.
    fn refusal(self, kind: PayloadType, tag: u8, console_id: u32) -> Vec<u8> {
        let mut payload = vec![tag, self.number(), 0, 0];
        payload.extend(console_id.to_le_bytes());
        Envelope::outside(kind).around(&payload)
    }
}

impl Bmc<'_, '_> {
    /// Answers an Open Session Request (section 13.17).
    pub(super) fn open_session(&mut self, request: &OpenSession) -> Vec<u8> {
        let response = PayloadType::OpenSessionResponse;
        let (suite, limit) = match self.agree(request) {
            Ok(agreed) => agreed,
            Err(status) => return status.refusal(response, request.tag, request.console_id),
        };
        let now = self.acting.now;
        let managed_id = self.ipmi.sessions.begin(request.console_id, suite, limit, now);
        let mut payload = vec![request.tag, Status::NoErrors.number(), limit.number(), 0];
        payload.extend(request.console_id.to_le_bytes());
        payload.extend(managed_id.to_le_bytes());
        let chosen = [
            suite.authentication.number(),
            suite.integrity.number(),
            suite.confidentiality.number(),
        ];
        for (kind, number) in (0_u8..).zip(chosen) {
            payload.extend([kind, 0, 0, 8, number, 0, 0, 0]);
        }
        Envelope::outside(response).around(&payload)
    }

    fn agree(&mut self, request: &OpenSession) -> Result<(Suite, Privilege), Status> {
        let class = RequestClass::IpmiOpenSession;
        let exhausted = |effect| (effect == IpmiEffect::Exhausted).then_some(());
        if self.ipmi.sessions.is_full() || self.fault(class, exhausted).is_some() {
            return Err(Status::InsufficientResources);
        }
        // 0 = the highest that the algorithms allow.
        let limit = match request.privilege {
            0 => Privilege::Administrator,
            number => Privilege::of(number).ok_or(Status::InvalidRole)?,
        };
        let suite = self.choose(request)?;
        let injected = self.fault(class, |effect| match effect {
            IpmiEffect::RefuseSuite { suite: only, status } => {
                only.is_none_or(|only| only == suite.id).then_some(status)
            }
            IpmiEffect::LoseRequest
            | IpmiEffect::Ignore { .. }
            | IpmiEffect::Busy
            | IpmiEffect::WrongRqSeq
            | IpmiEffect::BadChecksum
            | IpmiEffect::SkipSequence(_)
            | IpmiEffect::Exhausted
            | IpmiEffect::Reply(_) => None,
        });
        injected.map_or(Ok((suite, limit)), |status| Err(Status::Injected(status)))
    }

    /// The first suite offered that is as proposed.
    fn choose(&self, request: &OpenSession) -> Result<Suite, Status> {
        let proposals = [request.authentication, request.integrity, request.confidentiality];
        if proposals.contains(&Proposed::Illegal) {
            return Err(Status::IllegalParameter);
        }
        for (proposed, known, status) in [
            (request.authentication, 4, Status::InvalidAuthentication),
            (request.integrity, 5, Status::InvalidIntegrity),
            (request.confidentiality, 2, Status::InvalidConfidentiality),
        ] {
            if matches!(proposed, Proposed::Number(number) if number >= known) {
                return Err(status);
            }
        }
        let fits = |proposed: Proposed, number: u8| match proposed {
            Proposed::Any => true,
            Proposed::Number(wanted) => wanted == number,
            Proposed::Illegal => false,
        };
        let found = self.ipmi.settings.suites.iter().find(|suite| {
            fits(request.authentication, suite.authentication.number())
                && fits(request.integrity, suite.integrity.number())
                && fits(request.confidentiality, suite.confidentiality.number())
        });
        found.copied().ok_or(Status::NoCipherSuite)
    }

    /// Answers RAKP Message 1 with RAKP Message 2 (sections 13.20 and 13.21).
    pub(super) fn rakp1(&mut self, message: &Rakp1<'_>) -> Vec<u8> {
        let kind = PayloadType::Rakp2;
        let Some(opening) = self.ipmi.sessions.opening(message.managed_id) else {
            return Status::InvalidSessionId.refusal(kind, message.tag, 0);
        };
        let console_id = opening.console_id;
        match self.claim(message) {
            Ok(claim) => {
                let mut payload = vec![message.tag, Status::NoErrors.number(), 0, 0];
                payload.extend(console_id.to_le_bytes());
                payload.extend(claim.transcript.managed_random);
                payload.extend(claim.transcript.guid);
                payload.extend(&claim.keys.rakp2);
                if let Some(opening) = self.ipmi.sessions.opening(message.managed_id) {
                    opening.claim = Some(claim);
                }
                Envelope::outside(kind).around(&payload)
            }
            Err(status) => {
                self.ipmi.sessions.abandon(message.managed_id);
                if status == Status::UnauthorizedName {
                    let salt = &self.acting.core.journal.salt;
                    let tried = salt.name_only(message.name().unwrap_or_default(), message.role);
                    self.login_failed(RequestClass::IpmiRakp1, tried, status);
                }
                status.refusal(kind, message.tag, console_id)
            }
        }
    }

    fn claim(&mut self, message: &Rakp1<'_>) -> Result<Claim, Status> {
        let role = Privilege::of(message.role & 0x0f).ok_or(Status::InvalidRole)?;
        let name = message.name().ok_or(Status::InvalidNameLength)?;
        let user = self.user(name, role, message.name_only());
        let (user, password) = user.ok_or(Status::UnauthorizedName)?;
        if user.refuses_more && role > user.privilege {
            return Err(Status::UnauthorizedRole);
        }
        let starting = self.acting.state.controller.rejects_login(self.acting.now);
        if starting || self.acting.rejects(RequestClass::IpmiRakp1) {
            return Err(Status::UnauthorizedName);
        }
        let guid = self.system_guid();
        let opening = self.ipmi.sessions.opening(message.managed_id);
        let opening = opening.ok_or(Status::InvalidSessionId)?;
        let transcript = Transcript {
            console_id: opening.console_id,
            managed_id: opening.managed_id,
            console_random: message.random,
            managed_random: opening.random,
            guid,
            role: message.role,
            name: name.to_vec(),
        };
        let suite = opening.suite;
        let keys = transcript.keys(suite, password, self.ipmi.settings.kg.as_deref());
        Ok(Claim {
            transcript,
            keys,
            user_id: user.id,
            username: user.name,
            // The requested role only lowers what the user may have (section 13.20).
            limit: user.privilege.min(role),
        })
    }

    /// Whether RAKP Message 3 says that the console gave up an attempt that is known.
    pub(super) fn is_given_up(&mut self, message: &Rakp3<'_>) -> bool {
        let opening = self.ipmi.sessions.opening(message.managed_id);
        message.status != 0 && opening.is_some_and(|opening| opening.claim.is_some())
    }

    /// Forgets an attempt that the console gave up (section 13.22).
    pub(super) fn give_up(&mut self, message: &Rakp3<'_>) {
        let opening = self.ipmi.sessions.opening(message.managed_id);
        let claim = opening.and_then(|opening| opening.claim.as_ref());
        let name = claim.map(|claim| claim.transcript.name.clone());
        self.ipmi.sessions.abandon(message.managed_id);
        self.login_given_up(&name.unwrap_or_default());
    }

    /// Answers RAKP Message 3 with RAKP Message 4 (sections 13.22 and 13.23), when the console did not
    /// give up.
    pub(super) fn rakp3(&mut self, message: &Rakp3<'_>) -> Vec<u8> {
        let kind = PayloadType::Rakp4;
        let id = message.managed_id;
        let refuse = |status: Status, console_id| status.refusal(kind, message.tag, console_id);
        if let Some(session) = self.ipmi.sessions.find(id) {
            // It was sent twice, or the answer was lost.
            let (keys, console_id) = (Arc::clone(&session.keys), session.console_id);
            if keys.keys.rakp3 != message.code {
                return refuse(Status::InvalidSessionId, console_id);
            }
            self.accepted_again(id);
            return accepted(message.tag, console_id, &keys.keys.rakp4);
        }
        let Some(opening) = self.ipmi.sessions.opening(id) else {
            return refuse(Status::InvalidSessionId, 0);
        };
        let console_id = opening.console_id;
        let Some(claim) = &opening.claim else {
            return refuse(Status::InvalidSessionId, console_id);
        };
        let (proved, check_value) = (claim.keys.rakp3 == message.code, claim.keys.rakp4.clone());
        let (name, role) = (claim.transcript.name.clone(), claim.transcript.role);
        if !proved {
            self.ipmi.sessions.abandon(id);
            let tried = self.acting.core.journal.salt.wrong_password(&name);
            self.login_failed(RequestClass::IpmiRakp3, tried, Status::InvalidCheckValue);
            return refuse(Status::InvalidCheckValue, console_id);
        }
        if self.ipmi.sessions.is_full() {
            self.ipmi.sessions.abandon(id);
            return refuse(Status::InsufficientResources, console_id);
        }
        let (now, peer) = (self.acting.now, self.peer);
        let Some(session) = self.ipmi.sessions.establish(id, now, peer) else {
            return refuse(Status::InsufficientResources, console_id);
        };
        let (limit, cipher_suite) = (session.limit, session.keys.suite.id);
        let (session, username) = (session.name(), session.username.clone());
        bump(&mut self.acting.state.counters.ipmi.sessions_opened);
        self.login_succeeded(&name, role);
        let opened = self.tell(0, |status, delivery| Event::IpmiSessionOpened {
            session,
            username,
            limit,
            cipher_suite,
            status,
            delivery,
        });
        let unknown = (self.delivery != Delivery::Sent).then_some(opened);
        if let Some(session) = self.ipmi.sessions.find(id) {
            session.unanswered = unknown;
        }
        accepted(message.tag, console_id, &check_value)
    }

    /// Ends a session and tells of it.
    pub(super) fn close(&mut self, managed_id: u32) {
        if let Some(session) = self.ipmi.sessions.close(managed_id) {
            bump(&mut self.acting.state.counters.ipmi.sessions_ended);
            self.acting.log(Ended::Closed.of(&session));
        }
    }
}

fn accepted(tag: u8, console_id: u32, check_value: &[u8]) -> Vec<u8> {
    let mut payload = vec![tag, Status::NoErrors.number(), 0, 0];
    payload.extend(console_id.to_le_bytes());
    payload.extend(check_value);
    Envelope::outside(PayloadType::Rakp4).around(&payload)
}
