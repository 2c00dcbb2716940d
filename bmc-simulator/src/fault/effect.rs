//! Where each fault takes hold.

use std::time::Duration;

use super::Fault;

/// An answer that replaces the real one; nothing is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Hang,
    Html,
    Status { status: u16, retry_after: Option<u64> },
    Redirect { to: String },
}

/// What is done to the real answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aftermath {
    Truncate,
    Drop,
}

/// What is done to a request over IPMI, or to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpmiEffect {
    LoseRequest,
    Ignore { net_fn: u8, command: u8 },
    Busy,
    WrongRqSeq,
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

/// Where a fault takes hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// In the machine, in what it reports, or in what the service offers: as long as it is in force.
    Lasting,
    /// In the answer to a request.
    Answer(Answer),
    /// In what becomes of the real answer.
    Aftermath(Aftermath),
    /// In the check of credentials.
    Login,
    /// In the check of a reset against the present state.
    Conflict,
    /// In what becomes of a request over IPMI.
    Ipmi(IpmiEffect),
}

impl Fault {
    pub(super) fn effect(&self) -> Effect {
        match self {
            Self::HtmlInsteadOfJson => Effect::Answer(Answer::Html),
            Self::HttpStatus { status, retry_after } => Effect::Answer(Answer::Status {
                status: *status,
                retry_after: *retry_after,
            }),
            Self::Hang => Effect::Answer(Answer::Hang),
            Self::Redirect { to } => Effect::Answer(Answer::Redirect { to: to.clone() }),
            Self::TruncatedJson => Effect::Aftermath(Aftermath::Truncate),
            Self::DropAfterExecute => Effect::Aftermath(Aftermath::Drop),
            Self::RejectCredentials => Effect::Login,
            Self::AlreadyThere409 => Effect::Conflict,
            Self::IpmiLoseRequest => Effect::Ipmi(IpmiEffect::LoseRequest),
            Self::IpmiIgnoreCommand { net_fn, command } => Effect::Ipmi(IpmiEffect::Ignore {
                net_fn: *net_fn,
                command: *command,
            }),
            Self::IpmiBusy => Effect::Ipmi(IpmiEffect::Busy),
            Self::IpmiWrongRqSeq => Effect::Ipmi(IpmiEffect::WrongRqSeq),
            Self::IpmiRefuseSuite { suite, status } => Effect::Ipmi(IpmiEffect::RefuseSuite {
                suite: *suite,
                status: *status,
            }),
            Self::IpmiSessionsExhausted => Effect::Ipmi(IpmiEffect::Exhausted),
            Self::IpmiLoseReply => reply(ReplyFault::Lose),
            Self::IpmiDuplicateReply => reply(ReplyFault::Duplicate),
            Self::IpmiDelayReply { by } => reply(ReplyFault::Delay(*by)),
            Self::IpmiReorderReply => reply(ReplyFault::Reorder),
            Self::IpmiCorruptReply => reply(ReplyFault::Corrupt),
            Self::IpmiStaleReply => reply(ReplyFault::Stale),
            Self::LieOffWhileOn
            | Self::AcceptAndIgnore
            | Self::StuckPoweringOff
            | Self::ReportLiteral(_)
            | Self::WrongUuid
            | Self::NoSessionService
            | Self::LoseOnWhilePoweringOff
            | Self::PowersOnByItself { .. } => Effect::Lasting,
        }
    }
}

fn reply(fault: ReplyFault) -> Effect {
    Effect::Ipmi(IpmiEffect::Reply(fault))
}
