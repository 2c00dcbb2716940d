//! What the page shows, as one document of bounded size, made from the caches.

mod bmcs;
mod policy;
mod remediations;
#[cfg(test)]
mod tests;

use remediator_core::phase::Reason;
use serde::Serialize;

pub(super) use self::bmcs::Bmcs;
pub(super) use self::policy::Policy;
pub(super) use self::remediations::Remediations;
use crate::readiness::Findings;
use crate::watch::caches::Caches;

/// The longest text, in characters: a message of the journal tells its story in two sentences.
const LONGEST: usize = 600;
/// The longest reason, in characters.
const LONGEST_WORD: usize = 64;

/// What is known, by this replica.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// Name of the replica.
    pub(super) instance: String,
    pub(super) version: &'static str,
    pub(super) stands: Stands,
    /// Holder of the Lease, where that is another replica.
    pub(super) leader: Option<String>,
    #[serde(flatten)]
    pub(super) known: Known,
}

/// How far the replica has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Stands {
    /// It is not known who leads.
    Starting,
    /// Another replica leads.
    StandingBy,
    /// It leads, and has not listed everything.
    Listing,
    /// It leads.
    Leading,
}

/// What only the replica that leads knows; empty for others.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Known {
    #[serde(flatten)]
    pub(super) remediations: Remediations,
    pub(super) policy: Option<Policy>,
    pub(super) bmcs: Bmcs,
}

/// A reason, with what it means here and what a person can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Why {
    pub(super) reason: String,
    /// Without the advice, which is beside it.
    pub(super) message: String,
    pub(super) advice: &'static str,
}

/// What the caches hold. It looks at all remediations and endpoints: not for each event.
pub(super) fn known(caches: &Caches, findings: &Findings) -> Known {
    Known {
        remediations: remediations::of(&caches.remediations.all()),
        policy: policy::of(caches),
        bmcs: bmcs::of(caches, findings),
    }
}

impl Why {
    fn of(reason: &str, message: &str) -> Self {
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
fn short(text: &str) -> String {
    beginning(text, LONGEST)
}

/// The beginning of what should be one word.
fn word(text: &str) -> String {
    beginning(text, LONGEST_WORD)
}

fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first of many, and how many are left out.
fn first<T>(mut all: Vec<T>, most: usize) -> (Vec<T>, usize) {
    let left_out = all.len().saturating_sub(most);
    all.truncate(most);
    (all, left_out)
}
