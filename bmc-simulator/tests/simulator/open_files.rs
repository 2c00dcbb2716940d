//! The program where it may have few open files.

use std::io::ErrorKind;
use std::process::{Command, Output};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::binary::{Running, scratch};
use crate::client::{http, soon};

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

/// 48 files, 3 listeners and 16 for others leave 29 connections, of which each BMC has one for itself.
#[tokio::test]
async fn one_bmcs_connections_leave_open_files_to_the_others_and_the_control_api() {
    let ca = scratch("few-files.pem");
    let arguments = format!("--hosts 2 --control 127.0.0.1:0 --output json --ca-out {ca}");
    let running = Running::spawn(&mut limited("ulimit -n 48", &arguments), 3);
    let client = http(&std::fs::read_to_string(&ca).unwrap());
    let url = |line: usize, field: &str| running.lines[line][field].as_str().unwrap().to_owned();
    let greedy = reqwest::Url::parse(&url(0, "redfishUrl")).unwrap();
    let (address, port) = (greedy.host_str().unwrap(), greedy.port().unwrap());
    let mut held = Vec::new();
    for _ in 0..28 {
        held.push(soon(TcpStream::connect((address, port))).await.unwrap());
    }
    for _ in 0..20 {
        // They are taken in the order in which they came, so all of the above were.
        let refused = match soon(TcpStream::connect((address, port))).await {
            Ok(mut surplus) => soon(surplus.read(&mut [0; 1])).await.unwrap_err(),
            Err(already) => already,
        };
        assert_eq!(refused.kind(), ErrorKind::ConnectionReset);
    }
    let root = format!("{}/redfish/v1/", url(1, "redfishUrl"));
    assert_eq!(soon(client.get(root).send()).await.unwrap().status(), 200);
    let metrics = soon(client.get(format!("{}/metrics", url(2, "url"))).send());
    let metrics = metrics.await.unwrap().text().await.unwrap();
    assert!(
        metrics.contains("\nbmc_simulator_open_files_lacked_total 20\n"),
        "{metrics}"
    );
    let (status, told) = running.stop("-TERM");
    assert_eq!(status, Some(0));
    assert_eq!(
        told,
        "bmc-simulator: out of open files: connections to BMCs are turned away; raise the limit (ulimit -n) or open \
         fewer connections at one time\n"
    );
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
