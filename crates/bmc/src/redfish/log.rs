//! The newest entries of the log that a BMC keeps about a system: for people who ask later what had happened to the host.
//!
//! Power control depends on nothing of this. What is missing, refused or late is left out, and a refusal here says nothing
//! about the login.

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use remediator_core::journal::LogEntry;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Redfish;
use super::login::LoginState;
use super::resource::{self, Collection, LogPage, LogRecord, LogService};
use super::select::MAX_WORD;
use crate::address::ResourcePath;

/// How long all requests for it may take. Other hosts behind the BMC wait meanwhile.
const DEADLINE: Duration = Duration::from_secs(2);
/// Entries that are kept.
const NEWEST: usize = 5;
/// Longest message, in characters.
const MAX_MESSAGE: usize = 256;
/// Names of the logs about the hardware, the likeliest first: one that is named otherwise may be one of logins.
const NAMES: [&str; 5] = ["SEL", "IML", "EventLog", "Log1", "PlatformLog"];

impl Redfish {
    /// The newest entries, the newest first; none where there is no log or it cannot be read in time.
    pub(in super::super) async fn newest_log(&mut self) -> Vec<LogEntry> {
        let found = timeout(DEADLINE, self.read_log()).await;
        found.ok().flatten().unwrap_or_default()
    }

    async fn read_log(&mut self) -> Option<Vec<LogEntry>> {
        let services: Collection = self.glance(&self.logs.clone()?).await?;
        let members = services.members.unwrap_or_default();
        let paths = members.into_iter().flatten().filter_map(|member| member.id);
        let service: LogService = self.glance(&ResourcePath::parse(&best(paths)?).ok()?).await?;
        let entries = ResourcePath::parse(&service.entries?.id?).ok()?;
        let page: LogPage = self.glance(&entries).await?;
        let mut records = records(page.entries);
        // Some list the oldest first, and the newest are on the last page.
        let count = page.count.as_u64().and_then(|count| usize::try_from(count).ok());
        if let Some(count) = count.filter(|count| *count > records.len()) {
            let skipped = count.saturating_sub(NEWEST).max(records.len());
            let last = ResourcePath::parse(&format!("{entries}?$skip={skipped}")).ok()?;
            let last: LogPage = self.glance(&last).await.unwrap_or_default();
            // One that does not know `$skip` sends the first page again.
            let new = self::records(last.entries).into_iter();
            let new: Vec<_> = new
                .filter(|record| !records.iter().any(|one| is_same(one, record)))
                .collect();
            records.extend(new);
        }
        let entries = newest_first(records).into_iter();
        let entries = entries.filter_map(|record| self.entry(&record));
        Some(entries.take(NEWEST).collect())
    }

    fn entry(&self, record: &LogRecord) -> Option<LogEntry> {
        let word = |word: &Option<String>| word.as_deref().map(|word| self.redactor.shorten(word, MAX_WORD));
        let message = self.redactor.shorten(record.message.as_deref()?, MAX_MESSAGE);
        (!message.is_empty()).then(|| LogEntry {
            created: word(&record.created),
            severity: word(&record.severity),
            message,
        })
    }

    /// GET under the login that there is.
    async fn glance<Resource: DeserializeOwned>(&mut self, path: &ResourcePath) -> Option<Resource> {
        match &self.standing {
            LoginState::Session(_) | LoginState::Basic { accepted: true } => {}
            LoginState::New | LoginState::Basic { accepted: false } | LoginState::Rejected(_) => return None,
        }
        let answer = self.send_again(Method::GET, path).await.ok()?;
        let body = answer.status.is_success().then(|| answer.bytes())?;
        resource::decode(body).ok()
    }
}

/// Whether two are one entry: by their address or, where a BMC gives none, by what they say.
fn is_same(one: &LogRecord, other: &LogRecord) -> bool {
    match (&one.id, &other.id) {
        (Some(id), Some(other)) => id == other,
        (Some(_), None) | (None, Some(_)) => false,
        (None, None) => one == other,
    }
}

/// The newest first, by their times. Entries without one, or of the same time, are in the order of the list: the
/// newest are at its end, unless the times of the others say that it begins with them.
fn newest_first(mut records: Vec<LogRecord>) -> Vec<LogRecord> {
    let created = |record: &LogRecord| record.created.as_deref()?.parse::<Timestamp>().ok();
    let mut times = records.iter().filter_map(created);
    let (first, last) = (times.next(), times.next_back());
    let begins_with_them = first.zip(last).is_some_and(|(first, last)| last < first);
    if !begins_with_them {
        records.reverse();
    }
    records.sort_by_key(|record| std::cmp::Reverse(created(record)));
    records
}

fn records(page: Option<Vec<Option<LogRecord>>>) -> Vec<LogRecord> {
    page.unwrap_or_default().into_iter().flatten().collect()
}

/// Which log is about the hardware.
fn best(paths: impl Iterator<Item = String>) -> Option<String> {
    let rank = |path: &String| {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))
    };
    paths
        .filter_map(|path| Some((rank(&path)?, path)))
        .min()
        .map(|(_, path)| path)
}
