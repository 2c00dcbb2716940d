use proptest::prelude::*;

use super::*;

#[test]
fn durations_are_read_as_go_reads_them() {
    for (text, nanoseconds) in [
        ("0", 0),
        ("-0", 0),
        ("0s", 0),
        ("5m", 300_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("30m1h", 5_400_000_000_000),
        ("1.5h", 5_400_000_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("+1.5s", 1_500_000_000),
        ("-1m30s", -90_000_000_000),
        ("1h2m3.004s5ms6us7ns", 3_723_009_006_007),
        ("3\u{b5}s3\u{3bc}s", 6_000),
        ("2562047h47m16.854775807s", i64::MAX),
        ("0.100000000000000000000h", 360_000_000_000),
    ] {
        let read = parse(text).map(|length| length.as_nanos());
        assert_eq!(read, Some(i128::from(nanoseconds)), "{text}");
    }
}

#[test]
fn what_is_no_duration_of_go_is_none() {
    for text in [
        "",
        "-",
        "+",
        ".",
        "s",
        "5",
        "m",
        "3.5",
        "0m-3s",
        "5m-3s",
        "5m 3s",
        "1x",
        "1S",
        "1.2.3s",
        "--1s",
        "1s5",
        "2562047h47m16.854775808s",
        "99999999999999999999h",
        "1h99999999999999999999s",
        "1\u{662}s",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_is_a_reason_to_fall_over(
        text in "-?([0-9]{0,30}(\\.[0-9]{0,30})?(h|m|s|ms|us|ns|-|\u{b5}s)?){0,3}",
        other in ".{0,20}",
    ) {
        let _ = (parse(&text), parse(&other));
    }

    #[test]
    fn whole_numbers_of_a_unit_are_exact(seconds in 0_i64..1_000_000_000, minutes in 0_i64..1_000_000) {
        let read = parse(&format!("{minutes}m{seconds}s"));
        let expected = SignedDuration::from_mins(minutes).checked_add(SignedDuration::from_secs(seconds));
        prop_assert_eq!(read, expected);
    }
}
