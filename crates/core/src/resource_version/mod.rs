//! Which of two views of an object is the later one.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// Compares two resourceVersions of one kind at one API server: they are ordered (Kubernetes KEP-5504). Where one is no
/// number, nothing is concluded.
pub fn compare(one: &str, other: &str) -> Option<Ordering> {
    let number = |version: &str| version.parse::<u64>().ok();
    Some(number(one)?.cmp(&number(other)?))
}
