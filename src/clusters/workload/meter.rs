//! How much of an answer was read, and how much memory it may come to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What may be read of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// Bytes.
    pub(super) bytes: usize,
    /// Objects and arrays of JSON. Read, each of them can take some hundred bytes of memory, and two bytes are
    /// enough to send one: bytes alone would not bound what is read.
    pub(super) containers: usize,
}

impl Limit {
    const fn new(mebibytes: usize, containers: usize) -> Self {
        Self {
            bytes: mebibytes.saturating_mul(1024 * 1024),
            containers,
        }
    }
}

/// Nodes of a workload cluster that are asked for at once.
pub(crate) const NODES_PAGE: u32 = 50;

/// One answer, which may be a page of a list. A Node is some 30 kB in 400 containers.
pub(super) const ANSWER: Limit = Limit::new(8, 50_000);

/// The pods of one Node, which are asked for in one page: some hundred of 15 kB, in 250 containers each.
pub(super) const PODS: Limit = Limit::new(16, 100_000);

/// One event of a watch: an object. The API server takes none above 1.5 MiB (etcd, `--max-request-bytes`).
pub(super) const EVENT: Limit = Limit::new(3, 20_000);

/// All pages of a list that is looked through as a whole.
pub(super) const LIST: Limit = Limit::new(64, 400_000);

/// More came than may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} is larger than {} MiB or has more than {} JSON objects and arrays; nothing more of it is \
     read; check what answers at that address",
    .limit.bytes / (1024 * 1024),
    .limit.containers
)]
pub(super) struct TooLarge {
    what: &'static str,
    limit: Limit,
}

/// What has come of all pages of a list.
#[derive(Debug, Default)]
pub(super) struct Tally {
    bytes: AtomicUsize,
    containers: AtomicUsize,
}

/// What is measured.
#[derive(Debug)]
pub(super) enum Measured {
    /// An answer as a whole.
    Answer(Limit),
    /// A page, and the list that it is of.
    Page(Arc<Tally>),
    /// A watch. It lives long and carries as much as happens, so each of its events is measured by itself: they
    /// are lines.
    Events,
}

/// Measures JSON on its way.
#[derive(Debug)]
pub(super) struct Meter {
    measured: Measured,
    bytes: usize,
    containers: usize,
    in_string: bool,
    escaped: bool,
}

impl Meter {
    pub(super) fn new(measured: Measured) -> Self {
        Self {
            measured,
            bytes: 0,
            containers: 0,
            in_string: false,
            escaped: false,
        }
    }

    /// Notes what came.
    ///
    /// # Errors
    /// When it is too much.
    pub(super) fn read(&mut self, data: &[u8]) -> Result<(), TooLarge> {
        let before = (self.bytes, self.containers);
        for byte in data {
            self.one(*byte);
            if self.over(self.limit()) {
                return Err(self.too_large(self.limit()));
            }
        }
        if let Measured::Page(list) = &self.measured {
            let more = |total: &AtomicUsize, now: usize, before: usize| {
                let more = now.saturating_sub(before);
                total.fetch_add(more, Ordering::Relaxed).saturating_add(more)
            };
            let bytes = more(&list.bytes, self.bytes, before.0);
            let containers = more(&list.containers, self.containers, before.1);
            if bytes > LIST.bytes || containers > LIST.containers {
                return Err(TooLarge {
                    what: "the list",
                    limit: LIST,
                });
            }
        }
        Ok(())
    }

    fn one(&mut self, byte: u8) {
        self.bytes = self.bytes.saturating_add(1);
        match byte {
            // Whoever reads events takes every line feed for the end of one, wherever it stands.
            b'\n' if matches!(self.measured, Measured::Events) => {
                (self.bytes, self.containers) = (0, 0);
                (self.in_string, self.escaped) = (false, false);
            }
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' if !self.in_string => self.containers = self.containers.saturating_add(1),
            _ => {}
        }
    }

    fn limit(&self) -> Limit {
        match self.measured {
            Measured::Answer(limit) => limit,
            Measured::Page(_) => ANSWER,
            Measured::Events => EVENT,
        }
    }

    fn over(&self, limit: Limit) -> bool {
        self.bytes > limit.bytes || self.containers > limit.containers
    }

    fn too_large(&self, limit: Limit) -> TooLarge {
        let what = match self.measured {
            Measured::Answer(_) | Measured::Page(_) => "the answer",
            Measured::Events => "an event",
        };
        TooLarge { what, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(measured: Measured, data: &[u8]) -> Result<Meter, TooLarge> {
        let mut meter = Meter::new(measured);
        meter.read(data).map(|()| meter)
    }

    #[test]
    fn what_stands_in_texts_is_no_container() {
        let json = br#"{"a": ["{[", "\"{[", "\\", {"b": "[\\\"{"}]}"#;
        let meter = read(Measured::Answer(ANSWER), json).unwrap();
        assert_eq!((meter.containers, meter.bytes), (3, json.len()));
    }

    #[test]
    fn an_answer_is_read_up_to_its_limit_however_it_comes() {
        let most = Limit {
            bytes: 10,
            containers: 2,
        };
        let answer = || Meter::new(Measured::Answer(most));
        assert!(answer().read(b"{\"a\":[12]}").is_ok());
        assert!(answer().read(b"{\"a\":[123]}").is_err());
        assert!(answer().read(b"[[[]]]").is_err());
        let mut in_pieces = answer();
        assert!(in_pieces.read(b"{\"a\":").is_ok() && in_pieces.read(b"[12]}").is_ok());
        assert!(in_pieces.read(b"\n").is_err());
    }

    #[test]
    fn each_event_is_measured_by_itself() {
        let line = format!("{}\n", "x".repeat(EVENT.bytes - 1));
        let mut events = Meter::new(Measured::Events);
        for _ in 0..3 {
            assert_eq!(events.read(line.as_bytes()), Ok(()));
        }
        // A text that is not closed does not hide what comes after it.
        assert_eq!(events.read(b"\"\n"), Ok(()));
        assert!(events.read("[".repeat(EVENT.containers + 1).as_bytes()).is_err());
    }

    #[test]
    fn pages_are_measured_together() {
        let list = Arc::new(Tally::default());
        let page = "[".repeat(ANSWER.containers);
        let pages = LIST.containers / ANSWER.containers;
        for _ in 0..pages {
            assert!(read(Measured::Page(Arc::clone(&list)), page.as_bytes()).is_ok());
        }
        let error = read(Measured::Page(list), b"[").unwrap_err();
        assert!(
            error.to_string().starts_with("the list is larger than 64 MiB"),
            "{error}"
        );
    }
}
