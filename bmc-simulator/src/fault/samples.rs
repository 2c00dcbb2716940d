//! One of each fault, for tests that go through all of them.

use std::time::Duration;

use crate::{CertificateDefect, Fault, IpmiFault, VendorError};

pub(super) fn all() -> Vec<Fault> {
    let span = Duration::from_secs(1);
    let text = || "/x".to_owned();
    let ipmi = [
        IpmiFault::LoseRequest,
        IpmiFault::LoseReply,
        IpmiFault::DuplicateReply,
        IpmiFault::DelayReply { by: span },
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
    ];
    let mut faults = vec![
        Fault::LieOffWhileOn,
        Fault::AcceptAndIgnore,
        Fault::StuckPoweringOff,
        Fault::ReportLiteral(None),
        Fault::HtmlInsteadOfJson,
        Fault::http_status(500),
        Fault::RejectCredentials,
        Fault::DropAfterExecute,
        Fault::Hang,
        Fault::Redirect { to: text() },
        Fault::WrongUuid,
        Fault::WrongNode { executes_on: text() },
        Fault::NoSessionService,
        Fault::AlreadyThere409,
        Fault::TruncatedJson,
        Fault::LoseOnWhilePoweringOff,
        Fault::PowersOnByItself { after: span },
        Fault::RefuseConnections,
        Fault::Blackhole,
        Fault::AcceptThenHang,
        Fault::ResetOnConnect,
        Fault::HalfClose,
        Fault::PlaintextOnTls,
        Fault::TlsAlert,
        Fault::Certificate(CertificateDefect::Expired),
        Fault::Tls12Only,
        Fault::ResetOnReuse,
        Fault::SlowAnswer { by: span },
        Fault::SlowLoris { every: span },
        Fault::CutAnswer { after: 1 },
        Fault::EndlessBody,
        Fault::DeepJson { depth: 1 },
        Fault::ErrorIn200,
        Fault::ExecuteThenStatus { status: 500 },
        Fault::Header {
            name: "a".to_owned(),
            value: text(),
        },
        Fault::JsonSet {
            pointer: text(),
            value: serde_json::Value::Null,
        },
        Fault::JsonRemove { pointer: text() },
        Fault::GatewayTimeoutHtml,
        Fault::VendorError(VendorError::Sys518),
        Fault::SessionTableFull,
        Fault::StaleReads { age: span },
        Fault::ReportFlaps { every: span },
        Fault::On409AfterOff { within: span },
        Fault::OnLostAfterOff { within: span },
        Fault::HostStateUnknown,
        Fault::HostStateUnreachable,
        Fault::OnShowsPoweringOn { during: span },
        Fault::ForceRestartHangs,
        Fault::RebootBmc,
        Fault::StuckTask { executes: true },
        Fault::FailedTask { after: span },
        Fault::CrashAbove {
            requests_per_second: 1,
        },
    ];
    faults.extend(ipmi.map(Fault::Ipmi));
    faults
}
