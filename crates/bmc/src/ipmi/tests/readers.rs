//! What a peer can do to us with bytes alone.

use proptest::prelude::*;

use crate::ipmi::crypto::{CipherSuite, SessionKeys};
use crate::ipmi::session::Window;
use crate::ipmi::{read_datagram, wire};

/// Datagrams of BMCs, and what the fuzzer made of them.
fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/ipmi_datagram");
    let files = std::fs::read_dir(folder).expect("the corpus is in the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.unwrap().path()).unwrap();
    files.map(read).collect()
}

#[test]
fn the_corpus_is_read_without_harm() {
    let corpus = corpus();
    assert!(corpus.len() >= 10, "{}", corpus.len());
    let understood = corpus.iter().filter(|bytes| read_datagram(bytes)).count();
    assert!(understood >= 5, "{understood}");
}

fn suite() -> impl Strategy<Value = CipherSuite> {
    prop_oneof![Just(CipherSuite::Seventeen), Just(CipherSuite::Three)]
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
        read_datagram(&bytes);
    }

    #[test]
    fn any_bytes_after_a_good_header_are_read_without_harm(
        kind in 0_u8..=0xff, length: u16, rest in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut bytes = vec![0x06, 0, 0xff, 0x07, 0x06, kind, 1, 0, 0, 0, 1, 0, 0, 0];
        bytes.extend((length % 130).to_le_bytes());
        bytes.extend(rest);
        read_datagram(&bytes);
    }

    #[test]
    fn what_is_sealed_is_opened_and_nothing_else_is(
        suite in suite(), sik: [u8; 20], message in prop::collection::vec(any::<u8>(), 0..80),
        id: u32, sequence: u32, iv: [u8; 16], place: prop::sample::Index, flip in 1_u8..,
    ) {
        let keys = SessionKeys::new(suite, &sik);
        let sealed = keys.seal(id, sequence, iv, &message);
        let packet = wire::packet(&sealed).unwrap();
        prop_assert_eq!((packet.session_id, packet.sequence), (id, sequence));
        prop_assert_eq!(keys.open(&packet), Some(message));

        let mut damaged = sealed.clone();
        // The RMCP header is not covered.
        let covered = &mut damaged[4..];
        let place = place.index(covered.len());
        covered[place] ^= flip;
        let opened = wire::packet(&damaged).ok().and_then(|packet| keys.open(&packet));
        prop_assert_eq!(opened, None);
        let mut other = sik;
        other[0] ^= flip;
        prop_assert_eq!(SessionKeys::new(suite, &other).open(&packet), None);
    }

    #[test]
    fn the_window_takes_each_number_at_most_once(numbers in prop::collection::vec(1_u32..60, 0..200)) {
        let mut window = Window::new();
        let mut taken = std::collections::BTreeSet::new();
        for number in numbers {
            if window.take(number) {
                prop_assert!(taken.insert(number));
            }
        }
    }
}

#[test]
fn the_window_takes_any_order_with_gaps_and_wraps() {
    let mut window = Window::new();
    for (number, taken) in [
        (0, false),
        (u32::MAX, false),
        (1, true),
        (1, false),
        (17, true),
        (2, true),
        (2, false),
        (1, false),
        (34, false),
        (33, true),
        (17, false),
        (18, true),
        (100, false),
    ] {
        assert_eq!(window.take(number), taken, "{number}");
    }
}

#[test]
fn a_packet_that_is_not_protected_is_not_opened() {
    let keys = SessionKeys::new(CipherSuite::Seventeen, &[1; 20]);
    let sealed = keys.seal(7, 1, [2; 16], b"message");
    for without in [0x80, 0x40, 0xc0] {
        let mut bytes = sealed.clone();
        bytes[5] &= !without;
        let packet = wire::packet(&bytes).unwrap();
        assert_eq!(keys.open(&packet), None, "{without:#04x}");
    }
}
