//! Known answers, computed by another implementation: `vectors.py` beside this file, which uses
//! Python's hmac and openssl's AES.

use crate::ipmi::crypto::{CipherSuite, SessionKeys, Transcript};
use crate::ipmi::wire::net_fn::CHASSIS;
use crate::ipmi::wire::{self, Request};

const PASSWORD: &[u8] = b"twenty-bytes-long-pw";
const KG: &[u8] = b"bmc-key";
const MANAGED_ID: u32 = 0x0200_0102;

struct Vector {
    suite: CipherSuite,
    key: &'static [u8],
    rakp2: &'static str,
    rakp3: &'static str,
    rakp4: &'static str,
    sik: &'static str,
    datagram: &'static str,
}

const SHA256_RAKP2: &str = "f515e256bf8f9f6e57d043824571420f04edb8cf5bcf7897b3efafa2fdf734e1";
const SHA256_RAKP3: &str = "9c52446d8b5e722a19bcb16ce97954c5f7848e2119a234cbfcef9919e1c4d831";
const SHA1_RAKP2: &str = "15de1ea3aada61f34c2df2941d9c820d6c04c7d5";
const SHA1_RAKP3: &str = "84f21c25da3191b61e9aa81da772f02fa0f5849b";

const VECTORS: [Vector; 4] = [
    Vector {
        suite: CipherSuite::Seventeen,
        key: PASSWORD,
        rakp2: SHA256_RAKP2,
        rakp3: SHA256_RAKP3,
        rakp4: "32386966301df361512e19550b9dec29",
        sik: "fdb03b68059ca5459ba4e407862ccba31770a787781521efb987cfa53ff5cbd6",
        datagram: "0600ff0706c002010002030000002000e0e1e2e3e4e5e6e7e8e9eaebecedeeeffa770f1cd890f973677380b3\
                   fe186d85ffff0207f55be2960cae7440e4cb51cc1505d636",
    },
    Vector {
        suite: CipherSuite::Seventeen,
        key: KG,
        rakp2: SHA256_RAKP2,
        rakp3: SHA256_RAKP3,
        rakp4: "240932f1420a93be0db4611ce2b170c8",
        sik: "7c1b44429cc16f8653d848846af48361f59b2c522907616143136de1d830de75",
        datagram: "0600ff0706c002010002030000002000e0e1e2e3e4e5e6e7e8e9eaebecedeeef38b4e615f698435497097fae\
                   c0df93e4ffff0207a2efbef5cda60973740150579fcbf07b",
    },
    Vector {
        suite: CipherSuite::Three,
        key: PASSWORD,
        rakp2: SHA1_RAKP2,
        rakp3: SHA1_RAKP3,
        rakp4: "74924aeadaa572807990c2bf",
        sik: "16bcd7b924c049c7f32828b1324f9b9a29fa9575",
        datagram: "0600ff0706c002010002030000002000e0e1e2e3e4e5e6e7e8e9eaebecedeeef4f706d75381917dfe95beed7\
                   2640782effff0207c07775659c8e3aabd58a83b0",
    },
    Vector {
        suite: CipherSuite::Three,
        key: KG,
        rakp2: SHA1_RAKP2,
        rakp3: SHA1_RAKP3,
        rakp4: "9faf0ad95febf4229fe291a2",
        sik: "9be8c8d9dd4328b7a1a1c9f3bc200df9fe0553e9",
        datagram: "0600ff0706c002010002030000002000e0e1e2e3e4e5e6e7e8e9eaebecedeeef4ddd6e2a9aa1d5626042b189\
                   49355efaffff0207c8f11ce470db99265dcd5d2d",
    },
];

fn bytes(digits: &str) -> Vec<u8> {
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn counting(from: u8) -> [u8; 16] {
    std::array::from_fn(|place| from.wrapping_add(u8::try_from(place).unwrap()))
}

fn transcript(suite: CipherSuite) -> Transcript<'static> {
    Transcript {
        suite,
        console_id: 0xa0a2_a3a4,
        managed_id: MANAGED_ID,
        console_random: counting(0x10),
        managed_random: counting(0xc0),
        guid: counting(0x50),
        role: 0x13,
        name: b"operator",
    }
}

#[test]
fn the_codes_of_a_login_are_those_of_another_implementation() {
    for vector in &VECTORS {
        let transcript = transcript(vector.suite);
        assert!(transcript.rakp2_proves(PASSWORD, &bytes(vector.rakp2)));
        assert_eq!(*transcript.rakp3_code(PASSWORD), bytes(vector.rakp3));
        let sik = transcript.session_integrity_key(vector.key);
        assert_eq!(*sik, bytes(vector.sik));
        assert!(transcript.rakp4_proves(&sik, &bytes(vector.rakp4)));
    }
}

#[test]
fn a_code_that_is_cut_or_changed_proves_nothing() {
    for vector in &VECTORS {
        let transcript = transcript(vector.suite);
        let sik = bytes(vector.sik);
        let (rakp2, rakp4) = (bytes(vector.rakp2), bytes(vector.rakp4));
        for length in 0..rakp2.len() {
            assert!(!transcript.rakp2_proves(PASSWORD, &rakp2[..length]));
        }
        for length in 0..rakp4.len() {
            assert!(!transcript.rakp4_proves(&sik, &rakp4[..length]));
        }
        let changed: Vec<u8> = rakp2.iter().map(|byte| byte ^ 0x80).collect();
        assert!(!transcript.rakp2_proves(PASSWORD, &changed));
        assert!(!transcript.rakp2_proves(b"another", &rakp2));
        assert!(!transcript.rakp4_proves(b"another", &rakp4));
    }
}

#[test]
fn a_request_is_sealed_as_by_another_implementation() {
    let status = Request {
        net_fn: CHASSIS,
        command: 0x01,
        data: &[],
    };
    for vector in &VECTORS {
        let keys = SessionKeys::new(vector.suite, &bytes(vector.sik));
        let sealed = keys.seal(MANAGED_ID, 3, counting(0xe0), &wire::request(&status, 5));
        assert_eq!(sealed, bytes(vector.datagram), "{:?}", vector.suite);
        let packet = wire::packet(&sealed).unwrap();
        assert_eq!((packet.session_id, packet.sequence), (MANAGED_ID, 3));
        assert_eq!(keys.open(&packet), Some(wire::request(&status, 5)));
    }
}
