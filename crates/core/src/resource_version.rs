//! Which of two views of an object is the later one.

use std::cmp::Ordering;

/// Compares two resourceVersions of one kind at one API server: they are ordered (Kubernetes KEP-5504). Where one is no
/// number, nothing is concluded.
pub fn compare(one: &str, other: &str) -> Option<Ordering> {
    let number = |version: &str| version.parse::<u64>().ok();
    Some(number(one)?.cmp(&number(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
