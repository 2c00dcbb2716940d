//! What a fault is told besides, and the host that is to have it.

use std::time::Duration;

use super::super::Target;
use super::super::samples::all;
use super::{IPMI, classes, refused, taken, told};
use crate::{Fault, Injection, IpmiFault, RequestClass};

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
