use super::*;

#[test]
fn off_and_durations_within_bounds_are_read() {
    let every = |seconds| Ok(CheckInterval::Every(SignedDuration::from_secs(seconds)));
    for (text, wanted) in [
        ("off", Ok(CheckInterval::Off)),
        ("0", Ok(CheckInterval::Off)),
        ("0s", Ok(CheckInterval::Off)),
        ("10s", every(10)),
        ("6h", every(21_600)),
        ("1h30m", every(5_400)),
        ("168h", every(604_800)),
    ] {
        assert_eq!(text.parse(), wanted, "{text}");
    }
    for text in [
        "",
        "never",
        "9s",
        "169h",
        "-6h",
        "6",
        "6 h",
        "99999999999999999999h",
    ] {
        assert_eq!(
            text.parse::<CheckInterval>(),
            Err(BadInterval(text.to_owned())),
            "{text}"
        );
    }
}

#[test]
fn what_is_written_is_read_again() {
    for text in ["off", "6h0m0s", "10s"] {
        let interval: CheckInterval = text.parse().unwrap();
        assert_eq!(interval.to_string().parse(), Ok(interval), "{interval}");
    }
    assert_eq!(
        CheckInterval::default().every(),
        Some(SignedDuration::from_hours(6))
    );
}
