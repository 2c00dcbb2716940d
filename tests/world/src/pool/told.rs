//! What people are told of a story: how long it took, and of one that failed the ends of its logs.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::show;

/// Names a file to which each story adds a line: seconds, setting, name.
const TIMES: &str = "STORY_TIMES";
/// Of each log; longer lines are cut.
const LINES: usize = 20;
const COLUMNS: usize = 400;

/// Adds a line to the file of times. Best effort: no story fails by it.
pub(super) fn time(story: &str, setting: &str, took: Duration) {
    let Some(file) = std::env::var_os(TIMES) else {
        return;
    };
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
        let line = format!("{:.1} {setting} {story}\n", took.as_secs_f64());
        file.write_all(line.as_bytes()).ok();
    }
}

/// Shows the ends of the logs to whoever reads why the story of this thread failed.
pub(super) fn logs(logs: &[PathBuf]) {
    let mut text = String::new();
    for log in logs {
        writeln!(text, "--- the end of {}:\n{}", log.display(), end_of(log)).ok();
    }
    show(&text);
}

fn end_of(log: &Path) -> String {
    let Ok(bytes) = std::fs::read(log) else {
        return "(it cannot be read)".to_owned();
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.chars().take(COLUMNS).collect())
        .collect();
    let from = lines.len().saturating_sub(LINES);
    lines.get(from..).unwrap_or_default().join("\n")
}
