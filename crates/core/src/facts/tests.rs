use super::{LONGEST_DETAIL, Obstacle};
use crate::phase::Reason;

#[test]
fn a_detail_is_kept_short_enough_for_a_journal() {
    for (detail, expected) in [
        ("short.".to_owned(), "short".to_owned()),
        (
            "\u{e9}".repeat(LONGEST_DETAIL),
            "\u{e9}".repeat(LONGEST_DETAIL / 2) + " ...",
        ),
    ] {
        assert_eq!(Obstacle::new(Reason::NodeUnreadable, detail).detail, expected);
    }
}
