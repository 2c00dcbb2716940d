//! Every fault with everything that can narrow it: taken where it could have an effect, else refused with
//! the field and what was expected there.

use std::time::Duration;

use super::Target;
use super::samples::all;
use crate::RequestClass::{
    self, Connect, IpmiChassisControl, IpmiChassisStatus, IpmiCipherSuites, IpmiCloseSession, IpmiDiscovery,
    IpmiOpenSession, IpmiOther, IpmiPing, IpmiRakp1, IpmiRakp3, IpmiSetPrivilege, Other, Reset, ServiceRoot,
    SessionCreate, SessionDelete, SystemCollection, SystemGet,
};
use crate::{Fault, Injection, IpmiFault, Probability, SimError};

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
        "already-there-409" | "on-409-after-off" => &[Reset],
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

#[test]
fn every_fault_on_every_kind_of_request() {
    for fault in all() {
        let fits = classes(fault.name());
        taken(&Injection::from(fault.clone()));
        for class in RequestClass::ALL {
            let injection = fault.clone().on(class);
            if fits.contains(&class) {
                taken(&injection);
                continue;
            }
            let reason = refused(&injection, "on");
            let expected = fits.iter().all(|fit| reason.contains(fit.as_str()));
            assert!(expected, "{fault:?} on {class:?}: {reason}");
        }
    }
}

#[test]
fn every_fault_with_every_count() {
    let second = Duration::from_secs(1);
    let half = Probability::new(0.5).unwrap();
    for fault in all() {
        let plain = || Injection::from(fault.clone());
        let counted = [
            ("skip", plain().skip(1)),
            ("times", plain().times(1)),
            ("probability", plain().probability(half)),
        ];
        for (field, injection) in counted {
            if classes(fault.name()).is_empty() {
                refused(&injection, field);
            } else {
                taken(&injection);
            }
        }
        taken(&plain().window(Duration::ZERO, second));
        refused(&plain().window(second, second), "window");
        refused(&plain().times(0), "times");
        refused(&plain().skip(0), "skip");
    }
}

/// A method and a path that requests of a kind have, and some that they do not have.
fn of_class(class: RequestClass) -> (&'static str, &'static str, &'static str, &'static str) {
    let sessions = "/redfish/v1/SessionService/Sessions";
    match class {
        ServiceRoot => ("GET", "/redfish/v1/", "POST", "/redfish/v1/Systems"),
        SystemCollection => ("HEAD", "/redfish/*/Systems", "DELETE", "/redfish/v1/Systems/1"),
        SystemGet => (
            "get",
            "/redfish/v1/Systems/*",
            "PATCH",
            "*/Actions/ComputerSystem.Reset",
        ),
        Reset => ("POST", "*.Reset", "GET", "/redfish/v1/Managers/*"),
        SessionCreate => ("POST", sessions, "GET", "/redfish/v1/SessionService/Sessions/1"),
        SessionDelete => ("DELETE", "*/Sessions/*", "GET", sessions),
        // Of what is neither of the others nothing can be said.
        Connect | Other | IpmiPing | IpmiDiscovery | IpmiCipherSuites | IpmiOpenSession | IpmiRakp1
        | IpmiRakp3 | IpmiSetPrivilege | IpmiChassisStatus | IpmiChassisControl | IpmiCloseSession
        | IpmiOther => ("PATCH", "/redfish/v1/Chassis/1", "", ""),
    }
}

#[test]
fn every_fault_with_a_method_and_a_path() {
    for fault in all() {
        let plain = Injection::from(fault.clone());
        let usual = fault.usual_class();
        let http = classes(fault.name()).iter().any(|class| HTTP.contains(class));
        if !http {
            refused(&plain.clone().method("POST"), "method");
            refused(&plain.path("/redfish/v1/*"), "path");
            continue;
        }
        let (method, path, ..) = of_class(usual.unwrap_or(Reset));
        taken(&plain.clone().method(method));
        taken(&plain.clone().path(path));
        refused(&plain.clone().method("NO METHOD"), "method");
        for bad in ["Systems", "", "/x y", "/x?only", "/ä"] {
            refused(&plain.clone().path(bad), "path");
        }
    }
}

#[test]
fn every_fault_on_every_kind_with_methods_and_paths_of_it_and_not_of_it() {
    for fault in all() {
        for class in HTTP
            .into_iter()
            .filter(|class| classes(fault.name()).contains(class))
        {
            let (method, path, no_method, no_path) = of_class(class);
            let on = fault.clone().on(class);
            let needs_a_body = [
                "truncated-json",
                "slow-loris",
                "cut-answer",
                "json-set",
                "json-remove",
            ];
            if method == "HEAD" && needs_a_body.contains(&fault.name()) {
                refused(&on.clone().method(method), "method");
            } else {
                taken(&on.clone().method(method).path(path));
            }
            if no_method.is_empty() {
                continue;
            }
            let reason = refused(&on.clone().method(no_method), "method");
            assert!(reason.contains(class.as_str()), "{reason}");
            let reason = refused(&on.path(no_path), "path");
            assert!(reason.contains(class.as_str()), "{reason}");
        }
        if let Some(ipmi) = IPMI
            .into_iter()
            .find(|class| classes(fault.name()).contains(class))
        {
            refused(&fault.clone().on(ipmi).method("POST"), "method");
            refused(&fault.clone().on(ipmi).path("/*"), "path");
        }
    }
}

