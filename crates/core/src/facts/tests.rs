use super::{Allowed, LONGEST_DETAIL, Obstacle};
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

#[test]
fn a_list_that_is_not_there_allows_everything_and_an_empty_one_nothing() {
    let read = |text: &str| serde_json::from_str::<Allowed>(text).unwrap();
    assert_eq!(read("{}"), Allowed::default());
    for nothing in ["null", "[]"] {
        let allowed = read(&format!(
            r#"{{"namespaces": {{"machines": {nothing}}}, "fencingModes": {nothing}, "escalations": {nothing}}}"#
        ));
        assert_eq!(allowed.namespaces.machines, Some([].into()), "{nothing}");
        assert_eq!(
            (allowed.fencing_modes, allowed.escalations),
            (Some(vec![]), Some(vec![]))
        );
        assert_eq!((allowed.namespaces.requests, allowed.host_controls), (None, None));
    }
    assert!(serde_json::from_str::<Allowed>(r#"{"fencingModes": ["Hope"]}"#).is_err());
}
