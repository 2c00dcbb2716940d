//! Rules about logins.

use std::collections::BTreeMap;

use super::{Broken, Oracle};
use crate::journal::Tried;

/// Rejected credentials remembered for one BMC, and users with rejections; the oldest go first. No client
/// has so many, and what guesses passwords must not fill the memory.
const REMEMBERED: usize = 1000;

/// What has to be remembered of the logins at one BMC.
#[derive(Debug, Default)]
pub(super) struct LoginCase {
    /// Credentials that were rejected, and the client knows it, with the entry that says so.
    rejected: BTreeMap<Tried, Rejected>,
    /// Rejections in a row of each user, with the newest entry.
    in_a_row: BTreeMap<String, (u64, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Rejected {
    seq: u64,
    /// Whether it was over IPMI, where one password is like another.
    over_ipmi: bool,
}

impl LoginCase {
    /// Credentials were tried and rejected.
    pub(super) fn failed(&mut self, tried: &Tried) -> Vec<Broken> {
        let before = self.in_a_row.get(&tried.user).map_or(0, |(_, times)| *times);
        let mut broken = self.repeated(tried, "were tried again and rejected again");
        if before >= 2 {
            let text = format!(
                "{} logins of one user were rejected in a row",
                before.saturating_add(1)
            );
            broken.push((Oracle::ThirdRejection, text));
        }
        broken
    }

    /// The client got to know of a rejection.
    pub(super) fn rejected(&mut self, tried: &Tried, seq: u64, over_ipmi: bool) {
        let row = self.in_a_row.entry(tried.user.clone()).or_default();
        *row = (seq, row.1.saturating_add(1));
        self.rejected.insert(tried.clone(), Rejected { seq, over_ipmi });
        forget_oldest(&mut self.rejected, |rejected| rejected.seq);
        forget_oldest(&mut self.in_a_row, |(at, _)| *at);
    }

    /// Credentials were tried and accepted.
    pub(super) fn accepted(&mut self, tried: &Tried) -> Vec<Broken> {
        let broken = self.repeated(tried, "were tried again, this time with success");
        self.rejected.remove(tried);
        self.rejected
            .retain(|earlier, rejected| earlier.user != tried.user || !rejected.over_ipmi);
        self.in_a_row.remove(&tried.user);
        broken
    }

    /// The logins of these users changed: a new try is no repetition.
    pub(super) fn changed(&mut self, users: &[String]) {
        self.rejected.retain(|tried, _| !users.contains(&tried.user));
        self.in_a_row.retain(|user, _| !users.contains(user));
    }

    /// Whether it matters that these credentials are accepted.
    pub(super) fn concerns(&self, tried: &Tried) -> bool {
        self.rejected.contains_key(tried) || self.in_a_row.contains_key(&tried.user)
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> (usize, usize) {
        (self.rejected.len(), self.in_a_row.len())
    }

    fn repeated(&self, tried: &Tried, how: &str) -> Vec<Broken> {
        let first = self.rejected.get(tried);
        let text = |first: &Rejected| format!("credentials that journal entry {} rejected {how}", first.seq);
        let broken = first.map(|first| (Oracle::TryAfterRejection, text(first)));
        broken.into_iter().collect()
    }
}

fn forget_oldest<K: Ord + Clone, V>(known: &mut BTreeMap<K, V>, age: impl Fn(&V) -> u64) {
    if known.len() <= REMEMBERED {
        return;
    }
    let oldest = known.iter().min_by_key(|(_, value)| age(value));
    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
        known.remove(&key);
    }
}
