//! Every fault with everything that can narrow it: taken where it could have an effect, else refused with
//! the field and what was expected there.

mod details;
mod kinds;

use crate::RequestClass::{
    self, Connect, IpmiChassisControl, IpmiChassisStatus, IpmiCipherSuites, IpmiCloseSession, IpmiDiscovery,
    IpmiOpenSession, IpmiOther, IpmiPing, IpmiRakp1, IpmiRakp3, IpmiSetPrivilege, Other, Reset, ServiceRoot,
    SessionCreate, SessionDelete, SystemCollection, SystemGet,
};
use crate::{Injection, SimError};

const HTTP: [RequestClass; 7] = [
    ServiceRoot,
    SystemCollection,
    SystemGet,
    Reset,
    SessionCreate,
    SessionDelete,
    Other,
];
const LOGIN: [RequestClass; 7] = [
    SystemCollection,
    SystemGet,
    Reset,
    SessionCreate,
    SessionDelete,
    Other,
    IpmiRakp1,
];
const IPMI: [RequestClass; 11] = [
    IpmiPing,
    IpmiDiscovery,
    IpmiCipherSuites,
    IpmiOpenSession,
    IpmiRakp1,
    IpmiRakp3,
    IpmiSetPrivilege,
    IpmiChassisStatus,
    IpmiChassisControl,
    IpmiCloseSession,
    IpmiOther,
];
const COMMANDS: [RequestClass; 7] = [
    IpmiDiscovery,
    IpmiCipherSuites,
    IpmiSetPrivilege,
    IpmiChassisStatus,
    IpmiChassisControl,
    IpmiCloseSession,
    IpmiOther,
];

/// What each can hit, by the README; nothing = it is not about single requests.
fn classes(name: &str) -> &'static [RequestClass] {
    match name {
        "lie-off-while-on"
        | "accept-and-ignore"
        | "stuck-powering-off"
        | "report-literal"
        | "lose-on-while-powering-off"
        | "powers-on-by-itself"
        | "wrong-uuid"
        | "no-session-service"
        | "refuse-connections"
        | "blackhole"
        | "certificate"
        | "tls-1.2-only"
        | "stale-reads"
        | "report-flaps"
        | "on-lost-after-off"
        | "host-state-unknown"
        | "host-state-unreachable"
        | "on-shows-powering-on"
        | "force-restart-hangs"
        | "crash-above" => &[],
        "accept-then-hang" | "reset-on-connect" | "half-close" | "plaintext-on-tls" | "tls-alert" => {
            &[Connect]
        }
        "already-there-409" | "on-409-after-off" | "stuck-task" | "failed-task" => &[Reset],
        "wrong-node" => &[Reset, IpmiChassisControl],
        "session-table-full" => &[SessionCreate],
        "reject-credentials" => &LOGIN,
        "html-instead-of-json"
        | "http-status"
        | "drop-after-execute"
        | "hang"
        | "redirect"
        | "truncated-json"
        | "reset-on-reuse"
        | "slow-answer"
        | "slow-loris"
        | "cut-answer"
        | "endless-body"
        | "deep-json"
        | "error-in-200"
        | "execute-then-status"
        | "header"
        | "json-set"
        | "json-remove"
        | "gateway-timeout-html"
        | "vendor-error"
        | "reboot-bmc" => &HTTP,
        "ipmi-lose-request"
        | "ipmi-lose-reply"
        | "ipmi-duplicate-reply"
        | "ipmi-delay-reply"
        | "ipmi-reorder-reply"
        | "ipmi-corrupt-reply" => &IPMI,
        "ipmi-stale-reply" | "ipmi-wrong-rq-seq" | "ipmi-bad-checksum" | "ipmi-skip-sequence"
        | "ipmi-busy" => &COMMANDS,
        "ipmi-ignore-command" => &[IpmiCloseSession],
        "ipmi-refuse-suite" | "ipmi-sessions-exhausted" => &[IpmiOpenSession],
        other => panic!("{other} is in no table"),
    }
}

/// Fault, field and reason of a refusal.
fn told(error: SimError) -> (&'static str, &'static str, String) {
    let SimError::InvalidFault { fault, field, reason } = error else {
        panic!("{error}");
    };
    (fault, field, reason)
}

fn refused(injection: &Injection, field: &str) -> String {
    let error = injection.check().expect_err(&format!("{injection:?}"));
    let (fault, named, reason) = told(error);
    assert_eq!((fault, named), (injection.fault.name(), field), "{reason}");
    assert!(reason.contains(':'), "what to do instead: {reason}");
    reason
}

fn taken(injection: &Injection) {
    injection
        .check()
        .unwrap_or_else(|error| panic!("{injection:?}: {error}"));
}
