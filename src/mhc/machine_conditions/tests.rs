use super::*;

#[test]
fn who_did_not_have_a_turn_comes_first_in_the_next_whatever_was_refused() {
    let said = ["a", "b", "c"].map(|name| MachineHealth {
        machine: name.to_owned(),
        failure: None,
    });
    for (before, expected) in [
        (None, ["a", "b", "c"]),
        (Some("a"), ["b", "c", "a"]),
        (Some("c"), ["a", "b", "c"]),
        (Some("gone"), ["a", "b", "c"]),
    ] {
        let order: Vec<&str> = going_on(&said, before)
            .map(|said| said.machine.as_str())
            .collect();
        assert_eq!(order, expected, "{before:?}");
    }
    assert_eq!(going_on(&[], Some("a")).count(), 0);
}
