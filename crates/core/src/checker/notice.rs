//! What people are told of a pass, and whether they were told before.

use std::collections::BTreeSet;

/// On what an event is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// The health check.
    Check,
    /// A Machine of its namespace, by name.
    Machine(String),
}

/// Whether a person has to do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Good to know.
    Normal,
    /// Somebody ought to look.
    Warning,
}

/// Something that people are told by an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// On what.
    pub on: On,
    /// How much it weighs.
    pub weight: Weight,
    /// Reason of the event.
    pub reason: &'static str,
    /// What makes it the same as one that was told before; the text may differ.
    pub key: String,
    /// The text.
    pub note: String,
}

/// By what a notice is recognised.
type Mark = (On, &'static str, String);

/// What was told and still holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told(BTreeSet<Mark>);

impl Told {
    /// Those of the notices of one pass that were not in the pass before. What is not among them any more
    /// is news again when it comes back.
    pub fn news(&mut self, notices: Vec<Notice>) -> Vec<Notice> {
        let mark = |notice: &Notice| (notice.on.clone(), notice.reason, notice.key.clone());
        let marks = notices.iter().map(mark).collect();
        let before = std::mem::replace(&mut self.0, marks);
        let is_news = |notice: &Notice| !before.contains(&mark(notice));
        notices.into_iter().filter(is_news).collect()
    }
}
