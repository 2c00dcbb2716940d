//! The program where it may have few open files.

use std::process::{Command, Output};

use crate::binary::Running;

/// A shell that sets limits and then becomes the program.
fn limited(limits: &str, arguments: &str) -> Command {
    let line = format!(
        "{limits}; exec {} {arguments}",
        env!("CARGO_BIN_EXE_bmc-simulator")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    command
}

#[test]
fn a_soft_limit_is_raised_as_far_as_it_takes() {
    let arguments = "--hosts 60 --first-ipmi-port 0 --output json";
    let running = Running::spawn(&mut limited("ulimit -Sn 64", arguments), 60);
    assert_eq!(running.lines.len(), 60);
    assert_eq!(running.stop("-TERM"), (Some(0), String::new()));
}

#[test]
fn a_fleet_that_may_not_have_its_files_is_refused_before_it_listens() {
    for (limits, files) in [("ulimit -n 100", 100), ("ulimit -n 100; ulimit -Sn 50", 100)] {
        refused(limits, "--hosts 90 --first-ipmi-port 0", [212, files, 302]);
    }
}

#[test]
fn what_cannot_even_open_the_runtimes_files_is_refused_as_plainly() {
    for files in 5..=12 {
        refused(
            &format!("ulimit -n {files}"),
            "--control 127.0.0.1:0",
            [34, files, 35],
        );
    }
}

fn refused(limits: &str, arguments: &str, [needed, files, comfortable]: [u32; 3]) {
    let Output {
        status,
        stdout,
        stderr,
    } = limited(limits, arguments).output().unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(1), 0), "{limits}");
    let told = String::from_utf8(stderr).unwrap();
    let start = format!(
        "bmc-simulator: these BMCs need {needed} open files, of which this process may have {files}: raise the hard \
         limit (as root ulimit -n {comfortable}, or LimitNOFILE={comfortable} of its systemd unit, which leaves room \
         for a connection to each) or run fewer hosts\n"
    );
    assert_eq!(told, start, "{limits}");
}
