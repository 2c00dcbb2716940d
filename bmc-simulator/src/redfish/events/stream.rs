//! Server-sent events (DSP0266, "Server-Sent Events"): a subscription that lives as long as the
//! connection.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures::stream;
use tokio::sync::mpsc;

use super::{BACKLOG, Kind, Sent, Subscription};
use crate::host::HostCore;
use crate::redfish::message::Base;
use crate::redfish::{Call, reply};

pub(in crate::redfish) const STREAM_TYPE: &str = "text/event-stream";

/// Removes the subscription when the connection is gone.
struct Guard {
    core: Arc<HostCore>,
    id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.core
            .act(|acting| acting.state.redfish.events.remove(self.id));
    }
}

/// Opens a stream: the answer ends when the subscription is deleted.
pub(in crate::redfish) fn open(call: &Call<'_>) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let id = call.core.act(|acting| {
        let lives = acting.lives_in(call.line.life);
        let events = &mut acting.state.redfish.events;
        (lives && !events.is_full()).then(|| {
            events.add(Subscription {
                kind: Kind::Stream,
                context: String::new(),
                prefixes: Vec::new(),
                message_ids: Vec::new(),
                sender,
                _delivering: None,
            })
        })
    });
    let Some(id) = id else {
        let full = Base::EventSubscriptionLimitExceeded.message(&[]);
        return reply::error(StatusCode::SERVICE_UNAVAILABLE, full);
    };
    let core = Arc::clone(call.core);
    // A comment, so that the client sees at once that the stream is open.
    let begin = Bytes::from_static(b": connected\n\n");
    let state = (Some(begin), receiver, Guard { core, id });
    let events = stream::unfold(state, |(begin, mut receiver, guard)| async move {
        let next = match begin {
            Some(begin) => begin,
            None => framed(&receiver.recv().await?),
        };
        Some((Ok::<_, Infallible>(next), (None, receiver, guard)))
    });
    let mut response = reply::bare(StatusCode::OK, Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(STREAM_TYPE));
    headers.insert(header::ALLOW, HeaderValue::from_static("GET"));
    response
}

/// One event of the stream (WHATWG HTML section 9.2); our JSON has no line ends.
fn framed(sent: &Sent) -> Bytes {
    Bytes::from(format!("id: {}\ndata: {}\n\n", sent.id, sent.body))
}
