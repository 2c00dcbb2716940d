//! What each fault is called, what it is usually meant for, and which parameters make no sense.

use super::{Fault, Injection};
use crate::RequestClass;

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
            Self::RefuseConnections => "refuse-connections",
            Self::Blackhole => "blackhole",
            Self::AcceptThenHang => "accept-then-hang",
            Self::ResetOnConnect => "reset-on-connect",
            Self::HalfClose => "half-close",
            Self::PlaintextOnTls => "plaintext-on-tls",
            Self::TlsAlert => "tls-alert",
            Self::Certificate(_) => "certificate",
            Self::Tls12Only => "tls-1.2-only",
            Self::ResetOnReuse => "reset-on-reuse",
            Self::SlowAnswer { .. } => "slow-answer",
            Self::SlowLoris { .. } => "slow-loris",
            Self::CutAnswer { .. } => "cut-answer",
            Self::EndlessBody => "endless-body",
            Self::DeepJson { .. } => "deep-json",
            Self::ErrorIn200 => "error-in-200",
            Self::ExecuteThenStatus { .. } => "execute-then-status",
            Self::Header { .. } => "header",
            Self::JsonSet { .. } => "json-set",
            Self::JsonRemove { .. } => "json-remove",
            Self::GatewayTimeoutHtml => "gateway-timeout-html",
            Self::VendorError(_) => "vendor-error",
            Self::SessionTableFull => "session-table-full",
            Self::StaleReads { .. } => "stale-reads",
            Self::ReportFlaps { .. } => "report-flaps",
            Self::On409AfterOff { .. } => "on-409-after-off",
            Self::OnLostAfterOff { .. } => "on-lost-after-off",
            Self::HostStateUnknown => "host-state-unknown",
            Self::HostStateUnreachable => "host-state-unreachable",
            Self::OnShowsPoweringOn { .. } => "on-shows-powering-on",
            Self::ForceRestartHangs => "force-restart-hangs",
            Self::RebootBmc => "reboot-bmc",
            Self::CrashAbove { .. } => "crash-above",
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

    /// The only kind of request that it can be about.
    pub(super) fn only_class(&self) -> Option<RequestClass> {
        match self {
            Self::AcceptThenHang
            | Self::ResetOnConnect
            | Self::HalfClose
            | Self::PlaintextOnTls
            | Self::TlsAlert => Some(RequestClass::Connect),
            Self::AlreadyThere409 | Self::On409AfterOff { .. } => Some(RequestClass::Reset),
            Self::SessionTableFull => Some(RequestClass::SessionCreate),
            Self::LieOffWhileOn
            | Self::AcceptAndIgnore
            | Self::StuckPoweringOff
            | Self::ReportLiteral(_)
            | Self::HtmlInsteadOfJson
            | Self::HttpStatus { .. }
            | Self::RejectCredentials
            | Self::DropAfterExecute
            | Self::Hang
            | Self::Redirect { .. }
            | Self::WrongUuid
            | Self::NoSessionService
            | Self::TruncatedJson
            | Self::LoseOnWhilePoweringOff
            | Self::PowersOnByItself { .. }
            | Self::RefuseConnections
            | Self::Blackhole
            | Self::Certificate(_)
            | Self::Tls12Only
            | Self::ResetOnReuse
            | Self::SlowAnswer { .. }
            | Self::SlowLoris { .. }
            | Self::CutAnswer { .. }
            | Self::EndlessBody
            | Self::DeepJson { .. }
            | Self::ErrorIn200
            | Self::VendorError(_)
            | Self::GatewayTimeoutHtml
            | Self::ExecuteThenStatus { .. }
            | Self::Header { .. }
            | Self::JsonSet { .. }
            | Self::JsonRemove { .. }
            | Self::StaleReads { .. }
            | Self::ReportFlaps { .. }
            | Self::OnLostAfterOff { .. }
            | Self::HostStateUnknown
            | Self::HostStateUnreachable
            | Self::OnShowsPoweringOn { .. }
            | Self::ForceRestartHangs
            | Self::RebootBmc
            | Self::CrashAbove { .. }
            | Self::Ipmi(_) => None,
        }
    }

    /// Whether it is over once the BMC restarts, as what filled up or got stuck in its memory.
    pub(super) fn is_cured_by_restart(&self) -> bool {
        matches!(self, Self::SessionTableFull | Self::GatewayTimeoutHtml)
    }

    /// The kind of request it is limited to when nothing else is said.
    pub(super) fn usual_class(&self) -> Option<RequestClass> {
        let reset = (*self == Self::DropAfterExecute).then_some(RequestClass::Reset);
        reset.or(self.only_class())
    }

    /// Refuses parameters that could have no effect: field and reason.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if let Self::HttpStatus { status, .. } | Self::ExecuteThenStatus { status } = self
            && !(200..=599).contains(status)
        {
            return Err((
                "status",
                "not a final HTTP status: write a number from 200 to 599",
            ));
        }
        if let Self::Redirect { to } = self
            && !is_graphic(to)
        {
            return Err(("to", "not fit for a Location header: write a URL in plain ASCII"));
        }
        if let Self::JsonSet { pointer, .. } | Self::JsonRemove { pointer } = self
            && !pointer.starts_with('/')
        {
            return Err(("pointer", "no JSON Pointer: begin with `/`, as in `/PowerState`"));
        }
        if let Self::Header { name, value } = self {
            if axum::http::HeaderName::try_from(name.as_str()).is_err() {
                return Err(("name", "no name of an HTTP header: use letters, digits and `-`"));
            }
            let framing = ["content-length", "transfer-encoding", "connection"];
            if framing.iter().any(|taken| name.eq_ignore_ascii_case(taken)) {
                return Err((
                    "name",
                    "this header frames the answer: use `cut-answer` or `truncated-json` instead",
                ));
            }
            if axum::http::HeaderValue::try_from(value.as_str()).is_err() {
                return Err(("value", "not fit for an HTTP header: write printable ASCII"));
            }
        }
        if let Self::ReportFlaps { every } = self
            && every.is_zero()
        {
            return Err(("every", "nobody flaps so fast: write more than 0s"));
        }
        Ok(())
    }
}

fn is_graphic(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}
