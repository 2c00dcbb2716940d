//! A person's word that a host is off, where its BMC does not tell. It is no proof: what is released on it says so.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after;

/// For how long a word may be acted on: the host may be switched on again.
pub const VALID_FOR: SignedDuration = SignedDuration::from_mins(15);

/// How far the clock of the person may be ahead of ours, and how long a new admission policy may take to be enforced.
pub const TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

/// The longest reason, in characters, as the admission policy and the schema count them.
pub const LONGEST_REASON: usize = 512;

/// The longest name of a user, in characters.
pub const LONGEST_NAME: usize = 512;

/// Whom a person is asked about, as it is journalled: a word is about this host and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Name of the Node whose workloads would be released.
    #[schemars(length(max = 253))]
    pub node: String,
    /// UID of the Node.
    #[serde(rename = "nodeUID")]
    #[schemars(length(max = 256))]
    pub node_uid: String,
    /// Address of the BMC that does not tell, without credentials.
    pub bmc: String,
    /// Whether the BMC has said the system UUID of the Node, to an earlier attempt or a check. Where it has not, anybody
    /// may have named the Node, and who confirms needs the right to on the Node, too.
    pub proven: bool,
}

/// What a person says of a host: that it is off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct Word {
    /// The Node on that host.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub node: String,
    /// The user, as the API server knows them.
    #[schemars(length(max = 512))]
    pub by: String,
    /// Why they know.
    #[schemars(length(max = 512))]
    pub why: String,
    /// When they said so, by their clock.
    pub at: Timestamp,
}

/// A word as it was read live, and since when the API server lets only those say it who have the right to, with their
/// own name. An error says what is missing for that.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct LiveWord {
    /// The word.
    pub word: crate::facts::Lookup<Word>,
    /// Since when it is guarded.
    pub guarded_since: Result<Timestamp, String>,
}

/// A word that was acted on, as it is journalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// Who, why and when.
    #[serde(flatten)]
    pub word: Word,
    /// When it was taken.
    pub accepted: Timestamp,
    /// When the Node was found silent.
    pub node_silent: Timestamp,
    /// The last heartbeat of the silent Node; another one on a later version of it shows that it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_heartbeat: Option<Timestamp>,
    /// resourceVersion of the Node as it was known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_version: Option<String>,
}

impl Word {
    /// Reads a word from the texts that it is written in: of which Node, why, by whom, and when. `None`: there is none.
    /// An error names what is wrong.
    pub fn read(texts: [Option<&str>; 4]) -> Result<Option<Self>, &'static str> {
        if texts == [None; 4] {
            return Ok(None);
        }
        let [node, why, by, at] = texts;
        let node = node.filter(|node| !node.is_empty());
        let node = node.ok_or("it does not say of which Node")?;
        let why = why.map(str::trim).filter(|why| !why.is_empty());
        let why = why.ok_or("it does not say why")?;
        let by = by.filter(|by| !by.is_empty()).ok_or("it does not say by whom")?;
        let at = at.and_then(|at| at.parse().ok());
        let at = at.ok_or("it does not say when, in the form of RFC 3339")?;
        if why.chars().count() > LONGEST_REASON || by.chars().count() > LONGEST_NAME {
            return Err("the reason or the name of the user is too long");
        }
        let (node, by, why) = (node.to_owned(), by.to_owned(), why.to_owned());
        Ok(Some(Self { node, by, why, at }))
    }

    /// Whether it is about the host that was asked about.
    pub fn is_about(&self, asked: &Asked) -> Result<(), String> {
        if self.node == asked.node {
            return Ok(());
        }
        Err(format!("it is about Node {}, and not {}", self.node, asked.node))
    }

    /// Whether it belongs to what has been asked since `asked`, and is young enough to be acted on.
    pub fn is_timely(&self, asked: Timestamp, now: Timestamp) -> Result<(), String> {
        if self.at < asked {
            return Err(format!("it was said before {asked:.0}, when that was asked"));
        }
        if self.at > after(now, TOLERANCE) {
            return Err(format!("its time lies in the future of {now:.0}"));
        }
        if after(self.at, VALID_FOR) < now {
            return Err(format!("it is older than {} min", VALID_FOR.as_mins()));
        }
        Ok(())
    }

    /// Whether nobody without the right could have said it.
    pub fn is_guarded(&self, guarded_since: &Result<Timestamp, String>) -> Result<(), String> {
        let since = guarded_since.as_ref().map_err(Clone::clone)?;
        if self.at < after(*since, TOLERANCE) {
            return Err(format!("the admission policy is there since {since:.0} only"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, SignedDuration::from_secs(seconds))
    }

    fn word(seconds: i64) -> Word {
        Word {
            node: "worker-1".to_owned(),
            by: "jane".to_owned(),
            why: "the plug is out".to_owned(),
            at: at(seconds),
        }
    }

    #[test]
    fn a_word_says_who_when_and_why_or_is_none() {
        let (node, why, by) = (Some("worker-1"), Some("out"), Some("jane"));
        let when = Some("2027-01-15T08:00:00Z");
        let long = "x".repeat(LONGEST_REASON + 1);
        let longest = "電".repeat(LONGEST_REASON);
        assert!(
            Word::read([node, Some(&longest), by, when]).is_ok(),
            "what the API server takes"
        );
        assert_eq!(Word::read([None; 4]), Ok(None));
        assert_eq!(Word::read([node, why, by, when]).unwrap().unwrap().by, "jane");
        for wrong in [
            [None, why, by, when],
            [Some(""), why, by, when],
            [node, None, by, when],
            [node, Some(" "), by, when],
            [node, Some(long.as_str()), by, when],
            [node, why, None, when],
            [node, why, Some(""), when],
            [node, why, by, None],
            [node, why, by, Some("now")],
            [node, why, by, Some("2027-01-15")],
        ] {
            assert!(Word::read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_word_is_taken_neither_early_nor_late() {
        let asked = at(0);
        for (said, now, taken) in [
            (-1, 10, false),
            (0, 10, true),
            (10, 10, true),
            (70, 10, true),
            (71, 10, false),
            (10, 910, true),
            (10, 911, false),
        ] {
            assert_eq!(
                word(said).is_timely(asked, at(now)).is_ok(),
                taken,
                "{said} {now}"
            );
        }
    }

    #[test]
    fn a_word_counts_only_where_nobody_else_could_have_said_it() {
        assert!(word(60).is_guarded(&Ok(at(0))).is_ok());
        assert!(word(59).is_guarded(&Ok(at(0))).is_err());
        let missing = Err("there is no policy".to_owned());
        assert_eq!(
            word(60).is_guarded(&missing),
            Err("there is no policy".to_owned())
        );
    }
}
