//! Every class of error, one row each: under which name it is counted, what a remediation makes of it,
//! whether it passes, and whether a power command may have been executed. What a person reads ends with
//! what to do and holds no password.

use std::collections::BTreeSet;
use std::time::Duration;

use remediator_bmc::{CredentialsError, NotAllowed, Protocol, TlsFailure, TransportSecurity, Verb};
use remediator_core::identity::SystemUuid;
use remediator_core::power_command::CommandCame;

use crate::bmc_access::bmc_obstacle::*;

struct Row {
    error: BmcError,
    counted: &'static str,
    reason: Reason,
    transient: bool,
}

fn lasts(error: BmcError, counted: &'static str, reason: Reason) -> Row {
    Row {
        error,
        counted,
        reason,
        transient: false,
    }
}

fn passes(error: BmcError, counted: &'static str, reason: Reason) -> Row {
    Row {
        transient: true,
        ..lasts(error, counted, reason)
    }
}

fn text() -> String {
    "what was said".to_owned()
}

fn before_anything_is_sent() -> Vec<Row> {
    let key = "password";
    let credentials = CredentialsError::Missing(key);
    vec![
        lasts(
            BmcError::ProtocolNotAllowed(Protocol::Ipmi),
            "BmcProtocolNotAllowed",
            Reason::BmcProtocolNotAllowed,
        ),
        lasts(
            BmcError::CredentialsUnusable(credentials),
            "BmcCredentialsUnusable",
            Reason::BmcCredentialsMissing,
        ),
        lasts(
            BmcError::InsecureTransport {
                offered: TransportSecurity::PlainHttp,
                required: TransportSecurity::VerifiedTls,
            },
            "BmcTransportNotAllowed",
            Reason::BmcTlsUntrusted,
        ),
        lasts(
            BmcError::AddressNotAllowed {
                host: text(),
                address: [192, 0, 2, 1].into(),
                why: NotAllowed::Unlisted,
            },
            "BmcAddressNotAllowed",
            Reason::BmcAddressNotAllowed,
        ),
        lasts(
            BmcError::TrustUnusable(text()),
            "BmcTrustUnusable",
            Reason::BmcTlsUntrusted,
        ),
        passes(
            BmcError::Unresolvable {
                host: text(),
                cause: text(),
            },
            "BmcUnresolvable",
            Reason::BmcUnreachable,
        ),
        passes(
            BmcError::Resting(Duration::from_secs(3)),
            "BmcResting",
            Reason::BmcNotReady,
        ),
        passes(BmcError::TooLate, "BmcTooLate", Reason::BmcUnreachable),
        lasts(BmcError::NotRead, "BmcNotRead", Reason::BmcProtocolError),
    ]
}

fn on_the_way() -> Vec<Row> {
    let unreachable = BmcError::Unreachable(text());
    let tls = |failure| BmcError::Tls(failure);
    vec![
        passes(unreachable, "BmcUnreachable", Reason::BmcUnreachable),
        passes(
            BmcError::NoAnswer(text()),
            "BmcUnreachable",
            Reason::BmcUnreachable,
        ),
        passes(
            BmcError::UnknownOutcome(text()),
            "BmcOutcomeUnknown",
            Reason::BmcUnreachable,
        ),
        lasts(
            tls(TlsFailure::UnknownIssuer),
            "BmcTlsUntrusted",
            Reason::BmcTlsUntrusted,
        ),
        lasts(
            tls(TlsFailure::ProtocolVersion),
            "BmcTlsFailed",
            Reason::BmcProtocolError,
        ),
        passes(
            tls(TlsFailure::Other(text())),
            "BmcTlsFailed",
            Reason::BmcUnreachable,
        ),
    ]
}

fn what_redfish_says() -> Vec<Row> {
    let http = |status, busy| BmcError::Http {
        status,
        text: text(),
        busy,
        retry_after: None,
    };
    vec![
        lasts(
            BmcError::AuthenticationRejected {
                status: 401,
                text: text(),
            },
            "BmcCredentialsRejected",
            Reason::BmcCredentialsRejected,
        ),
        lasts(BmcError::Forbidden(text()), "BmcForbidden", Reason::BmcForbidden),
        lasts(
            BmcError::SessionsUnsupported,
            "BmcSessionsUnsupported",
            Reason::BmcProtocolError,
        ),
        lasts(
            BmcError::NotRedfish(text()),
            "BmcNotRedfish",
            Reason::BmcProtocolError,
        ),
        lasts(
            BmcError::Redirected(307, text()),
            "BmcRedirected",
            Reason::BmcProtocolError,
        ),
        lasts(
            BmcError::ForeignReference("session", text()),
            "BmcForeignReference",
            Reason::BmcProtocolError,
        ),
        lasts(
            BmcError::TooLarge(1),
            "BmcAnswerTooLarge",
            Reason::BmcProtocolError,
        ),
        lasts(http(400, false), "BmcHttpError", Reason::BmcProtocolError),
        passes(http(400, true), "BmcHttpError", Reason::BmcNotReady),
        passes(http(429, false), "BmcHttpError", Reason::BmcNotReady),
        passes(http(503, false), "BmcHttpError", Reason::BmcNotReady),
    ]
}

