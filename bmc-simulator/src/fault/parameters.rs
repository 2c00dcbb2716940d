//! Which parameters of a fault make no sense.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};

use super::{Fault, IpmiFault};

/// No answer of ours is larger, in bytes.
pub(crate) const LARGEST_ANSWER: usize = 1 << 20;

/// Two brackets for each level.
const DEEPEST: usize = LARGEST_ANSWER / 2;

/// The offending field, and what to write instead.
type Wrong = (&'static str, &'static str);

const NO_TIME: &str = "no time at all would mean no fault: write a duration above zero";

impl Fault {
    /// Refuses parameters that could have no effect.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        match self {
            Self::HttpStatus { status, .. } | Self::ExecuteThenStatus { status } => check_status(*status),
            Self::Redirect { to } if !is_graphic(to) => {
                Err(("to", "not fit for a Location header: write a URL in plain ASCII"))
            }
            Self::JsonSet { pointer, .. } | Self::JsonRemove { pointer } => check_pointer(pointer),
            Self::Header { name, value } => check_header(name, value),
            Self::SlowAnswer { by } => check_time("by", *by),
            Self::SlowLoris { every } | Self::ReportFlaps { every } => check_time("every", *every),
            Self::OnShowsPoweringOn { during } => check_time("during", *during),
            Self::StaleReads { age } => check_time("age", *age),
            Self::On409AfterOff { within } | Self::OnLostAfterOff { within } => check_time("within", *within),
            Self::CutAnswer { after }
                if usize::try_from(*after).is_ok_and(|after| after < LARGEST_ANSWER) =>
            {
                Ok(())
            }
            Self::CutAnswer { .. } => Err(("after", "no answer is so long: write less than 1048576 (1 MiB)")),
            Self::DeepJson { depth: 0 } => Err(("depth", "nothing would be nested: write 1 or more")),
            Self::DeepJson { depth } if usize::try_from(*depth).map_or(true, |depth| depth > DEEPEST) => {
                Err(("depth", "no answer is so long: write at most 524288"))
            }
            Self::Ipmi(fault) => fault.check(),
            // Without a delay it comes back, or fails, at once, and with a limit of 0 every request is one too
            // many.
            Self::PowersOnByItself { .. }
            | Self::FailedTask { .. }
            | Self::StuckTask { .. }
            | Self::CrashAbove { .. }
            | Self::Redirect { .. }
            | Self::DeepJson { .. }
            | Self::LieOffWhileOn
            | Self::AcceptAndIgnore
            | Self::StuckPoweringOff
            | Self::ReportLiteral(_)
            | Self::HtmlInsteadOfJson
            | Self::RejectCredentials
            | Self::DropAfterExecute
            | Self::Hang
            | Self::WrongUuid
            | Self::WrongNode { .. }
            | Self::NoSessionService
            | Self::AlreadyThere409
            | Self::TruncatedJson
            | Self::LoseOnWhilePoweringOff
            | Self::RefuseConnections
            | Self::Blackhole
            | Self::AcceptThenHang
            | Self::ResetOnConnect
            | Self::HalfClose
            | Self::PlaintextOnTls
            | Self::TlsAlert
            | Self::Certificate(_)
            | Self::Tls12Only
            | Self::ResetOnReuse
            | Self::EndlessBody
            | Self::ErrorIn200
            | Self::HostStateUnknown
            | Self::HostStateUnreachable
            | Self::ForceRestartHangs
            | Self::GatewayTimeoutHtml
            | Self::VendorError(_)
            | Self::SessionTableFull
            | Self::RebootBmc => Ok(()),
        }
    }
}

impl IpmiFault {
    fn check(self) -> Result<(), Wrong> {
        match self {
            Self::RefuseSuite { status: 0, .. } => Err(("status", "0 would be no refusal: write 1 to 255")),
            Self::IgnoreCommand { net_fn, .. } if net_fn > 62 || net_fn % 2 != 0 => Err((
                "netFn",
                "not the network function of a request: write an even number from 0 to 62",
            )),
            Self::SkipSequence { by: 0 } => Err(("by", "0 would skip nothing: write 1 or more")),
            Self::DelayReply { by } => check_time("by", by),
            Self::RefuseSuite { .. }
            | Self::IgnoreCommand { .. }
            | Self::LoseRequest
            | Self::LoseReply
            | Self::DuplicateReply
            | Self::ReorderReply
            | Self::CorruptReply
            | Self::StaleReply
            | Self::WrongRqSeq
            | Self::BadChecksum
            | Self::SkipSequence { .. }
            | Self::Busy
            | Self::SessionsExhausted => Ok(()),
        }
    }
}

fn check_time(field: &'static str, time: Duration) -> Result<(), Wrong> {
    if time.is_zero() {
        return Err((field, NO_TIME));
    }
    Ok(())
}

fn check_status(status: u16) -> Result<(), Wrong> {
    if (200..=599).contains(&status) {
        return Ok(());
    }
    Err((
        "status",
        "not a final HTTP status: write a number from 200 to 599",
    ))
}

/// RFC 6901 section 3: `~` is written `~0`, and `/` in a name `~1`.
fn check_pointer(pointer: &str) -> Result<(), Wrong> {
    let mut escapes = pointer.split('~').skip(1);
    if !pointer.starts_with('/') || escapes.any(|rest| !rest.starts_with(['0', '1'])) {
        return Err((
            "pointer",
            "no JSON Pointer: begin with `/`, as in `/PowerState`, and write `~` as `~0`",
        ));
    }
    Ok(())
}

fn check_header(name: &str, value: &str) -> Result<(), Wrong> {
    if HeaderName::try_from(name).is_err() {
        return Err(("name", "no name of an HTTP header: use letters, digits and `-`"));
    }
    let framing = ["content-length", "transfer-encoding", "connection"];
    if framing.iter().any(|taken| name.eq_ignore_ascii_case(taken)) {
        return Err((
            "name",
            "this header frames the answer: use `cut-answer` or `truncated-json` instead",
        ));
    }
    if HeaderValue::try_from(value).is_err() {
        return Err(("value", "not fit for an HTTP header: write printable ASCII"));
    }
    Ok(())
}

fn is_graphic(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}
