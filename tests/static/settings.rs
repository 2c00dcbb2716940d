//! What `run` is started with is checked as a whole.

use std::process::Command;

#[test]
fn all_that_is_wrong_is_told_in_one_message() -> anyhow::Result<()> {
    let started = Command::new(env!("CARGO_BIN_EXE_baremetal-remediator"))
        .args(["run", "--node-name", "Not A Node", "--metrics-address", "8080"])
        .env_clear()
        .env("POD_NAME", "-")
        .env("LEADER_ELECT", "maybe")
        .env("STATUS_ADDRESS", "anywhere")
        .env("LOG_FILTER", "kube=loud")
        .env("LOG_FORMAT", "xml")
        .env("KUBECONFIG", "/is/not/there")
        .output()?;
    let told = String::from_utf8(started.stderr)?;
    assert_eq!(started.status.code(), Some(2), "{told}");
    for part in [
        "error: 8 settings are wrong:",
        "--pod-name (POD_NAME) is \"-\": expected the name of a Pod",
        "--node-name (NODE_NAME) is \"Not A Node\": expected the name of a Node",
        "--leader-elect (LEADER_ELECT) is \"maybe\": expected true or false",
        "--metrics-address (METRICS_ADDRESS) is \"8080\": expected an IP address with a port",
        "--status-address (STATUS_ADDRESS) is \"anywhere\": expected a port, such as 8081",
        "--log-filter (LOG_FILTER) is \"kube=loud\": expected a log filter",
        "--log-format (LOG_FORMAT) is \"xml\": expected text or json",
        "the cluster: ",
        "/is/not/there",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    Ok(())
}

#[test]
fn one_port_is_for_one_listener_and_nothing_is_no_filter() -> anyhow::Result<()> {
    for (metrics, status, is_one) in [
        ("0.0.0.0:8080", "8080", true),
        ("127.0.0.1:8080", "127.0.0.1:8080", true),
        ("[::]:8080", "8080", true),
        ("127.0.0.1:8080", "127.0.0.2:8080", false),
        ("0.0.0.0:8080", "8081", false),
        ("127.0.0.1:0", "0", false),
    ] {
        let started = Command::new(env!("CARGO_BIN_EXE_baremetal-remediator"))
            .args(["run", "--pod-name", "a", "--log-filter", " "])
            .args(["--metrics-address", metrics, "--status-address", status])
            .env_clear()
            .env("KUBECONFIG", "/is/not/there")
            .output()?;
        let told = String::from_utf8(started.stderr)?;
        assert_eq!(
            told.contains("expected another port"),
            is_one,
            "{metrics} {status}: {told}"
        );
        assert!(told.contains("--log-filter (LOG_FILTER) is \" \""), "{told}");
    }
    Ok(())
}