fn about_the_system() -> Vec<Row> {
    let uuid = |text: &str| SystemUuid::parse(text).expect("it is one");
    vec![
        lasts(
            BmcError::AmbiguousSystem {
                members: 2,
                matching: 0,
            },
            "BmcSystemAmbiguous",
            Reason::BmcSystemAmbiguous,
        ),
        lasts(
            BmcError::NoSuchSystem {
                path: text(),
                found: text(),
            },
            "BmcSystemNotFound",
            Reason::BmcProtocolError,
        ),
        lasts(
            BmcError::IdentityMismatch {
                expected: uuid("8d7f3a1c-5b2e-4f60-9c41-2a7de0b91f35"),
                found: uuid("8d7f3a1c-5b2e-4f60-9c41-2a7de0b91f36"),
            },
            "BmcIdentityMismatch",
            Reason::IdentityMismatch,
        ),
        lasts(
            BmcError::MissingResetTarget,
            "BmcResetMissing",
            Reason::BmcCommandRefused,
        ),
        lasts(
            BmcError::CommandNotOffered(Verb::PowerOff, text()),
            "BmcCommandNotOffered",
            Reason::BmcCommandRefused,
        ),
    ]
}

fn what_ipmi_says() -> Vec<Row> {
    let refused = |busy| IpmiError::Refused { text: text(), busy };
    let unanswered = IpmiError::LoginUnanswered("message 3", text());
    vec![
        lasts(
            IpmiError::LoginRejected(text()).into(),
            "BmcCredentialsRejected",
            Reason::BmcCredentialsRejected,
        ),
        lasts(unanswered.into(), "BmcLoginUnanswered", Reason::BmcUnreachable),
        lasts(
            IpmiError::PrivilegeDenied(text()).into(),
            "BmcForbidden",
            Reason::BmcForbidden,
        ),
        lasts(
            IpmiError::NoCipherSuite(text()).into(),
            "BmcNoCipherSuite",
            Reason::BmcProtocolError,
        ),
        lasts(refused(false).into(), "BmcIpmiError", Reason::BmcProtocolError),
        passes(refused(true).into(), "BmcIpmiError", Reason::BmcNotReady),
        lasts(
            IpmiError::Malformed(text()).into(),
            "BmcNotIpmi",
            Reason::BmcProtocolError,
        ),
        passes(
            IpmiError::EarlierCommandUnderWay.into(),
            "BmcCommandUnderWay",
            Reason::BmcNotReady,
        ),
    ]
}

/// Whatever IPMI says, Redfish may be back any time; and of the Secret it says nothing.
fn in_place_of_redfish() -> Vec<Row> {
    let after = |ipmi| BmcError::FallbackFailed {
        redfish: text(),
        ipmi: Box::new(ipmi),
    };
    let uuid = |text| SystemUuid::parse(text).unwrap();
    let unproven = || BmcError::GuidUnproven(text());
    let another = BmcError::IdentityMismatch {
        expected: uuid("4c4c4544-0042-3010-8054-b7c04f565931"),
        found: uuid("4c4c4544-0042-3010-8054-b7c04f565932"),
    };
    let rejected = IpmiError::LoginRejected(text());
    let long = CredentialsError::TooLongForIpmi("password", 20);
    let too_long = BmcError::CredentialsUnusable(long);
    let silent = BmcError::NoAnswer(text());
    let failed = |ipmi, reason| passes(after(ipmi), "BmcFallbackFailed", reason);
    vec![
        lasts(unproven(), "BmcGuidUnproven", Reason::IdentityUnproven),
        failed(unproven(), Reason::IdentityUnproven),
        failed(another, Reason::IdentityMismatch),
        failed(rejected.into(), Reason::BmcUnreachable),
        failed(too_long, Reason::BmcUnreachable),
        failed(silent, Reason::BmcUnreachable),
    ]
}

