use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn who_recovers_while_others_get_the_trigger_gets_none_and_nobody_has_two_turns() {
    let begun = Instant::now();
    let mut queue = Queue::new(names(&["a", "b", "c"]), begun);
    assert_eq!(queue.next().as_deref(), Some("a"));
    assert!(!queue.is_outdated(begun + Duration::from_secs(1)));

    // The call for "a" ran into its time-out.
    let later = begun + Duration::from_secs(10);
    assert!(queue.is_outdated(later));
    queue.judge_again(names(&["a", "c", "d"]), later);

    assert!(!queue.is_outdated(later));
    assert_eq!(
        queue.next().as_deref(),
        Some("c"),
        "b has recovered, a had its turn"
    );
    assert_eq!(queue.next().as_deref(), Some("d"));
    assert_eq!(queue.next(), None);
}

#[test]
fn nothing_is_judged_again_for_nobody() {
    let begun = Instant::now();
    let mut queue = Queue::new(names(&["a"]), begun);
    assert_eq!(queue.next().as_deref(), Some("a"));
    assert!(!queue.is_outdated(begun + Duration::from_secs(10)));
}
