//! Who may log in, and as what.

use bmc_simulator::{Ended, Event, Fault, Fleet, IpmiSpec, Privilege, RequestClass, Simulator};

use super::console::{Console, Login, Refused};
use super::frames::{open_session, rakp1};
use super::{APP, CHASSIS, CONTROL, PASSWORD, STATUS, admin, bmc, count};

#[tokio::test]
async fn wrong_logins_are_refused_counted_and_journalled() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    let wrong = Login {
        username: "nobody",
        ..admin()
    };
    assert_eq!(console.open(wrong).await, Err(Refused::Rakp2(0x0d)));
    // The BMC proves first that it knows the password: a console with another one sees it here.
    let wrong = Login {
        password: "wrong",
        ..admin()
    };
    assert_eq!(console.open(wrong).await, Err(Refused::Rakp2Code));
    assert_eq!(host.counters().ipmi.auth_failures, 1);

    let begun = console.exchange(0x10, &open_session(4, 1, 17)).await;
    let managed_id: [u8; 4] = begun[8..12].try_into().unwrap();
    console
        .exchange(0x12, &rakp1(managed_id, [7; 16], 0x14, b"admin"))
        .await;
    let forged = [&[9, 0, 0, 0], managed_id.as_slice(), &[0; 32]].concat();
    let reply = console.exchange(0x14, &forged).await;
    assert_eq!(reply, [9, 0x0f, 0, 0, 1, 0, 0, 0]);
    let again = console.exchange(0x14, &forged).await;
    assert_eq!(again[1], 0x02, "the half-open session is gone");

    for class in [RequestClass::IpmiRakp1, RequestClass::IpmiRakp3] {
        assert_eq!(
            count(
                &host,
                |event| matches!(event, Event::AuthFailed { class: of, .. } if *of == class)
            ),
            1
        );
    }
    assert_eq!(host.counters().ipmi.sessions_opened, 0);
    host.inject(Fault::RejectCredentials.times(1)).unwrap();
    assert_eq!(console.open(admin()).await, Err(Refused::Rakp2(0x0d)));
    assert_eq!(console.open(admin()).await, Ok(()));
}

#[tokio::test]
async fn a_login_can_be_refused_for_asking_to_be_an_administrator() {
    let (_sim, host) = bmc(IpmiSpec::new().login_limit(Privilege::Operator)).await;
    let mut console = Console::to(&host).await;
    assert_eq!(console.open(admin()).await, Err(Refused::Rakp2(0x0a)));
    assert_eq!(
        host.counters().ipmi.auth_failures,
        0,
        "the password was not wrong"
    );
    let operator = Login {
        role: 0x13,
        ..admin()
    };
    assert_eq!(console.open(operator).await, Ok(()));
    assert_eq!(console.code(APP, 0x3b, &[4]).await, 0x81);
    assert_eq!(console.code(APP, 0x3b, &[3]).await, 0);
}

#[tokio::test]
async fn users_have_no_more_than_their_privilege() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let reader = Login {
        username: "reader",
        password: "read-only",
        ..admin()
    };
    // By name alone the role is an upper bound; by name and privilege it has to be the user's own.
    let mut console = Console::logged_in(&host, reader).await;
    assert_eq!(console.code(APP, 0x3b, &[3]).await, 0x81);
    let both = Login { role: 0x04, ..reader };
    assert_eq!(
        Console::to(&host).await.open(both).await,
        Err(Refused::Rakp2(0x0d))
    );
    let both = Login { role: 0x02, ..reader };
    assert_eq!(Console::to(&host).await.open(both).await, Ok(()));
    // A lower role bounds an administrator, too.
    let mut bounded = Console::logged_in(
        &host,
        Login {
            role: 0x13,
            ..admin()
        },
    )
    .await;
    assert_eq!(bounded.ask(APP, 0x3b, &[3]).await.data, [3]);
    assert_eq!(bounded.code(APP, 0x3b, &[4]).await, 0x81);
    // A callback session cannot even read.
    let mut callback = Console::logged_in(
        &host,
        Login {
            role: 0x11,
            ..admin()
        },
    )
    .await;
    assert_eq!(callback.code(CHASSIS, STATUS, &[]).await, 0xd4);
}

#[tokio::test]
async fn two_keys() {
    let kg: &[u8] = b"\x00bmc-key";
    let (_sim, host) = bmc(IpmiSpec::new().kg(kg)).await;
    let mut console = Console::to(&host).await;
    let capabilities = console.ask_outside(false, APP, 0x38, &[0x8e, 4]).await;
    assert_eq!(capabilities.data[2] & 0x20, 0x20, "KG is set");
    assert_eq!(console.open(admin()).await, Err(Refused::Rakp4Code));
    assert_eq!(
        console
            .open(Login {
                kg: Some(kg),
                ..admin()
            })
            .await,
        Ok(())
    );
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0);
}

#[tokio::test]
async fn twenty_bytes_of_password_count_and_twenty_one_never_fit() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    host.rotate_credentials("sixteen-bytes-ab", "12345678901234567890")
        .unwrap();
    let login = Login {
        username: "sixteen-bytes-ab",
        password: "12345678901234567890",
        ..admin()
    };
    let mut console = Console::to(&host).await;
    assert_eq!(console.open(login).await, Ok(()));
    let shorter = Login {
        password: "1234567890123456789",
        ..login
    };
    assert_eq!(console.open(shorter).await, Err(Refused::Rakp2Code));
    for (username, password, field) in [
        ("admin", "123456789012345678901", "password"),
        ("seventeen-bytes-a", "good", "username"),
    ] {
        let refused = host.rotate_credentials(username, password).unwrap_err();
        assert!(
            matches!(&refused, bmc_simulator::SimError::InvalidHost { field: at, .. } if at == field),
            "{refused}"
        );
    }
    assert_eq!(console.open(login).await, Ok(()), "nothing has changed");
}

#[tokio::test]
async fn rotation_ends_sessions_and_changes_the_login_of_both_protocols() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut old = Console::logged_in(&host, admin()).await;
    host.rotate_credentials("admin", "new-pass").unwrap();
    let request = old.request(CHASSIS, STATUS, &[]);
    old.send(&request).await;
    old.settle().await;
    assert_eq!(host.counters().ipmi.discarded, 1);
    assert_eq!(
        old.open(Login {
            password: PASSWORD,
            ..admin()
        })
        .await,
        Err(Refused::Rakp2Code)
    );
    assert_eq!(
        old.open(Login {
            password: "new-pass",
            ..admin()
        })
        .await,
        Ok(())
    );
    let rotated = |event: &Event| {
        matches!(
            event,
            Event::IpmiSessionEnded {
                reason: Ended::CredentialsRotated,
                ..
            }
        )
    };
    assert_eq!(count(&host, rotated), 1);
}

#[tokio::test]
async fn a_fleet_file_says_what_the_login_may_ask_for() {
    let text = "defaults: {ipmi: {loginLimit: operator}}\nhosts: [{name: a, username: admin, \
                password: canary-pass, ipmi: {resetWhileOffRefused: true}, power: Off}]";
    let fleet = Fleet::from_yaml(text).unwrap();
    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();
    let host = &sim.hosts()[0];
    let mut console = Console::to(host).await;
    assert_eq!(console.open(admin()).await, Err(Refused::Rakp2(0x0a)));
    let operator = Login {
        role: 0x13,
        ..admin()
    };
    assert_eq!(console.open(operator).await, Ok(()));
    assert_eq!(console.code(APP, 0x3b, &[3]).await, 0);
    assert_eq!(console.code(CHASSIS, CONTROL, &[3]).await, 0xd5);
}
