use super::{Ordering, compare};

#[test]
fn versions_are_compared_as_numbers_or_not_at_all() {
    for (one, other, expected) in [
        ("9", "10", Some(Ordering::Less)),
        ("10", "10", Some(Ordering::Equal)),
        ("11", "10", Some(Ordering::Greater)),
        ("", "10", None),
        ("10", "x", None),
    ] {
        assert_eq!(compare(one, other), expected, "{one} {other}");
    }
}
