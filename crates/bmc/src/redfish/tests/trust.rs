//! Nothing is sent to whom it must not go.

use super::fake::Identity;
use super::*;
use crate::{Fingerprint, TlsFailure};

async fn failure(fake: &Fake, target: BmcTarget) -> TlsFailure {
    let error = connect(target).await.read().await.unwrap_err();
    assert_fit_to_show(&error);
    assert_eq!(fake.log(), Vec::<String>::new(), "no request before trust");
    let BmcError::Tls(failure) = error else {
        panic!("{error}")
    };
    failure
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let fake = Fake::start(well_behaved()).await;
    let other = Identity::issued(&["127.0.0.1"], |_| {});
    let failed = failure(&fake, target(fake.address, &other.authority, PATH)).await;
    // Both CAs carry rcgen's default name, so that the wrong one fails by its signature.
    assert_eq!(failed, TlsFailure::IssuerSignature);
    assert!(failed.is_about_trust());
}

#[tokio::test]
async fn wrong_names_and_dates_are_refused_and_named() {
    let elsewhere = Identity::issued(&["192.0.2.1"], |_| {});
    let fake = Fake::start_as(elsewhere, well_behaved()).await;
    assert_eq!(failure(&fake, of(&fake)).await, TlsFailure::NameMismatch);
    let expired = Identity::issued(&["127.0.0.1"], |leaf| {
        leaf.not_after = rcgen::date_time_ymd(2020, 1, 1);
    });
    let fake = Fake::start_as(expired, well_behaved()).await;
    assert_eq!(failure(&fake, of(&fake)).await, TlsFailure::Expired);
}

#[tokio::test]
async fn a_pin_accepts_what_webpki_cannot_and_nothing_else() {
    let fake = Fake::start_as(Identity::self_signed_authority(), well_behaved()).await;
    assert_eq!(failure(&fake, of(&fake)).await, TlsFailure::CaUsedAsEndEntity);
    let pinned = |pins| BmcTarget {
        trust: ServerTrust::Fingerprints(pins),
        ..of(&fake)
    };
    let wrong = Fingerprint([7; 32]);
    assert_eq!(
        failure(&fake, pinned(vec![wrong])).await,
        TlsFailure::FingerprintMismatch(fake.pin)
    );
    connect(pinned(vec![wrong, fake.pin])).await.read().await.unwrap();
}

#[tokio::test]
async fn a_pin_without_the_key_is_worthless() {
    // The certificate of one, the key of another: what a thief of a public certificate has.
    let (honest, thief) = (
        Identity::self_signed_authority(),
        Identity::self_signed_authority(),
    );
    let stolen = honest.pin;
    let fake = Fake::start_as(thief.presenting(honest), well_behaved()).await;
    let failed = failure(
        &fake,
        BmcTarget {
            trust: ServerTrust::Fingerprints(vec![stolen]),
            ..of(&fake)
        },
    )
    .await;
    assert_eq!(failed, TlsFailure::BadSignature);
}

#[tokio::test]
async fn weaker_transport_needs_permission_before_anything_is_sent() {
    let fake = Fake::start(well_behaved()).await;
    let unverified = BmcTarget {
        trust: ServerTrust::Unverified,
        ..of(&fake)
    };
    let mut plain = of(&fake);
    plain.address = format!("redfish+http://{}{PATH}", fake.address).parse().unwrap();
    for (target, enough) in [
        (unverified, TransportSecurity::UnverifiedTls),
        (plain, TransportSecurity::PlainHttp),
    ] {
        let error = Bmc::connect(target.clone()).await.unwrap_err();
        assert_eq!(error.reason(), "BmcTransportNotAllowed");
        assert_fit_to_show(&error);
        assert!(
            Bmc::connect(BmcTarget {
                minimum_transport: enough,
                ..target
            })
            .await
            .is_ok()
        );
    }
    assert_eq!(fake.accepted(), 0);
    let mut allowed = of(&fake);
    allowed.trust = ServerTrust::Unverified;
    allowed.minimum_transport = TransportSecurity::UnverifiedTls;
    connect(allowed).await.read().await.unwrap();
}

#[tokio::test]
async fn an_address_that_is_not_allowed_gets_no_connection() {
    let fake = Fake::start(well_behaved()).await;
    for list in [&[][..], &["0.0.0.0/0", "::/0"], &["192.0.2.0/24"]] {
        for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"] {
            let mut target = of(&fake);
            target.address = format!("redfish://{host}:{}{PATH}", fake.address.port())
                .parse()
                .unwrap();
            target.allowed = AllowedNetworks::new(list.iter().map(|text| text.parse().unwrap()));
            let error = Bmc::connect(target).await.unwrap_err();
            assert_eq!(error.reason(), "BmcAddressNotAllowed", "{host}");
            assert_fit_to_show(&error);
        }
    }
    assert_eq!(fake.accepted(), 0);
}

#[tokio::test]
async fn a_name_is_verified_as_the_name() {
    let fake = Fake::start(well_behaved()).await;
    let mut named = of(&fake);
    named.address = format!("redfish://localhost:{}{PATH}", fake.address.port())
        .parse()
        .unwrap();
    named.allowed = AllowedNetworks::new(["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
    connect(named).await.read().await.unwrap();
}

#[tokio::test]
async fn a_protocol_that_is_not_allowed_is_refused() {
    let fake = Fake::start(well_behaved()).await;
    let ipmi = BmcTarget {
        address: "ipmi://127.0.0.1".parse().unwrap(),
        ..of(&fake)
    };
    assert_eq!(
        Bmc::connect(ipmi).await.unwrap_err().reason(),
        "BmcProtocolNotAllowed"
    );
}

#[tokio::test]
async fn a_command_goes_to_the_address_that_was_read_and_to_no_other() {
    let read = Fake::start(|_| reply(200, &[("connection", "close")], &system("On").to_string())).await;
    let other = Fake::start(well_behaved()).await;
    let mut bmc = connect(BmcTarget {
        trust: ServerTrust::Fingerprints(vec![read.pin, other.pin]),
        ..of(&read)
    })
    .await;
    redfish(&mut bmc).wire.peers.push(other.address);
    bmc.read().await.unwrap();
    drop(read);

    let error = bmc.command(Verb::PowerOff, soon()).await.unwrap_err();

    assert_eq!(error.reason(), "BmcUnreachable");
    assert!(!error.may_have_been_executed());
    assert_eq!(other.accepted(), 0);
}
