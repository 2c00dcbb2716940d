//! What of an answer reaches the client, as far as a fault is going to spoil it. Found out when the request
//! takes effect, for that is when the journal is written.

use std::sync::{Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{Method, Response, header};
use futures::FutureExt as _;
use serde_json::Value;

use super::aftermath::{self, Change};
use super::{Call, events};
use crate::fault::LARGEST_ANSWER;
use crate::host::Acting;
use crate::journal::Delivery;

/// The fault that changes the answer, and what it does to it.
pub(super) type Hit = Option<(&'static str, Change)>;

/// What a fault does to the answer of one request, once that is known.
#[derive(Default)]
pub(super) struct Decision(Mutex<Option<Hit>>);

/// The status that is sent at once, and what becomes of what an entry tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) status: Option<u16>,
    pub(super) delivery: Delivery,
}

impl Sent {
    fn new(status: Option<u16>, delivery: Delivery) -> Self {
        Self { status, delivery }
    }
}

impl Decision {
    /// What a fault does to this answer, which is the one that will be sent.
    pub(super) fn make(&self, call: &Call<'_>, acting: &mut Acting<'_>, answer: &mut Response<Body>) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if made.is_none() && !call.dropped {
            super::finish(acting, answer);
            *made = Some(hit(call, acting, answer));
        }
    }

    pub(super) fn take(&self) -> Hit {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.take().flatten()
    }

    fn look<R>(&self, at: impl FnOnce(Option<&Change>) -> R) -> R {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        at(made.as_ref().and_then(Option::as_ref).map(|(_, change)| change))
    }
}

impl Call<'_> {
    /// What becomes of an answer of which status and headers tell all.
    pub(super) fn sends_head(&self, acting: &mut Acting<'_>, answer: &mut Response<Body>) -> Sent {
        if self.dropped {
            return Sent::new(None, Delivery::Lost);
        }
        self.decision.make(self, acting, answer);
        let status = Some(answer.status().as_u16());
        self.decision.look(|change| match change {
            None | Some(Change::Header(..) | Change::Body(_) | Change::Dribble(..)) => {
                Sent::new(status, Delivery::Sent)
            }
            Some(Change::Delay(_)) => Sent::new(None, Delivery::Late),
            Some(Change::Status(another)) => Sent::new(Some(another.as_u16()), Delivery::Lost),
            // What was written is thrown away when the connection breaks: even the status may be lost.
            Some(Change::Cut(..)) => Sent::new(None, Delivery::Lost),
        })
    }

    /// Whether a fault writes over one of these headers of the answer.
    pub(super) fn overwrites(&self, names: &[&str]) -> bool {
        self.decision.look(|change| match change {
            Some(Change::Header(name, _)) => names.contains(&name.as_str()),
            None
            | Some(
                Change::Body(_)
                | Change::Dribble(..)
                | Change::Delay(_)
                | Change::Status(_)
                | Change::Cut(..),
            ) => false,
        })
    }

    /// What becomes of an answer whose body tells something, and what a fault puts in its place.
    pub(super) fn sends_body(
        &self,
        acting: &mut Acting<'_>,
        answer: &mut Response<Body>,
    ) -> (Sent, Option<Value>) {
        let sent = self.sends_head(acting, answer);
        self.decision.look(|change| match change {
            Some(Change::Body(bytes)) => match serde_json::from_slice(bytes) {
                Ok(body) => (sent, Some(body)),
                Err(_) => (Sent::new(sent.status, Delivery::Lost), None),
            },
            Some(Change::Dribble(..)) => (Sent::new(sent.status, Delivery::Late), None),
            None | Some(Change::Header(..) | Change::Delay(_) | Change::Status(_) | Change::Cut(..)) => {
                (sent, None)
            }
        })
    }
}

/// The first fault that would change this answer. A stream of events has no body that could be changed, and
/// an answer to HEAD has none.
fn hit(call: &Call<'_>, acting: &mut Acting<'_>, answer: &mut Response<Body>) -> Hit {
    if !acting.state.faults.may_change_answers() {
        return None;
    }
    let kind = answer.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind == events::STREAM_TYPE);
    let whole = if is_stream { Bytes::new() } else { bytes(answer) };
    let shown = if call.parts.method == Method::HEAD {
        Bytes::new()
    } else {
        whole
    };
    let wanted = |what| aftermath::change(what, answer.headers(), &shown);
    acting.state.faults.take_aftermath(call.asked, wanted)
}

/// The bytes of a body that is all there, which stays where it is.
pub(super) fn bytes(answer: &mut Response<Body>) -> Bytes {
    let body = std::mem::take(answer.body_mut());
    let read = axum::body::to_bytes(body, LARGEST_ANSWER).now_or_never();
    let bytes = read.and_then(Result::ok).unwrap_or_default();
    *answer.body_mut() = Body::from(bytes.clone());
    bytes
}
