//! What a peer can do to a BMC with bytes alone.

use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::crypto::{SessionKeys, Transcript, find};
use super::session::{HALF_OPEN, Sessions};
use super::spec::Privilege;
use super::wire::{self, Datagram};
use crate::seed::Seeded;

/// Datagrams that consoles sent to this simulator, and what was made of them by the fuzzer.
fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/datagram");
    let files = std::fs::read_dir(folder).expect("the corpus is in the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.unwrap().path()).unwrap();
    files.map(read).collect()
}

/// What the fuzz target does, too.
fn read_everything(bytes: &[u8]) {
    wire::read_all(bytes);
    for id in [0, 2, 3, 12, 17] {
        if let Ok(Datagram::RmcpPlus(packet)) = wire::parse(bytes) {
            let _ = keys(id).open(&packet);
        }
    }
}

fn keys(id: u8) -> SessionKeys {
    let suite = find(id).unwrap();
    let transcript = Transcript {
        console_id: 1,
        managed_id: 2,
        console_random: [3; 16],
        managed_random: [4; 16],
        guid: [5; 16],
        role: 0x14,
        name: b"admin".to_vec(),
    };
    SessionKeys {
        suite,
        keys: transcript.keys(suite, [6; 20], None),
    }
}

#[test]
fn the_corpus_is_read_without_harm() {
    let corpus = corpus();
    assert!(corpus.len() >= 10, "{}", corpus.len());
    assert!(corpus.iter().any(|bytes| wire::parse(bytes).is_ok()));
    for bytes in &corpus {
        read_everything(bytes);
    }
}

#[test]
fn what_is_sealed_is_opened_and_nothing_else_is() {
    for id in [0, 1, 2, 3, 6, 7, 8, 11, 12, 15, 16, 17] {
        let keys = keys(id);
        for length in 0..50_u8 {
            let payload: Vec<u8> = (0..length).collect();
            let sealed = keys.seal(9, 7, [1; 16], &payload);
            let Ok(Datagram::RmcpPlus(packet)) = wire::parse(&sealed) else {
                panic!("suite {id}: {sealed:02x?}");
            };
            assert_eq!((packet.session_id, packet.sequence), (9, 7));
            assert_eq!(keys.open(&packet), Some(payload), "suite {id}, {length} bytes");
            if keys.suite.integrity.code_length() > 0 {
                // The first four bytes are the RMCP header, which no code covers.
                for position in 4..sealed.len() {
                    let mut bent = sealed.clone();
                    bent[position] ^= 0x10;
                    let opened = match wire::parse(&bent) {
                        Ok(Datagram::RmcpPlus(packet)) => keys.open(&packet),
                        Ok(Datagram::Ping { .. } | Datagram::Ipmi15 { .. }) | Err(_) => None,
                    };
                    assert_eq!(opened, None, "suite {id}, byte {position}");
                }
            }
        }
    }
}

#[test]
fn half_open_sessions_are_bounded_and_the_newest_stay() {
    let mut sessions = Sessions::new(Seeded::named(1, "x"), 2, Duration::from_mins(1));
    let suite = find(17).unwrap();
    let ids: Vec<u32> = (0..200)
        .map(|console| sessions.begin(console, suite, Privilege::User, Duration::ZERO))
        .collect();
    assert_eq!(sessions.half_open(), HALF_OPEN);
    assert!(sessions.opening(ids[199]).is_some() && sessions.opening(ids[0]).is_none());
    assert!(sessions.expire(Duration::from_secs(59)).is_empty());
    assert_eq!(sessions.half_open(), HALF_OPEN);
    sessions.expire(Duration::from_mins(1));
    assert_eq!((sessions.half_open(), sessions.next_deadline()), (0, None));
}

#[test]
fn a_guid_is_the_uuid_from_its_least_significant_byte_on() {
    let guid = super::state::guid("00010203-0405-0607-0809-0a0b0c0d0e0f").unwrap();
    assert_eq!(guid, [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(super::state::guid("not-a-uuid"), None);
    assert_eq!(super::state::guid("+0010203-0405-0607-0809-0a0b0c0d0e0f"), None);
}

/// A BMC without sockets.
fn core() -> std::sync::Arc<crate::host::HostCore> {
    use crate::host::{HostCore, Setup};
    use crate::tls::{Authority, TlsSlot};
    let address = SocketAddr::from(([127, 0, 0, 1], 623));
    let authority = std::sync::Arc::new(Authority::new("x").unwrap());
    let spec = crate::HostSpec::new("a")
        .credentials("admin", "secret")
        .ipmi(super::IpmiSpec::new().cipher_suites([0, 3, 17]));
    std::sync::Arc::new(HostCore::new(
        spec,
        Setup {
            address,
            ipmi_address: Some(address),
            ssdp_port: None,
            tls: std::sync::Arc::new(TlsSlot::new(
                std::sync::Arc::clone(&authority),
                authority.issue(address.ip(), "a", None).unwrap(),
            )),
            epoch: tokio::time::Instant::now(),
            journal: std::sync::Arc::new(crate::journal::Journal::new(
                jiff::Timestamp::UNIX_EPOCH,
                100,
                crate::journal::Salt::new().unwrap(),
            )),
            stop: tokio_util::sync::CancellationToken::new(),
            seed: 1,
            behind_one_port: false,
        },
    ))
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let origin = prop::sample::select(corpus());
    (
        origin,
        edits,
        any::<prop::sample::Index>(),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(mut bytes, edits, cut, shorten)| {
            for (at, value) in edits {
                if !bytes.is_empty() {
                    let position = at.index(bytes.len());
                    bytes[position] = value;
                }
            }
            if shorten && !bytes.is_empty() {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        })
}

proptest! {
    #[test]
    fn random_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }

    #[test]
    fn bytes_after_a_right_header_are_read_without_harm(
        class in prop::sample::select(vec![6_u8, 7]),
        kind in prop::sample::select(vec![0_u8, 5, 6]),
        rest in prop::collection::vec(any::<u8>(), 0..150),
    ) {
        let mut bytes = vec![6, 0, 0xff, class, kind];
        bytes.extend(rest);
        read_everything(&bytes);
    }

    #[test]
    fn real_datagrams_that_were_bent_are_read_without_harm(bytes in mutated()) {
        read_everything(&bytes);
    }

    #[test]
    fn a_bmc_survives_any_conversation(
        datagrams in prop::collection::vec(mutated(), 1..40),
    ) {
        let core = core();
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        for datagram in &datagrams {
            for reply in super::receive::receive(&core, peer, datagram) {
                // More would make the BMC a means to flood others.
                prop_assert!(reply.bytes.len() <= datagram.len().saturating_add(64), "{:02x?}", datagram);
            }
        }
        let half_open = core.act(|acting| acting.state.ipmi.as_ref().unwrap().sessions.half_open());
        prop_assert!(half_open <= HALF_OPEN);
        let counters = core.act(|acting| acting.state.counters.ipmi);
        prop_assert_eq!(counters.datagrams, datagrams.len() as u64);
        // Nobody knows the random numbers of a handshake that was not shown to them.
        prop_assert_eq!(counters.sessions_opened, 0);
    }
}
