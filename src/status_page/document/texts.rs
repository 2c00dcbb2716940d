//! Texts and lists of bounded size.

use remediator_core::phase::Reason;
use serde::Serialize;

/// The longest text, in characters: a message of the journal tells its story in two sentences.
pub(super) const LONGEST: usize = 600;
/// The longest reason, in characters.
const LONGEST_WORD: usize = 64;

/// A reason, with what it means here and what a person can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Why {
    pub(crate) reason: String,
    /// Without the advice, which is beside it.
    pub(crate) message: String,
    pub(crate) advice: &'static str,
}

impl Why {
    pub(super) fn of(reason: &str, message: &str) -> Self {
        let advice = Reason::named(reason).map_or("", Reason::advice);
        let detail = message.trim_end();
        let detail = detail.strip_suffix(advice).unwrap_or(detail);
        Self {
            reason: word(reason),
            message: short(detail.trim_end()),
            advice,
        }
    }
}

/// The beginning of a text that may be long.
pub(super) fn short(text: &str) -> String {
    beginning(text, LONGEST)
}

/// The beginning of what should be one word.
pub(super) fn word(text: &str) -> String {
    beginning(text, LONGEST_WORD)
}

fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first of many, and how many are left out.
pub(super) fn first<T>(mut all: Vec<T>, most: usize) -> (Vec<T>, usize) {
    let left_out = all.len().saturating_sub(most);
    all.truncate(most);
    (all, left_out)
}
