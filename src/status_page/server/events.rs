//! What is sent: a whole answer, or the document whenever it has changed.
//! Source of the format: WHATWG HTML, "Server-sent events".

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::status_page::document::Document;
use crate::status_page::latest::{FRESH, StatusPage};

/// A stream ends after that, and browsers begin it anew: nobody keeps a place for ever.
pub(super) const LONGEST: Duration = Duration::from_mins(10);
/// Without a change, something is sent so often, so that proxies do not think that nobody is there.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// The body of an answer.
pub(super) enum Content {
    /// All of it at once.
    Whole(Option<Bytes>),
    /// What has changed, as it changes.
    Events(Box<Events>),
}

/// The changes, for one reader.
pub(super) struct Events {
    page: Arc<StatusPage>,
    /// Also how often something is sent at the most.
    looks: Interval,
    /// See [`HEARTBEAT`].
    heartbeat: Duration,
    /// Number of the version that was sent last.
    sent: Option<u64>,
    spoke: Instant,
    _place: OwnedSemaphorePermit,
}

/// The document, and the time by which it counts.
#[derive(Serialize)]
struct Dated<'a> {
    now: Timestamp,
    #[serde(flatten)]
    document: &'a Document,
}

/// The document as it is sent, in one line.
pub(super) fn json(page: &StatusPage, document: &Document) -> Option<String> {
    let now = page.now();
    serde_json::to_string(&Dated { now, document }).ok()
}

impl Content {
    pub(super) fn whole(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()))
    }
}

impl Events {
    pub(super) fn new(page: Arc<StatusPage>, place: OwnedSemaphorePermit, heartbeat: Duration) -> Self {
        let mut looks = interval(FRESH);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            page,
            looks,
            heartbeat,
            sent: None,
            spoke: Instant::now(),
            _place: place,
        }
    }

    /// What there is to send now, if anything.
    fn next(&mut self) -> Option<String> {
        let version = self.page.latest();
        let text = if self.sent == Some(version.number) {
            (self.spoke.elapsed() >= self.heartbeat).then(|| ": nothing has changed\n\n".to_owned())
        } else {
            // JSON of one line, as a field of an event has to be.
            let json = json(&self.page, &version.document)?;
            self.sent = Some(version.number);
            Some(format!("data: {json}\n\n"))
        };
        if text.is_some() {
            self.spoke = Instant::now();
        }
        text
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => loop {
                ready!(events.looks.poll_tick(context));
                if let Some(text) = events.next() {
                    return Poll::Ready(Some(Ok(Frame::data(text.into()))));
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}
