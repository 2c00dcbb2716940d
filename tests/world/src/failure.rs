//! How a story ends that cannot go on: with the line of the story, whatever error came up to it.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

/// What a story answers.
pub type Outcome = Result<(), Failure>;

thread_local! {
    /// The failure of the story of this thread.
    static NOTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// An error, and the line of the story that met it. Helpers answer plain errors; the story's own `?` makes this of
/// them.
pub struct Failure {
    line: &'static Location<'static>,
    error: anyhow::Error,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let failure = Self {
            line: Location::caller(),
            error: error.into(),
        };
        NOTED.set(Some(format!("{failure:?}")));
        failure
    }
}

/// The test harness shows it so.
impl fmt::Debug for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the story failed at {}\n{:?}", self.line, self.error)
    }
}

/// Shown with the output of the story of this thread, if it fails.
#[expect(clippy::print_stderr, reason = "a test's stderr is shown when it fails")]
pub(crate) fn show(text: &str) {
    eprintln!("{text}");
}

/// What the story of this thread failed by, if it did not by a panic.
pub(crate) fn noted() -> Option<String> {
    NOTED.with_borrow(Clone::clone)
}

/// Whether the story of this thread fails.
pub(crate) fn story_fails() -> bool {
    std::thread::panicking() || noted().is_some()
}