/// What may come back for a command. All else comes before one is sent.
const MAY_ANSWER_A_COMMAND: [&str; 8] = [
    "BmcAnswerTooLarge",
    "BmcForbidden",
    "BmcHttpError",
    "BmcIpmiError",
    "BmcNotIpmi",
    "BmcNotRedfish",
    "BmcOutcomeUnknown",
    "BmcRedirected",
];

#[test]
fn every_class_of_error_has_its_name_its_reason_and_its_advice() {
    let rows = [
        before_anything_is_sent(),
        on_the_way(),
        what_redfish_says(),
        about_the_system(),
        what_ipmi_says(),
        in_place_of_redfish(),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    for row in &rows {
        let error = &row.error;
        assert_eq!(error.reason(), row.counted, "{error:?}");
        assert_eq!(error.is_transient(), row.transient, "{error:?}");
        let unknown = matches!(error, BmcError::UnknownOutcome(_));
        assert_eq!(error.may_have_been_executed(), unknown, "{error:?}");
        // Attempts count what was sent.
        let was_sent = MAY_ANSWER_A_COMMAND.contains(&row.counted);
        assert_eq!(
            error.command_came() != CommandCame::NotSent,
            was_sent,
            "{error:?}"
        );
        let found = obstacle("BareMetalHost metal3/worker-0", error);
        assert_eq!(found.reason, row.reason, "{error:?}");
        assert!(found.detail.starts_with("BareMetalHost metal3/worker-0: "));
        let sentences = error.to_string();
        assert!(
            sentences.ends_with('.') && (sentences.contains(". ") || sentences.contains("; ")),
            "says no more than what happened: {sentences}"
        );
    }
    let named: BTreeSet<&str> = rows.iter().map(|row| variant(&row.error)).collect();
    assert_eq!(named.len(), VARIANTS, "{named:?}");
}

/// Kinds of errors: those of [`BmcError`] with those of IPMI in the place of its `Ipmi`.
const VARIANTS: usize = 35;

/// Makes a new kind of error a compile error here: give it a row above.
fn variant(error: &BmcError) -> &'static str {
    match error {
        BmcError::ProtocolNotAllowed(_) => "ProtocolNotAllowed",
        BmcError::CredentialsUnusable(_) => "CredentialsUnusable",
        BmcError::InsecureTransport { .. } => "InsecureTransport",
        BmcError::AddressNotAllowed { .. } => "AddressNotAllowed",
        BmcError::Unresolvable { .. } => "Unresolvable",
        BmcError::Unreachable(_) => "Unreachable",
        BmcError::NoAnswer(_) => "NoAnswer",
        BmcError::UnknownOutcome(_) => "UnknownOutcome",
        BmcError::Tls(_) => "Tls",
        BmcError::TrustUnusable(_) => "TrustUnusable",
        BmcError::AuthenticationRejected { .. } => "AuthenticationRejected",
        BmcError::Forbidden(_) => "Forbidden",
        BmcError::SessionsUnsupported => "SessionsUnsupported",
        BmcError::NotRedfish(_) => "NotRedfish",
        BmcError::Redirected(..) => "Redirected",
        BmcError::AmbiguousSystem { .. } => "AmbiguousSystem",
        BmcError::NoSuchSystem { .. } => "NoSuchSystem",
        BmcError::IdentityMismatch { .. } => "IdentityMismatch",
        BmcError::MissingResetTarget => "MissingResetTarget",
        BmcError::ForeignReference(..) => "ForeignReference",
        BmcError::CommandNotOffered(..) => "CommandNotOffered",
        BmcError::TooLate => "TooLate",
        BmcError::NotRead => "NotRead",
        BmcError::Http { .. } => "Http",
        BmcError::Resting(_) => "Resting",
        BmcError::TooLarge(_) => "TooLarge",
        BmcError::FallbackFailed { .. } => "FallbackFailed",
        BmcError::GuidUnproven(_) => "GuidUnproven",
        BmcError::Ipmi(IpmiError::LoginRejected(_)) => "LoginRejected",
        BmcError::Ipmi(IpmiError::LoginUnanswered(..)) => "LoginUnanswered",
        BmcError::Ipmi(IpmiError::PrivilegeDenied(_)) => "PrivilegeDenied",
        BmcError::Ipmi(IpmiError::NoCipherSuite(_)) => "NoCipherSuite",
        BmcError::Ipmi(IpmiError::Refused { .. }) => "Refused",
        BmcError::Ipmi(IpmiError::Malformed(_)) => "Malformed",
        BmcError::Ipmi(IpmiError::EarlierCommandUnderWay) => "EarlierCommandUnderWay",
    }
}