#[test]
fn kinds_methods_and_paths_that_contradict_each_other() {
    let hang = || Injection::from(Fault::Hang);
    let get_system = || hang().method("GET").path("/redfish/v1/Systems/1");
    refused(&get_system().on(Other), "on");
    taken(&get_system().on(SystemGet));
    taken(&hang().method("PATCH").path("/redfish/v1/Systems/1").on(Other));
    // Limited to resets unless it is said otherwise.
    let dropped = || Injection::from(Fault::DropAfterExecute);
    refused(&dropped().method("PATCH"), "method");
    refused(&dropped().path("/redfish/v1/Managers/*"), "path");
    taken(&dropped().on(Other).method("PATCH"));
    let rejected = Injection::from(Fault::RejectCredentials);
    refused(&rejected.clone().path("/redfish/v1/odata"), "path");
    refused(&rejected.method("GET").path("/redfish/v1/"), "path");
}

#[test]
fn parameters_without_an_effect() {
    let zero = Duration::ZERO;
    let pointer = |pointer: &str| Fault::JsonRemove {
        pointer: pointer.to_owned(),
    };
    let header = |name: &str, value: &str| Fault::Header {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let ignored = |net_fn| IpmiFault::IgnoreCommand { net_fn, command: 1 };
    let to = "a\r\nb".to_owned();
    for (fault, field) in [
        (Fault::http_status(199), "status"),
        (Fault::http_status(600), "status"),
        (Fault::ExecuteThenStatus { status: 99 }, "status"),
        (Fault::Redirect { to }, "to"),
        (Fault::Redirect { to: String::new() }, "to"),
        (Fault::SlowAnswer { by: zero }, "by"),
        (Fault::SlowLoris { every: zero }, "every"),
        (Fault::StaleReads { age: zero }, "age"),
        (Fault::ReportFlaps { every: zero }, "every"),
        (Fault::On409AfterOff { within: zero }, "within"),
        (Fault::OnLostAfterOff { within: zero }, "within"),
        (Fault::CutAnswer { after: 1 << 20 }, "after"),
        (Fault::CutAnswer { after: u64::MAX }, "after"),
        (Fault::DeepJson { depth: 0 }, "depth"),
        (Fault::DeepJson { depth: 524_289 }, "depth"),
        (pointer("PowerState"), "pointer"),
        (pointer("/a~2b"), "pointer"),
        (pointer("/a~"), "pointer"),
        (header("a b", "c"), "name"),
        (header("Content-Length", "1"), "name"),
        (header("a", "c\n"), "value"),
        (IpmiFault::DelayReply { by: zero }.into(), "by"),
        (IpmiFault::SkipSequence { by: 0 }.into(), "by"),
        (Fault::OnShowsPoweringOn { during: zero }, "during"),
        (ignored(7).into(), "netFn"),
        (ignored(64).into(), "netFn"),
        (
            IpmiFault::RefuseSuite {
                suite: None,
                status: 0,
            }
            .into(),
            "status",
        ),
    ] {
        refused(&fault.into(), field);
    }
    taken(&pointer("/a~0b~1c").into());
}

#[test]
fn faults_that_this_host_cannot_have() {
    let check =
        |injection: Injection, target: &Target| injection.check_at(target).err().map(|error| told(error).1);
    // The first is the one that the samples name.
    let systems: Vec<String> = ["/x", "1"].map(str::to_owned).to_vec();
    let without = Target {
        systems: systems.clone(),
        ..Target::default()
    };
    let with = Target {
        systems,
        ipmi_suites: Some(vec![17]),
        behind_one_port: true,
    };
    for fault in all() {
        let (injection, is_ipmi) = (Injection::from(fault.clone()), matches!(fault, Fault::Ipmi(_)));
        assert_eq!(check(injection.clone(), &without), is_ipmi.then_some("fault"));
        let impossible = matches!(fault, Fault::RefuseConnections | Fault::Blackhole);
        assert_eq!(
            check(injection, &with),
            impossible.then_some("fault"),
            "{fault:?}"
        );
        for class in IPMI
            .into_iter()
            .filter(|class| classes(fault.name()).contains(class))
        {
            assert_eq!(check(fault.clone().on(class), &without), Some("on"));
            assert_eq!(check(fault.clone().on(class), &with), None);
        }
    }
    let refuse = |suite| IpmiFault::RefuseSuite {
        suite: Some(suite),
        status: 17,
    };
    assert_eq!(check(refuse(3).into(), &with), Some("suite"));
    assert_eq!(check(refuse(17).into(), &with), None);
    let to = |system: &str| Fault::WrongNode {
        executes_on: system.to_owned(),
    };
    for (injection, field) in [
        (Injection::from(Fault::WrongUuid).system("1"), None),
        (Injection::from(Fault::WrongUuid).system("2"), Some("system")),
        (to("2").into(), Some("executesOn")),
        (to("1").into(), None),
        (Injection::from(to("1")).system("/x"), None),
        (Injection::from(to("1")).system("1"), Some("executesOn")),
    ] {
        assert_eq!(check(injection.clone(), &with), field, "{injection:?}");
    }
    let single = Target {
        systems: vec!["1".to_owned()],
        ..Target::default()
    };
    assert_eq!(check(to("1").into(), &single), Some("executesOn"));
}

#[test]
fn only_what_is_about_a_system_is_limited_to_one() {
    for (injection, fits) in [
        (Injection::from(Fault::LieOffWhileOn), true),
        (Injection::from(Fault::Hang), true),
        (Fault::Hang.on(RequestClass::SystemGet), true),
        (Fault::Hang.on(RequestClass::SessionCreate), false),
        (Injection::from(Fault::Blackhole), false),
        (Injection::from(Fault::NoSessionService), false),
        (Injection::from(Fault::SessionTableFull), false),
        (Injection::from(Fault::Ipmi(IpmiFault::Busy)), false),
    ] {
        let error = injection
            .clone()
            .system("1")
            .check()
            .err()
            .map(|error| told(error).1);
        assert_eq!(error, (!fits).then_some("system"), "{injection:?}");
    }
}
