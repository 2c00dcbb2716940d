//! The chain of hashes over the lines of an export.
//!
//! A line is `{"previous":"<hash>","record":<record>,"hash":"<hash>"}`. `previous` is the hash of the line before, 64 zeros in
//! the first. `hash` is the SHA-256, in hexadecimal, over the 64 characters of `previous` and the bytes of the record as
//! printed: nothing has to be put into a canonical form, and any tool can compute it.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use anyhow::{Context as _, anyhow, ensure};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::NotRead;

/// The longest line in bytes. An object in etcd has 1.5 MiB at most.
const LINE_LIMIT: u64 = 4 << 20;
/// Characters of a hash.
const HASH_LENGTH: usize = 64;

/// The lines of an export so far.
pub(super) struct Chain {
    pub(super) count: u64,
    pub(super) last: String,
    /// By UID: the resourceVersion of the last record of that object.
    newest: BTreeMap<String, String>,
}

/// What every record says of its object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    uid: String,
    resource_version: String,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            count: 0,
            last: "0".repeat(HASH_LENGTH),
            newest: BTreeMap::new(),
        }
    }
}

impl Chain {
    /// Whether the last record of the object is of this version of it.
    pub(super) fn has(&self, uid: &str, resource_version: &str) -> bool {
        let newest = self.newest.get(uid);
        newest.is_some_and(|newest| newest == resource_version)
    }

    /// The line of the next record, without its end.
    pub(super) fn link(&mut self, record: &str) -> String {
        let previous = std::mem::take(&mut self.last);
        self.last = hash(previous.as_bytes(), record.as_bytes());
        self.count = self.count.saturating_add(1);
        let hash = &self.last;
        format!(r#"{{"previous":"{previous}","record":{record},"hash":"{hash}"}}"#)
    }

    /// Reads an export to its end. Fails with [`NotRead`], else with the first wrong line and what was expected there.
    pub(super) fn read(mut lines: impl BufRead) -> anyhow::Result<Self> {
        let mut chain = Self::default();
        let mut line = Vec::new();
        loop {
            let mut limited = lines.by_ref().take(LINE_LIMIT);
            if limited.read_until(b'\n', &mut line).context(NotRead)? == 0 {
                return Ok(chain);
            }
            let number = chain.count.saturating_add(1);
            let advice = "compare the export with a copy that was kept elsewhere";
            let wrong = |what| anyhow!("line {number} is wrong: {what:#}; {advice}");
            chain.check(&line).map_err(wrong)?;
            line.clear();
        }
    }

    fn check(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let line = line.strip_suffix(b"\n");
        let line = line.with_context(|| format!("a line end was expected within {LINE_LIMIT} bytes"))?;
        let form = r#"{"previous":"<hash>","record":<record>,"hash":"<hash>"} was expected"#;
        let (previous, record, said) = parts(line).context(form)?;
        let (last, expected) = (&self.last, hash(previous, record));
        let moved = "lines before it were changed, removed, inserted or moved";
        ensure!(
            previous == last.as_bytes(),
            "\"previous\" was expected to be {last}; {moved}"
        );
        ensure!(
            said == expected.as_bytes(),
            "\"hash\" was expected to be {expected}; the line was changed"
        );
        let identity = "a record with uid and resourceVersion was expected";
        let identity: Identity = serde_json::from_slice(record).context(identity)?;
        self.newest.insert(identity.uid, identity.resource_version);
        self.last = expected;
        self.count = self.count.saturating_add(1);
        Ok(())
    }
}

fn hash(previous: &[u8], record: &[u8]) -> String {
    let hash = Sha256::new().chain_update(previous).chain_update(record);
    format!("{:x}", hash.finalize())
}

/// `previous`, record and `hash` of a line. Each stands where its length puts it, so no other line has the same three.
fn parts(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let rest = line.strip_prefix(br#"{"previous":""#)?;
    let (previous, rest) = rest.split_at_checked(HASH_LENGTH)?;
    let rest = rest.strip_prefix(br#"","record":"#)?.strip_suffix(br#""}"#)?;
    let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(HASH_LENGTH)?)?;
    Some((previous, rest.strip_suffix(br#","hash":""#)?, hash))
}
