//! Kinds of requests, methods, paths and counts.

use std::time::Duration;

use super::super::samples::all;
use super::{HTTP, IPMI, classes, refused, taken};
use crate::RequestClass::{
    self, Connect, IpmiChassisControl, IpmiChassisStatus, IpmiCipherSuites, IpmiCloseSession, IpmiDiscovery,
    IpmiOpenSession, IpmiOther, IpmiPing, IpmiRakp1, IpmiRakp3, IpmiSetPrivilege, Other, Reset, ServiceRoot,
    SessionCreate, SessionDelete, SystemCollection, SystemGet,
};
use crate::{Fault, Injection, Probability};

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
