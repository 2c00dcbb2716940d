//! Ways to break IPMI, and what they do to a request or to its answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Fault, Injection};
use crate::RequestClass;

/// One way to misbehave over IPMI. In JSON: `{"ipmi":"busy"}`,
/// `{"ipmi":{"delay-reply":{"by":"800ms"}}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum IpmiFault {
    /// A datagram is lost on its way to the BMC; nothing is executed.
    LoseRequest,
    /// A datagram is lost on its way back; what was asked is done.
    LoseReply,
    /// The answer arrives twice.
    DuplicateReply,
    /// The answer takes this long; what was asked is done at once.
    DelayReply {
        /// From the request to the answer.
        #[serde(with = "crate::human::text")]
        by: Duration,
    },
    /// The answer is overtaken by the next one to the same console.
    ReorderReply,
    /// The second half of the answering datagram is damaged.
    CorruptReply,
    /// Instead of the answer the previous one of the session arrives again; what was asked is done.
    /// Does nothing, and is not used up, before there is a previous one.
    StaleReply,
    /// The answer carries the sequence number (rqSeq) of the next request.
    WrongRqSeq,
    /// The last checksum of the answering message is wrong, under integrity and confidentiality that are right
    /// (Supermicro X9: FreeIPMI `ipmi-lan` notes; what `-W nochecksumcheck` of its tools is for).
    BadChecksum,
    /// The answer's session sequence number skips so many (ASRock boards that share their port: FreeIPMI, LAN
    /// session note 9).
    SkipSequence {
        /// Numbers left out before this answer, 1 or more; above 15 a console's window does not reach.
        by: u32,
    },
    /// One command is neither executed nor answered.
    IgnoreCommand {
        /// Network function of the request: even, 0 to 62.
        net_fn: u8,
        /// Command.
        command: u8,
    },
    /// Answers completion code 0xC0 (node busy); executes nothing.
    Busy,
    /// Refuses to open a session with this RMCP+ status code: BMCs are known to send wrong ones
    /// (FreeIPMI's notes on LAN authentication).
    RefuseSuite {
        /// Only for this cipher suite; absent = for every one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suite: Option<u8>,
        /// RMCP+ status code, 1 to 255; 17 (0x11) is the right one.
        status: u8,
    },
    /// Refuses to open a session with RMCP+ status 0x01, insufficient resources.
    SessionsExhausted,
}

/// What is done to a request over IPMI, or to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpmiEffect {
    LoseRequest,
    Ignore { net_fn: u8, command: u8 },
    Busy,
    WrongRqSeq,
    BadChecksum,
    SkipSequence(u32),
    RefuseSuite { suite: Option<u8>, status: u8 },
    Exhausted,
    Reply(ReplyFault),
}

/// What becomes of a datagram that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyFault {
    Lose,
    Duplicate,
    Delay(Duration),
    Reorder,
    Corrupt,
    Stale,
}

impl IpmiFault {
    /// The name used in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::LoseRequest => "ipmi-lose-request",
            Self::LoseReply => "ipmi-lose-reply",
            Self::DuplicateReply => "ipmi-duplicate-reply",
            Self::DelayReply { .. } => "ipmi-delay-reply",
            Self::ReorderReply => "ipmi-reorder-reply",
            Self::CorruptReply => "ipmi-corrupt-reply",
            Self::StaleReply => "ipmi-stale-reply",
            Self::WrongRqSeq => "ipmi-wrong-rq-seq",
            Self::BadChecksum => "ipmi-bad-checksum",
            Self::SkipSequence { .. } => "ipmi-skip-sequence",
            Self::IgnoreCommand { .. } => "ipmi-ignore-command",
            Self::Busy => "ipmi-busy",
            Self::RefuseSuite { .. } => "ipmi-refuse-suite",
            Self::SessionsExhausted => "ipmi-sessions-exhausted",
        }
    }

    /// This fault, limited to one kind of request.
    pub fn on(self, class: RequestClass) -> Injection {
        Injection::from(self).on(class)
    }

    /// This fault, for the next `times` requests that it applies to.
    pub fn times(self, times: u32) -> Injection {
        Injection::from(self).times(times)
    }

    pub(super) fn effect(self) -> IpmiEffect {
        match self {
            Self::LoseRequest => IpmiEffect::LoseRequest,
            Self::IgnoreCommand { net_fn, command } => IpmiEffect::Ignore { net_fn, command },
            Self::Busy => IpmiEffect::Busy,
            Self::WrongRqSeq => IpmiEffect::WrongRqSeq,
            Self::BadChecksum => IpmiEffect::BadChecksum,
            Self::SkipSequence { by } => IpmiEffect::SkipSequence(by),
            Self::RefuseSuite { suite, status } => IpmiEffect::RefuseSuite { suite, status },
            Self::SessionsExhausted => IpmiEffect::Exhausted,
            Self::LoseReply => IpmiEffect::Reply(ReplyFault::Lose),
            Self::DuplicateReply => IpmiEffect::Reply(ReplyFault::Duplicate),
            Self::DelayReply { by } => IpmiEffect::Reply(ReplyFault::Delay(by)),
            Self::ReorderReply => IpmiEffect::Reply(ReplyFault::Reorder),
            Self::CorruptReply => IpmiEffect::Reply(ReplyFault::Corrupt),
            Self::StaleReply => IpmiEffect::Reply(ReplyFault::Stale),
        }
    }
}

impl From<IpmiFault> for Fault {
    fn from(fault: IpmiFault) -> Self {
        Self::Ipmi(fault)
    }
}

impl From<IpmiFault> for Injection {
    fn from(fault: IpmiFault) -> Self {
        Fault::from(fault).into()
    }
}
