//! What a person got wrong, and what the BMC refuses.

use anyhow::Result;

use super::{CANARY, commands, printed, run, simulate};

#[tokio::test]
async fn bad_input_is_named_before_anything_is_sent() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let good = format!("redfish://{}{}", host.address(), host.system_path());
    let pin = host.certificate_sha256_fingerprint();
    let port = host.address().port();
    let userinfo = format!("redfish://root:secret@127.0.0.1:{port}");
    let far: &[&str] = &["--allow-network", "127.0.0.0/8", "--fingerprint", &pin];
    let cases: Vec<(&str, Vec<&str>, &str)> = vec![
        (
            "loopback",
            vec!["--address", &good, "--fingerprint", &pin],
            "which is used for loopback",
        ),
        (
            "scheme",
            [&["--address", "telnet://127.0.0.1"], far].concat(),
            "\"telnet\"",
        ),
        (
            "port",
            [&["--address", "redfish://127.0.0.1:70000"], far].concat(),
            "port",
        ),
        (
            "user information",
            [&["--address", &userinfo], far].concat(),
            "user information",
        ),
        (
            "IPv6",
            [&["--address", "redfish://[fe80::1"], far].concat(),
            "brackets",
        ),
        (
            "pin",
            vec![
                "--address",
                &good,
                "--fingerprint",
                "abc",
                "--allow-network",
                "127.0.0.0/8",
            ],
            "--fingerprint",
        ),
        (
            "UUID",
            [&["--address", &good, "--system-uuid", "x"], far].concat(),
            "--system-uuid",
        ),
        (
            "time",
            [&["--address", &good, "--timeout", "0s"], far].concat(),
            "between 1s and 1h",
        ),
    ];
    for (what, arguments, says) in cases {
        let arguments = [&["bmc", "on", "--username", "root"], &arguments[..]].concat();
        let (status, _, err) = run(&arguments, CANARY).await?;
        // That an address is not allowed is found where every target is checked.
        let expected = if what == "loopback" { 1 } else { 2 };
        assert_eq!(status, Some(expected), "{what}: {err}");
        assert!(err.contains(says), "{what}: {err}");
        assert!(!err.contains("secret"), "{what}: {err}");
    }
    assert_eq!(host.counters().tcp_connections, 0, "somebody was asked");
    Ok(())
}

#[tokio::test]
async fn what_the_bmc_refuses_is_said_once_and_plainly() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let address = format!("redfish://{}{}", host.address(), host.system_path());
    let pin = host.certificate_sha256_fingerprint();
    let common = ["--username", "root", "--allow-network", "127.0.0.0/8"];
    let named = [&["bmc", "status", "--address", &address], &common[..]].concat();

    let (status, _, err) = run(&[&named[..], &["--fingerprint", &pin]].concat(), "wrong").await?;
    assert_eq!(status, Some(1));
    assert!(err.contains("rejected the credentials"), "{err}");
    assert_eq!(host.counters().auth_failures, 1, "it was tried once");

    let other = "ab".repeat(32);
    let (status, _, err) = run(&[&named[..], &["--fingerprint", &other]].concat(), CANARY).await?;
    assert_eq!(status, Some(1));
    assert!(
        err.contains(&printed(&pin)),
        "the fingerprint that was seen is told: {err}"
    );

    let uuid = "51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c";
    let expects = ["--fingerprint", &pin, "--system-uuid", uuid, "--yes"];
    let named = [&["bmc", "off", "--address", &address], &common[..]].concat();
    let (status, _, err) = run(&[&named[..], &expects].concat(), CANARY).await?;
    assert_eq!(status, Some(1));
    assert!(err.contains(uuid), "{err}");
    assert!(commands(&host).is_empty());
    Ok(())
}
