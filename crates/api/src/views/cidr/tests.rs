use super::parse;

#[test]
fn ranges_are_read_as_the_api_server_reads_them() {
    for (text, read) in [
        ("10.244.3.0/24", Some("10.244.3.0/24")),
        ("010.244.003.0/24", Some("10.244.3.0/24")),
        ("10.244.3.7/24", Some("10.244.3.7/24")),
        ("fd00:10:244::/64", Some("fd00:10:244::/64")),
        ("::ffff:10.244.3.0/120", Some("::ffff:10.244.3.0/120")),
        ("10.244.3.0", None),
        ("10.244.3.0/33", None),
        ("10.244.3/24", None),
        ("10.244.3.256/24", None),
        ("10.244.3.0/24/24", None),
        ("", None),
    ] {
        let expected = read.map(|read| read.parse().unwrap());
        assert_eq!(parse(text), expected, "{text}");
    }
}
