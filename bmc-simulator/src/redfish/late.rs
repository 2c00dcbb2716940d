//! Answers that take long: the journal is told when they were sent, or that they never were.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use crate::host::{Acting, HostCore};
use crate::journal::{Delivery, Event};

/// Numbers of the entries whose answer is under way.
#[derive(Debug, Default)]
pub(super) struct Entries(Mutex<Vec<u64>>);

impl Entries {
    /// Writes to the journal, and remembers the entry when its answer takes long.
    pub(super) fn log(&self, acting: &mut Acting<'_>, event: Event, delivery: Delivery) {
        let seq = acting.log(event);
        if delivery == Delivery::Late {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(seq);
        }
    }

    pub(super) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An answer under way. When it goes before it was sent, so did the client.
pub(super) struct UnderWay {
    core: Arc<HostCore>,
    of: Vec<u64>,
    status: u16,
    /// Whether the body is kept back: it answers HEAD.
    bodiless: bool,
}

impl UnderWay {
    pub(super) fn new(core: &Arc<HostCore>, of: Vec<u64>, status: u16, bodiless: bool) -> Self {
        Self {
            core: Arc::clone(core),
            of,
            status,
            bodiless,
        }
    }

    /// The last of it goes to the connection now.
    pub(super) fn sent(mut self) {
        let (of, status) = (std::mem::take(&mut self.of), self.status);
        if !of.is_empty() {
            self.core.act(|acting| acting.log_answered(of, Some(status)));
        }
    }

    /// The body that says so when its last piece is asked for: not before, for until then the client may go.
    pub(super) fn body(self, body: Body) -> Body {
        if self.of.is_empty() {
            return body;
        }
        if self.bodiless || body.is_end_stream() {
            self.sent();
            return body;
        }
        Body::new(Watched {
            body,
            under_way: Some(self),
        })
    }
}

/// A body, and what is to be told when it was sent.
struct Watched {
    body: Body,
    under_way: Option<UnderWay>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready()
            && self.body.is_end_stream()
            && let Some(under_way) = self.under_way.take()
        {
            under_way.sent();
        }
        polled
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let of = std::mem::take(&mut self.of);
        if !of.is_empty() {
            self.core.act(|acting| acting.log_answered(of, None));
        }
    }
}
