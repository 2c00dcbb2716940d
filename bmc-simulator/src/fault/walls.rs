//! Which faults keep clients away without a trace.

use super::Fault;

impl Fault {
    /// Whether it may keep a careful client from reading, or give it a reason not to, and leaves no entry
    /// in the journal when it does.
    pub(crate) fn walls_off(&self) -> bool {
        match self {
            Self::RefuseConnections
            | Self::Blackhole
            | Self::Certificate(_)
            | Self::Tls12Only
            | Self::NoSessionService
            | Self::WrongUuid => true,
            Self::LieOffWhileOn
            | Self::AcceptAndIgnore
            | Self::StuckPoweringOff
            | Self::ReportLiteral(_)
            | Self::LoseOnWhilePoweringOff
            | Self::PowersOnByItself { .. }
            | Self::StaleReads { .. }
            | Self::ReportFlaps { .. }
            | Self::OnLostAfterOff { .. }
            | Self::HostStateUnknown
            | Self::HostStateUnreachable
            | Self::OnShowsPoweringOn { .. }
            | Self::ForceRestartHangs
            | Self::WrongNode { .. }
            // These are journalled each time they hit.
            | Self::RejectCredentials
            | Self::AlreadyThere409
            | Self::On409AfterOff { .. }
            | Self::HttpStatus { .. }
            | Self::HtmlInsteadOfJson
            | Self::Redirect { .. }
            | Self::Hang
            | Self::DropAfterExecute
            | Self::TruncatedJson
            | Self::AcceptThenHang
            | Self::ResetOnConnect
            | Self::HalfClose
            | Self::PlaintextOnTls
            | Self::TlsAlert
            | Self::ResetOnReuse
            | Self::SlowAnswer { .. }
            | Self::SlowLoris { .. }
            | Self::CutAnswer { .. }
            | Self::EndlessBody
            | Self::DeepJson { .. }
            | Self::ErrorIn200
            | Self::GatewayTimeoutHtml
            | Self::VendorError(_)
            | Self::ExecuteThenStatus { .. }
            | Self::Header { .. }
            | Self::JsonSet { .. }
            | Self::JsonRemove { .. }
            | Self::SessionTableFull
            | Self::RebootBmc
            | Self::StuckTask { .. }
            | Self::FailedTask { .. }
            | Self::CrashAbove { .. }
            | Self::Ipmi(_) => false,
        }
    }
}
