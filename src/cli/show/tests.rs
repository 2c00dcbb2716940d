use super::*;

fn rows() -> Vec<Vec<String>> {
    let rows = [["worker-1", "Unhealthy", "-"], ["a", "Healthy", "no"]];
    rows.map(|row| row.map(str::to_owned).to_vec()).to_vec()
}

#[test]
fn columns_are_as_wide_as_they_need() {
    let lines = lines(&["MACHINE", "HEALTH", "BMC"], &rows(), false);
    assert_eq!(
        lines,
        [
            "MACHINE   HEALTH     BMC",
            "worker-1  Unhealthy  -",
            "a         Healthy    no"
        ]
    );
}

#[test]
fn only_the_columns_of_a_verdict_have_a_colour_and_it_changes_no_width() {
    let lines = lines(&["MACHINE", "HEALTH", "BMC"], &rows(), true);
    assert_eq!(lines[1], "worker-1  \x1b[31mUnhealthy\x1b[0m  -");
    assert_eq!(lines[2], "a         \x1b[32mHealthy  \x1b[0m  no");
}

#[test]
fn colours_are_for_terminals_and_for_who_wants_them() {
    let with = |name: &'static str, value: &'static str| {
        move |asked: &str| (asked == name).then(|| value.to_owned())
    };
    assert!(is_coloured(true, |_| None));
    assert!(!is_coloured(false, |_| None));
    assert!(!is_coloured(true, with("NO_COLOR", "1")));
    assert!(is_coloured(true, with("NO_COLOR", "")));
    assert!(!is_coloured(true, with("TERM", "dumb")));
    assert!(is_coloured(true, with("TERM", "xterm-256color")));
}
