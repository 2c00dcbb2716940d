//! The newest document, made at most once a second, however many ask.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::readiness::Readiness;
use crate::report::Probes;
use crate::status_page::document::{Document, Known, known};

/// How old a document may be before another one is made.
pub(super) const FRESH: Duration = Duration::from_secs(1);

/// What the page is made from.
pub(crate) struct StatusPage {
    instance: String,
    probes: Probes,
    /// Once this replica leads, and has listed the remediations.
    leading: OnceLock<Arc<Readiness>>,
    latest: Mutex<Option<(Instant, Version)>>,
}

/// A document, and how many there were before it that said something else.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) document: Arc<Document>,
}

impl StatusPage {
    /// Of the replica with this name.
    pub(crate) fn new(instance: String, probes: Probes) -> Self {
        Self {
            instance,
            probes,
            leading: OnceLock::new(),
            latest: Mutex::default(),
        }
    }

    /// From now on there is something to show.
    pub(crate) fn leads(&self, readiness: &Arc<Readiness>) {
        // It is led once in a process.
        let _ = self.leading.set(Arc::clone(readiness));
    }

    /// The newest document, at most [`FRESH`] old.
    pub(super) fn latest(&self) -> Version {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, version)) = latest.as_ref()
            && made.elapsed() < FRESH
        {
            return version.clone();
        }
        let document = self.made();
        let version = match latest.take() {
            Some((_, before)) if *before.document == document => before,
            before => Version {
                number: before.map_or(0, |(_, before)| before.number.saturating_add(1)),
                document: Arc::new(document),
            },
        };
        *latest = Some((Instant::now(), version.clone()));
        version
    }

    /// The time by which the document counts.
    pub(super) fn now(&self) -> Timestamp {
        let leading = self.leading.get();
        leading.map_or_else(Timestamp::now, |readiness| readiness.sources.clock.now())
    }

    fn made(&self) -> Document {
        let leading = self.leading.get();
        Document {
            instance: self.instance.clone(),
            version: env!("CARGO_PKG_VERSION"),
            stands: self.probes.standing(),
            leader: self.probes.leader(),
            known: leading.map_or_else(Known::default, |readiness| {
                known(&readiness.sources.caches, &readiness.findings)
            }),
        }
    }
}
