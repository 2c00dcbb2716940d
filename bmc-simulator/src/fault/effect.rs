//! Where each fault takes hold.

use std::time::Duration;

use serde_json::Value;

use super::{Fault, IpmiEffect, VendorError};

/// What becomes of a connection that was just accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    Hang,
    Reset,
    HalfClose,
    Plaintext,
    Alert,
}

/// A page where JSON is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HtmlPage {
    /// 200, and a form to log in.
    Login,
    /// 504.
    GatewayTimeout,
}

/// An answer that replaces the real one; nothing is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Hang,
    /// A page, with its status.
    Html(HtmlPage),
    Status {
        status: u16,
        retry_after: Option<u64>,
    },
    Redirect {
        to: String,
    },
    Endless,
    Deep {
        depth: u32,
    },
    ErrorIn200,
    SessionsFull,
    Vendor(VendorError),
}

impl Answer {
    /// What a BMC says that is still starting.
    pub(crate) fn not_ready() -> Self {
        Self::Status {
            status: 503,
            retry_after: Some(5),
        }
    }
}

/// What is done to the real answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Aftermath {
    Truncate,
    Delay(Duration),
    Dribble(Duration),
    Cut(u64),
    Status(u16),
    Header {
        name: String,
        value: String,
    },
    /// Puts a value at a place, or takes away what is there.
    Edit {
        pointer: String,
        value: Option<Value>,
    },
}

/// What becomes of the task that a reset is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskCourse {
    /// It never ends.
    Stuck {
        /// Whether the machine is told of the reset.
        executes: bool,
    },
    /// It ends with an error, so long after it was begun; the machine is not told of the reset.
    Fails { after: Duration },
}

impl TaskCourse {
    /// Whether the machine is told of the reset.
    pub(crate) fn executes(self) -> bool {
        match self {
            Self::Stuck { executes } => executes,
            Self::Fails { .. } => false,
        }
    }
}

/// Where a fault takes hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// In the BMC or in what its service offers: as long as it is in force.
    Lasting,
    /// In a machine or in what is reported of it: as long as it is in force.
    Machine,
    /// In a connection that was just accepted.
    Connection(Connection),
    /// In a connection over which a request came before.
    Reuse,
    /// In the answer to a request.
    Answer(Answer),
    /// In the connection, once what was asked is done.
    Drop,
    /// In what becomes of the real answer.
    Aftermath(Aftermath),
    /// In the check of credentials.
    Login,
    /// In the check of a reset against the present state.
    Conflict,
    /// In the check of an On against the time since the machine went off.
    TooSoon(Duration),
    /// In which machine a reset reaches: the one that is this system.
    Rewire(String),
    /// In the BMC itself.
    Reboot,
    /// In the task that a reset is answered with.
    Task(TaskCourse),
    /// In what becomes of a request over IPMI.
    Ipmi(IpmiEffect),
}

impl Fault {
    pub(super) fn effect(&self) -> Effect {
        match self {
            Self::AcceptThenHang => Effect::Connection(Connection::Hang),
            Self::ResetOnConnect => Effect::Connection(Connection::Reset),
            Self::HalfClose => Effect::Connection(Connection::HalfClose),
            Self::PlaintextOnTls => Effect::Connection(Connection::Plaintext),
            Self::TlsAlert => Effect::Connection(Connection::Alert),
            Self::ResetOnReuse => Effect::Reuse,
            Self::HtmlInsteadOfJson => Effect::Answer(Answer::Html(HtmlPage::Login)),
            Self::HttpStatus { status, retry_after } => Effect::Answer(Answer::Status {
                status: *status,
                retry_after: *retry_after,
            }),
            Self::Hang => Effect::Answer(Answer::Hang),
            Self::Redirect { to } => Effect::Answer(Answer::Redirect { to: to.clone() }),
            Self::EndlessBody => Effect::Answer(Answer::Endless),
            Self::DeepJson { depth } => Effect::Answer(Answer::Deep { depth: *depth }),
            Self::ErrorIn200 => Effect::Answer(Answer::ErrorIn200),
            Self::GatewayTimeoutHtml => Effect::Answer(Answer::Html(HtmlPage::GatewayTimeout)),
            Self::VendorError(error) => Effect::Answer(Answer::Vendor(*error)),
            Self::SessionTableFull => Effect::Answer(Answer::SessionsFull),
            Self::TruncatedJson => Effect::Aftermath(Aftermath::Truncate),
            Self::DropAfterExecute => Effect::Drop,
            Self::SlowAnswer { by } => Effect::Aftermath(Aftermath::Delay(*by)),
            Self::SlowLoris { every } => Effect::Aftermath(Aftermath::Dribble(*every)),
            Self::CutAnswer { after } => Effect::Aftermath(Aftermath::Cut(*after)),
            Self::ExecuteThenStatus { status } => Effect::Aftermath(Aftermath::Status(*status)),
            Self::Header { name, value } => Effect::Aftermath(Aftermath::Header {
                name: name.clone(),
                value: value.clone(),
            }),
            Self::JsonSet { pointer, value } => edit(pointer, Some(value.clone())),
            Self::JsonRemove { pointer } => edit(pointer, None),
            Self::RejectCredentials => Effect::Login,
            Self::AlreadyThere409 => Effect::Conflict,
            Self::On409AfterOff { within } => Effect::TooSoon(*within),
            Self::RebootBmc => Effect::Reboot,
            Self::StuckTask { executes } => Effect::Task(TaskCourse::Stuck { executes: *executes }),
            Self::FailedTask { after } => Effect::Task(TaskCourse::Fails { after: *after }),
            Self::Ipmi(fault) => Effect::Ipmi(fault.effect()),
            Self::WrongNode { executes_on } => Effect::Rewire(executes_on.clone()),
            Self::LieOffWhileOn
            | Self::AcceptAndIgnore
            | Self::StuckPoweringOff
            | Self::ReportLiteral(_)
            | Self::WrongUuid
            | Self::LoseOnWhilePoweringOff
            | Self::PowersOnByItself { .. }
            | Self::StaleReads { .. }
            | Self::ReportFlaps { .. }
            | Self::OnLostAfterOff { .. }
            | Self::HostStateUnknown
            | Self::HostStateUnreachable
            | Self::OnShowsPoweringOn { .. }
            | Self::ForceRestartHangs => Effect::Machine,
            Self::NoSessionService
            | Self::RefuseConnections
            | Self::Blackhole
            | Self::Certificate(_)
            | Self::Tls12Only
            | Self::CrashAbove { .. } => Effect::Lasting,
        }
    }
}

fn edit(pointer: &str, value: Option<Value>) -> Effect {
    Effect::Aftermath(Aftermath::Edit {
        pointer: pointer.to_owned(),
        value,
    })
}
