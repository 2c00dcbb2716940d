use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

#[test]
fn the_name_of_the_file_says_who_calls() {
    let called = |first: &str| Program::called(Some(OsStr::new(first)));
    assert_eq!(called("/usr/local/bin/kubectl-pcr"), Program::Plugin);
    assert_eq!(called("kubectl_complete-pcr"), Program::PluginCompletion);
    assert_eq!(called("./baremetal-remediator"), Program::Itself);
    assert_eq!(Program::called(None), Program::Itself);
}

#[test]
fn the_command_line_is_well_formed_by_each_name() {
    Program::Itself.command().debug_assert();
    Program::Plugin.command().debug_assert();
}

#[test]
fn help_speaks_of_the_name_that_it_was_asked_by() {
    for (program, name) in [
        (Program::Itself, "baremetal-remediator"),
        (Program::Plugin, "kubectl pcr"),
    ] {
        for (asked, usage) in [
            ("x --help", format!("Usage: {name} <COMMAND>")),
            ("x bmc cycle --help", format!("Usage: {name} bmc cycle [OPTIONS]")),
        ] {
            let help = program.parse(words(asked)).map(|_| ()).unwrap_err().to_string();
            assert!(help.contains(&usage), "{help}");
        }
    }
    let help = Program::Plugin.parse(words("x --help")).map(|_| ()).unwrap_err();
    assert!(!help.to_string().contains("\n  run "), "{help}");
}

#[test]
fn what_asks_a_cluster_takes_the_options_of_kubectl() {
    let commands = [
        "plan",
        "bmc status w",
        "bmc identify w",
        "bmc on w",
        "bmc off w",
        "bmc cycle w",
        "bmc check w",
        "history export",
        "confirm-off p --node w --reason dark",
    ];
    for command in commands {
        let line = format!("x {command} --kubeconfig f --context c -n space");
        let parsed = Program::Plugin.parse(words(&line));
        assert!(parsed.is_ok(), "{:?}", parsed.err());
    }
}

#[test]
fn what_prints_objects_prints_them_for_programs_too() {
    let commands = [
        "plan",
        "bmc status w",
        "bmc check --all",
        "history verify f",
        "version",
        "confirm-off p --node w --reason dark",
    ];
    for command in commands {
        for output in ["table", "json", "yaml"] {
            let parsed = Program::Itself.parse(words(&format!("x {command} -o {output}")));
            assert!(parsed.is_ok(), "{:?}", parsed.err());
        }
    }
}
