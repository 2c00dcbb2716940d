//! Who gets in, with what, and how often that is tried.

use bmc_simulator::{Event, Fault, Privilege};

use super::*;
use remediator_core::power::PowerState;

async fn read(target: BmcTarget) -> Result<PowerState, BmcError> {
    read_within(target, unhurried()).await
}

async fn read_within(target: BmcTarget, deadlines: Deadlines) -> Result<PowerState, BmcError> {
    let mut bmc = connect_within(target, deadlines).await;
    let reading = bmc.read().await;
    bmc.close().await.unwrap();
    reading.map(|reading| reading.power)
}

fn suite_used(host: &Host) -> Vec<u8> {
    let journal = host.journal();
    let suite = |event: &Event| {
        if let Event::IpmiSessionOpened { cipher_suite, .. } = event {
            Some(*cipher_suite)
        } else {
            None
        }
    };
    journal.iter().filter_map(|entry| suite(&entry.event)).collect()
}

#[tokio::test]
async fn the_best_common_suite_is_used_and_none_below_three() {
    for (offered, used) in [
        (&[0, 1, 2, 3, 17][..], Some(17)),
        (&[3, 17], Some(17)),
        (&[3, 8], Some(3)),
        (&[0], None),
        (&[0, 1, 2], None),
        (&[16], None),
    ] {
        let ipmi = IpmiSpec::new().cipher_suites(offered.iter().copied());
        let (_simulator, host) = start(spec().ipmi(ipmi)).await;
        let outcome = read(target(host.ipmi_address().unwrap())).await;
        assert_eq!(suite_used(&host), used.into_iter().collect::<Vec<u8>>());
        match used {
            Some(_) => assert_eq!(outcome, Ok(PowerState::On)),
            None => {
                let error = outcome.unwrap_err();
                assert_eq!(error.reason(), "BmcNoCipherSuite");
                assert!(error.to_string().contains("17: RMCP+ status 0x11"), "{error}");
                assert_fit_to_show(&error);
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_password_is_found_out_here_and_not_counted_there() {
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    let wrong = BmcTarget {
        credentials: secret(&[("username", "admin"), ("password", "canary-wrong")]),
        ..target(host.ipmi_address().unwrap())
    };
    // A wrong code is believed when what is sent again is answered with one, too.
    let mut bmc = connect_within(wrong, repeating_slowly()).await;
    for _ in 0..2 {
        let error = bmc.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcCredentialsRejected");
        assert!(!error.is_transient());
        assert_fit_to_show(&error);
    }
    let seen = host.counters().ipmi;
    assert_eq!((seen.open_session, seen.rakp3, seen.auth_failures), (1, 0, 0));
}

#[tokio::test]
async fn an_unknown_user_is_tried_once() {
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    let mut bmc = connect(BmcTarget {
        credentials: secret(&[("username", "nobody"), ("password", CANARY)]),
        ..target(host.ipmi_address().unwrap())
    })
    .await;
    for _ in 0..2 {
        let error = bmc.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcCredentialsRejected");
        assert!(error.to_string().contains("0x0d"), "{error}");
    }
    assert_eq!(host.counters().ipmi.rakp1, 1);
    assert_eq!(host.counters().ipmi.auth_failures, 1);
}

#[tokio::test]
async fn a_bmc_that_rejects_right_credentials_for_a_while_is_believed_once() {
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    host.inject(Fault::RejectCredentials).unwrap();
    let mut bmc = connect(target(host.ipmi_address().unwrap())).await;
    for _ in 0..2 {
        assert_eq!(bmc.read().await.unwrap_err().reason(), "BmcCredentialsRejected");
    }
    assert_eq!(host.counters().ipmi.rakp1, 1);
}

#[tokio::test]
async fn kg_is_needed_where_the_bmc_has_one() {
    const KG: &str = "canary-kg";
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new().kg(KG))).await;
    let address = host.ipmi_address().unwrap();
    let with = |kg: &str| BmcTarget {
        credentials: secret(&[("username", "admin"), ("password", CANARY), ("kg", kg)]),
        ..target(address)
    };
    assert_eq!(read(with(KG)).await, Ok(PowerState::On));
    assert_eq!(read(with("0x63616e6172792d6b67")).await, Ok(PowerState::On));
    for wrong in [with("canary-other"), target(address)] {
        // As of a password: what is sent again has to be answered wrongly, too.
        let error = read_within(wrong, repeating()).await.unwrap_err();
        assert_eq!(error.reason(), "BmcCredentialsRejected");
        assert!(error.to_string().contains("\"kg\""), "{error}");
        assert_fit_to_show(&error);
    }
}

#[tokio::test]
async fn passwords_of_twenty_bytes_and_names_of_sixteen_work() {
    let (name, password) = ("sixteen-bytes-ab", "canary-twenty-bytes!");
    let ipmi = IpmiSpec::new().user(name, password, Privilege::Operator);
    let (_simulator, host) = start(spec().ipmi(ipmi)).await;
    let outcome = read(BmcTarget {
        credentials: secret(&[("username", name), ("password", password)]),
        ..target(host.ipmi_address().unwrap())
    })
    .await;
    assert_eq!(outcome, Ok(PowerState::On));
}

#[tokio::test]
async fn what_ipmi_cannot_carry_is_refused_before_anything_is_sent() {
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    for (name, password, says) in [
        ("admin", "canary-twenty-bytes!x", "\"password\""),
        ("seventeen-bytes-x", CANARY, "\"username\""),
        ("ädmin", CANARY, "\"username\""),
    ] {
        let target = BmcTarget {
            credentials: secret(&[("username", name), ("password", password)]),
            ..target(host.ipmi_address().unwrap())
        };
        let error = Bmc::connect(target).await.unwrap_err();
        assert_eq!(error.reason(), "BmcCredentialsUnusable");
        assert!(error.to_string().contains(says), "{error}");
        assert_fit_to_show(&error);
    }
    assert_eq!(host.counters().ipmi.datagrams, 0);
}

#[tokio::test]
async fn what_is_not_allowed_is_refused_before_anything_is_sent() {
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    let target = || target(host.ipmi_address().unwrap());
    let elsewhere = BmcTarget {
        allowed: AllowedNetworks::new(["192.0.2.0/24".parse().unwrap()]),
        ..target()
    };
    let redfish_only = BmcTarget {
        protocols: vec![Protocol::Redfish],
        ..target()
    };
    for (target, reason) in [
        (elsewhere, "BmcAddressNotAllowed"),
        (redfish_only, "BmcProtocolNotAllowed"),
    ] {
        let error = Bmc::connect(target).await.unwrap_err();
        assert_eq!(error.reason(), reason);
        assert_fit_to_show(&error);
    }
    assert_eq!(host.counters().ipmi.datagrams, 0);
}

#[tokio::test]
async fn the_privilege_asked_for_is_operator_or_what_the_address_says() {
    let ipmi = IpmiSpec::new().user("reader", CANARY, Privilege::User);
    let (_simulator, host) = start(spec().ipmi(ipmi)).await;
    let address = host.ipmi_address().unwrap();
    let target = |query: &str| BmcTarget {
        address: format!("ipmi://{address}{query}").parse().unwrap(),
        credentials: secret(&[("username", "reader"), ("password", CANARY)]),
        ..target(address)
    };
    let denied = read(target("")).await.unwrap_err();
    assert_eq!(denied.reason(), "BmcForbidden");
    assert_fit_to_show(&denied);
    let ended = |snapshot: &bmc_simulator::Snapshot| snapshot.counters.ipmi.sessions_ended == 1;
    host.wait_for(ended).await.unwrap();

    let mut bmc = connect(target("?privilegelevel=USER")).await;
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
    assert_eq!(
        bmc.command(Verb::PowerOff, soon()).await.unwrap_err().reason(),
        "BmcForbidden"
    );
    bmc.close().await.unwrap();

    let limits = host.journal();
    let opened = limits.iter().filter_map(|entry| {
        if let Event::IpmiSessionOpened { limit, .. } = &entry.event {
            Some(*limit)
        } else {
            None
        }
    });
    assert!(opened.eq([Privilege::User, Privilege::User]));
    let seen = host.counters().ipmi;
    assert_eq!((seen.rakp1, seen.auth_failures), (2, 0));
}

#[tokio::test]
async fn a_bmc_that_agrees_to_something_weaker_is_not_followed() {
    for algorithms in [[0, 0, 0], [1, 0, 0], [1, 1, 0], [3, 4, 0], [2, 2, 1]] {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut bmc = connect(target(socket.local_addr().unwrap())).await;
        let answering = async {
            let mut proposed = Vec::new();
            let mut buffer = [0; 1024];
            while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
                let request = &buffer[..length];
                assert_eq!(request[5], 0x10, "nothing follows the Open Session Request");
                proposed.push([request[28], request[36], request[44]]);
                let mut answer = vec![0x06, 0, 0xff, 0x07, 0x06, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0];
                answer.extend([request[16], 0, 3, 0]);
                answer.extend(&request[20..24]);
                answer.extend([1, 2, 3, 4]);
                for (kind, number) in (0..).zip(algorithms) {
                    answer.extend([kind, 0, 0, 8, number, 0, 0, 0]);
                }
                socket.send_to(&answer, client).await.unwrap();
                if proposed.len() == 2 {
                    break;
                }
            }
            proposed
        };
        let (reading, proposed) = tokio::join!(bmc.read(), answering);
        assert_eq!(reading.unwrap_err().reason(), "BmcNoCipherSuite");
        assert_eq!(proposed, [[3, 4, 1], [1, 1, 1]]);
        let mut buffer = [0; 16];
        assert!(socket.try_recv(&mut buffer).is_err(), "nothing else was sent");
    }
}
