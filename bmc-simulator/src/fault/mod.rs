//! Ways to break a BMC. What a fault does is here; where it takes hold is its reader's business.

mod effect;
mod injection;
mod probability;
mod selector;
mod set;

pub(crate) use effect::{Aftermath, Answer};
pub use injection::{Injection, Window};
pub use probability::Probability;
pub(crate) use selector::Asked;
pub(crate) use set::FaultSet;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::RequestClass;

/// One way to misbehave. In JSON: `"hang"`, `{"http-status":{"status":503,"retryAfter":1}}`,
/// `{"report-literal":null}`, `{"powers-on-by-itself":{"after":"2s"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Fault {
    /// Reports Off although the machine is on; power-offs are accepted and ignored.
    LieOffWhileOn,
    /// Every command is accepted and nothing happens; reports the truth.
    AcceptAndIgnore,
    /// Once told to power off it reports `PoweringOff` for ever; the machine stays on.
    StuckPoweringOff,
    /// Reports this word as the power state, `None` being JSON null.
    ReportLiteral(Option<String>),
    /// Answers 200 with an HTML page; executes nothing.
    HtmlInsteadOfJson,
    /// Answers with this status; executes nothing.
    #[serde(rename_all = "camelCase")]
    HttpStatus {
        /// HTTP status, 200 to 599.
        status: u16,
        /// Value of `Retry-After` in seconds; absent = no such header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
    },
    /// Answers 401 to right credentials, too.
    RejectCredentials,
    /// Does what was asked, then closes the connection without an answer. Limited to
    /// [`RequestClass::Reset`] unless told otherwise.
    DropAfterExecute,
    /// Reads the request and never answers; executes nothing.
    Hang,
    /// Answers 307 to this URL; executes nothing.
    Redirect {
        /// Value of `Location`.
        to: String,
    },
    /// Another machine's UUID and serial number behind this address.
    WrongUuid,
    /// No `SessionService`: 404, and the service root does not name it (as sushy-emulator).
    NoSessionService,
    /// Answers 409 when a reset asks for the state the machine is in (as Dell iDRAC).
    #[serde(rename = "already-there-409")]
    AlreadyThere409,
    /// Cuts JSON answers in half.
    TruncatedJson,
    /// Forgets an `On` that comes while a power-off is pending (as sushy-emulator).
    LoseOnWhilePoweringOff,
    /// The machine powers on by itself once it has been off for this long.
    PowersOnByItself {
        /// Time from off to on.
        #[serde(with = "crate::human::text")]
        after: Duration,
    },
}

impl Fault {
    /// The name used in JSON and in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LieOffWhileOn => "lie-off-while-on",
            Self::AcceptAndIgnore => "accept-and-ignore",
            Self::StuckPoweringOff => "stuck-powering-off",
            Self::ReportLiteral(_) => "report-literal",
            Self::HtmlInsteadOfJson => "html-instead-of-json",
            Self::HttpStatus { .. } => "http-status",
            Self::RejectCredentials => "reject-credentials",
            Self::DropAfterExecute => "drop-after-execute",
            Self::Hang => "hang",
            Self::Redirect { .. } => "redirect",
            Self::WrongUuid => "wrong-uuid",
            Self::NoSessionService => "no-session-service",
            Self::AlreadyThere409 => "already-there-409",
            Self::TruncatedJson => "truncated-json",
            Self::LoseOnWhilePoweringOff => "lose-on-while-powering-off",
            Self::PowersOnByItself { .. } => "powers-on-by-itself",
        }
    }

    /// An HTTP status without `Retry-After`.
    pub fn http_status(status: u16) -> Self {
        Self::HttpStatus {
            status,
            retry_after: None,
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

    /// The kind of request it is limited to when nothing else is said.
    fn usual_class(&self) -> Option<RequestClass> {
        (*self == Self::DropAfterExecute).then_some(RequestClass::Reset)
    }

    /// Refuses parameters that could have no effect: field and reason.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if let Self::HttpStatus { status, .. } = self
            && !(200..=599).contains(status)
        {
            let reason = "not a final HTTP status: write a number from 200 to 599";
            return Err(("status", reason));
        }
        if let Self::Redirect { to } = self
            && (to.is_empty() || !to.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let reason = "not fit for a Location header: write a URL in plain ASCII";
            return Err(("to", reason));
        }
        Ok(())
    }
}
