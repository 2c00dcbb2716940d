//! What each fault is called, and what it is usually meant for.

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
            Self::WrongNode { .. } => "wrong-node",
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
            Self::StuckTask { .. } => "stuck-task",
            Self::FailedTask { .. } => "failed-task",
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
            Self::AlreadyThere409
            | Self::On409AfterOff { .. }
            | Self::StuckTask { .. }
            | Self::FailedTask { .. } => Some(RequestClass::Reset),
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
            | Self::WrongNode { .. }
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
}
