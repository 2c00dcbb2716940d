use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::*;

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
