//! Ways to break a BMC. What a fault does is here; where it takes hold is its reader's business.

mod effect;
mod ipmi;
mod set;

pub(crate) use effect::{Aftermath, Answer};
pub use ipmi::IpmiFault;
pub(crate) use ipmi::{IpmiEffect, ReplyFault};
pub(crate) use set::FaultSet;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{RequestClass, SimError};
use effect::Effect;

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
    /// Misbehaves over IPMI.
    Ipmi(IpmiFault),
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
            Self::Ipmi(fault) => fault.name(),
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
}

/// A fault and the requests it is meant for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Injection {
    /// What to do.
    pub fault: Fault,
    /// Only for this kind of request; absent = every kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<RequestClass>,
    /// For how many more requests; absent = until cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

impl Injection {
    /// Limits the fault to one kind of request.
    pub fn on(self, class: RequestClass) -> Self {
        Self {
            on: Some(class),
            ..self
        }
    }

    /// Limits the fault to the next `times` requests that it applies to.
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// Refuses what could have no effect, so that no test passes because its fault never was.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        let refuse = |field, reason| {
            Err(SimError::InvalidFault {
                fault: self.fault.name(),
                field,
                reason,
            })
        };
        let per_request = self.fault.effect() != Effect::Lasting;
        if self.on.is_some() && !per_request {
            return refuse(
                "on",
                "this fault is not about single requests: leave the field out",
            );
        }
        if self.times.is_some() && !per_request {
            return refuse(
                "times",
                "this fault is not about single requests: leave the field out",
            );
        }
        if self.times == Some(0) {
            return refuse(
                "times",
                "zero requests would mean no fault: write 1 or more, or leave it out",
            );
        }
        if let Fault::HttpStatus { status, .. } = &self.fault
            && !(200..=599).contains(status)
        {
            return refuse(
                "status",
                "not a final HTTP status: write a number from 200 to 599",
            );
        }
        if let Fault::Redirect { to } = &self.fault
            && (to.is_empty() || !to.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return refuse("to", "not fit for a Location header: write a URL in plain ASCII");
        }
        if self.fault == Fault::AlreadyThere409 && self.on.is_some_and(|class| class != RequestClass::Reset) {
            return refuse("on", "only a reset can be answered so: leave the field out");
        }
        self.check_protocol()
    }
}

impl From<Fault> for Injection {
    fn from(fault: Fault) -> Self {
        let on = (fault == Fault::DropAfterExecute).then_some(RequestClass::Reset);
        Self {
            fault,
            on,
            times: None,
        }
    }
}
