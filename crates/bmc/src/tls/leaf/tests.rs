use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair, PublicKeyData as _, date_time_ymd};
use rustls::server::ParsedCertificate;
use x509_cert::der::Encode as _;
use x509_cert::der::asn1::BitString;

use super::*;

fn certificate() -> (CertificateDer<'static>, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["bmc".to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().der().clone(), key)
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    let inside = parts.concat();
    AnyRef::new(Tag::Sequence, &inside).unwrap().to_der().unwrap()
}

/// A SubjectPublicKeyInfo of RSA with this modulus.
fn rsa(modulus: &[u8]) -> Vec<u8> {
    let modulus = UintRef::new(modulus).unwrap().to_der().unwrap();
    let exponent = 65537_u32.to_der().unwrap();
    let bits = BitString::from_bytes(&sequence(&[&modulus, &exponent])).unwrap();
    let algorithm = sequence(&[alg_id::RSA_ENCRYPTION.as_ref()]);
    sequence(&[&algorithm, &bits.to_der().unwrap()])
}

#[test]
fn the_key_is_that_of_the_certificate() {
    let (certificate, pair) = certificate();
    let key = PublicKey::read(Leaf::read(&certificate).unwrap().spki).unwrap();
    assert_eq!(key.bits, pair.public_key_raw());
    assert_eq!(key.spki, pair.subject_public_key_info());
    assert_eq!(key.algorithm, alg_id::ECDSA_P256.as_ref());
    assert_eq!(key.rsa_bits(), None);
}

#[test]
fn the_length_of_an_rsa_key_is_that_of_its_modulus() {
    for (modulus, bits) in [
        ([&[0xff_u8][..], &[1; 127]].concat(), 1024),
        ([&[0x80][..], &[1; 255]].concat(), 2048),
        ([&[0x7f][..], &[1; 255]].concat(), 2047),
        ([&[0x01][..], &[1; 128]].concat(), 1025),
    ] {
        let spki = rsa(&modulus);
        let key = PublicKey::read(&spki).unwrap();
        assert_eq!(key.rsa_bits(), Some(bits));
    }
}

#[test]
fn nothing_may_be_left_or_missing() {
    let (certificate, _) = certificate();
    assert!(Leaf::read(&[&certificate, &[0_u8][..]].concat()).is_err());
    let outer = AnyRef::from_der(&certificate).unwrap().value();
    assert!(Leaf::read(&sequence(&[outer])).is_ok());
    assert!(Leaf::read(&sequence(&[outer, &[5, 0]])).is_err());
    assert!(Leaf::read(&sequence(&[])).is_err());
    let spki = rsa(&[0xff; 128]);
    assert!(PublicKey::read(&[&spki, &[0_u8][..]].concat()).is_err());
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/bmc_certificate");
    let files = std::fs::read_dir(folder).expect("the corpus is in the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.unwrap().path()).unwrap();
    files.map(read).collect()
}

#[test]
fn the_corpus_is_read_without_harm() {
    let corpus = corpus();
    assert!(corpus.len() >= 10, "{}", corpus.len());
    let understood = corpus.iter().filter(|bytes| read_certificate(bytes)).count();
    assert!(understood >= 10, "{understood}");
}

/// Whether webpki and this read the same key. `None` unless both read one.
fn same_key_as_webpki(bytes: &[u8]) -> Option<bool> {
    let certificate = CertificateDer::from(bytes);
    // The inside of the key is not looked at before it is used.
    let theirs = ParsedCertificate::try_from(&certificate).ok()?;
    let ours = Leaf::read(bytes)
        .and_then(|leaf| PublicKey::read(leaf.spki))
        .ok()?;
    Some(ours.spki == theirs.subject_public_key_info().as_ref())
}

#[test]
fn webpki_reads_the_same_key() {
    let compared: Vec<bool> = corpus()
        .iter()
        .filter_map(|bytes| same_key_as_webpki(bytes))
        .collect();
    assert!(compared.len() >= 5, "{}", compared.len());
    assert!(compared.iter().all(|same| *same));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_and_never_as_another_key(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut real = which.get(&corpus()).clone();
        if !real.is_empty() {
            let at = at.index(real.len());
            real[at] = byte;
        }
        for bytes in [bytes, real] {
            let _ = read_certificate(&bytes);
            prop_assert!(same_key_as_webpki(&bytes) != Some(false), "{bytes:02x?}");
        }
    }
}

fn until(year: i32) -> CertificateDer<'static> {
    let mut params = CertificateParams::new(vec!["bmc".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 6, 1);
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().der().clone()
}

#[test]
fn the_last_moment_is_read_in_both_forms_of_time() {
    // UTCTime before 2050, GeneralizedTime after.
    for (year, expected) in [(2031, "2031-06-01T00:00:00Z"), (2091, "2091-06-01T00:00:00Z")] {
        let presented = PresentedCertificate::of(&until(year));
        assert_eq!(presented.not_after, Some(expected.parse().unwrap()));
    }
}

proptest! {
    #[test]
    fn what_is_no_certificate_is_no_reason_to_fall_over(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        cut in 0_usize..300,
        flip in 0_usize..300,
    ) {
        let _ = not_after(&bytes);
        let mut real = until(2031).to_vec();
        if let Some(byte) = real.get_mut(flip) {
            *byte ^= 0xff;
        }
        let _ = not_after(&real);
        real.truncate(cut);
        prop_assert_eq!(not_after(&real), None);
    }
}
