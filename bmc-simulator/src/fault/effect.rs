//! Where each fault takes hold.

use super::{Fault, IpmiEffect};

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
            Self::Ipmi(fault) => Effect::Ipmi(fault.effect()),
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
