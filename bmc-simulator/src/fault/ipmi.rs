//! Ways to break IPMI: what they do to a request or to its answer, and whether they could at all.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::{Fault, Injection};
use crate::{RequestClass, SimError};

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

impl Injection {
    /// A fault of one protocol cannot hit requests of the other; the rest is about single fields.
    pub(super) fn check_protocol(&self) -> Result<(), SimError> {
        let Some(on) = self.on else {
            return self.check_ipmi();
        };
        let fits = match self.fault.effect() {
            Effect::Lasting
            | Effect::Conflict
            | Effect::Connection(_)
            | Effect::TooSoon(_)
            | Effect::Reboot => true,
            Effect::Answer(_) | Effect::Aftermath(_) | Effect::Reuse => !on.is_ipmi(),
            // Over IPMI a login is RAKP Message 1.
            Effect::Login => !on.is_ipmi() || on == RequestClass::IpmiRakp1,
            Effect::Ipmi(effect) => suits(effect, on),
        };
        if fits {
            return self.check_ipmi();
        }
        Err(self.refusal(
            "on",
            "this fault cannot hit such requests: name a class that it is for, or leave the field out",
        ))
    }

    fn check_ipmi(&self) -> Result<(), SimError> {
        let Fault::Ipmi(fault) = &self.fault else {
            return Ok(());
        };
        if let IpmiFault::RefuseSuite { status: 0, .. } = *fault {
            return Err(self.refusal("status", "0 would be no refusal: write 1 to 255"));
        }
        if let IpmiFault::IgnoreCommand { net_fn, .. } = *fault
            && (net_fn > 62 || net_fn % 2 != 0)
        {
            return Err(self.refusal(
                "netFn",
                "not the network function of a request: write an even number from 0 to 62",
            ));
        }
        if let IpmiFault::SkipSequence { by: 0 } = *fault {
            return Err(self.refusal("by", "0 would skip nothing: write 1 or more"));
        }
        if let IpmiFault::DelayReply { by } = *fault
            && by.is_zero()
        {
            return Err(self.refusal("by", "no delay would mean no fault: write a duration above zero"));
        }
        Ok(())
    }
}

fn suits(effect: IpmiEffect, on: RequestClass) -> bool {
    match effect {
        IpmiEffect::RefuseSuite { .. } | IpmiEffect::Exhausted => on == RequestClass::IpmiOpenSession,
        IpmiEffect::Busy
        | IpmiEffect::WrongRqSeq
        | IpmiEffect::BadChecksum
        | IpmiEffect::SkipSequence(_)
        | IpmiEffect::Ignore { .. }
        | IpmiEffect::Reply(ReplyFault::Stale) => on.is_ipmi_command(),
        IpmiEffect::LoseRequest | IpmiEffect::Reply(_) => on.is_ipmi(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::IpmiFault;
    use crate::{Fault, Injection};

    #[test]
    fn json_names_match_the_names_in_the_journal() {
        for fault in [
            IpmiFault::LoseRequest,
            IpmiFault::LoseReply,
            IpmiFault::DuplicateReply,
            IpmiFault::DelayReply {
                by: Duration::from_millis(800),
            },
            IpmiFault::ReorderReply,
            IpmiFault::CorruptReply,
            IpmiFault::StaleReply,
            IpmiFault::WrongRqSeq,
            IpmiFault::BadChecksum,
            IpmiFault::SkipSequence { by: 5 },
            IpmiFault::IgnoreCommand {
                net_fn: 6,
                command: 0x3c,
            },
            IpmiFault::Busy,
            IpmiFault::RefuseSuite {
                suite: Some(17),
                status: 0x12,
            },
            IpmiFault::SessionsExhausted,
        ] {
            let json = serde_json::to_value(Fault::from(fault)).unwrap();
            let inner = &json["ipmi"];
            let name = inner
                .as_str()
                .or_else(|| inner.as_object()?.keys().next().map(String::as_str));
            assert_eq!(
                name.map(|name| format!("ipmi-{name}")),
                Some(fault.name().to_owned())
            );
            let text = serde_json::to_string(&Injection::from(fault)).unwrap();
            assert_eq!(
                serde_json::from_str::<Injection>(&text).unwrap(),
                fault.into(),
                "{text}"
            );
        }
    }
}
