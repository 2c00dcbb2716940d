//! What of the events of a watch reaches the daemon, and when.

#[cfg(test)]
mod tests;

use axum::body::{Body, BodyDataStream, Bytes};
use futures::StreamExt as _;
use futures::stream::unfold;
use serde_json::Value;
use tokio::sync::watch;

/// How the daemon sees the world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Live,
    /// Nothing comes; later all of it does.
    Held,
    /// Nothing comes; later the last event of each object does.
    Merged,
    /// What comes now is never seen. Later the watch ends as those do whose server does not know any more what came
    /// after that version: it has to be begun anew, with a list.
    Lost,
}

/// What a server says of a version that it has forgotten.
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}
"#;

/// The events of one watch on their way.
struct Events {
    source: BodyDataStream,
    view: watch::Receiver<View>,
    /// The beginning of a line.
    begun: Vec<u8>,
    waiting: Vec<Bytes>,
    /// Whether something was lost.
    expired: bool,
    ended: bool,
}

/// The answer to a watch, as it is to be seen.
pub(super) fn seen(body: Body, view: watch::Receiver<View>) -> Body {
    let events = Events {
        source: body.into_data_stream(),
        view,
        begun: Vec::new(),
        waiting: Vec::new(),
        expired: false,
        ended: false,
    };
    Body::from_stream(unfold(events, |mut events| async move {
        let next = events.next().await?;
        Some((next, events))
    }))
}

impl Events {
    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        loop {
            if self.ended {
                return None;
            }
            let view = *self.view.borrow_and_update();
            self.expired |= view == View::Lost;
            if view == View::Live && self.expired {
                self.ended = true;
                return Some(Ok(Bytes::from_static(EXPIRED)));
            }
            if view == View::Live && !self.waiting.is_empty() {
                return Some(Ok(self.waiting.drain(..).flatten().collect()));
            }
            let chunk = tokio::select! {
                // Who decides it is gone: it stays as it is.
                Ok(()) = self.view.changed() => continue,
                chunk = self.source.next() => chunk?,
            };
            match chunk {
                Err(error) => return Some(Err(error)),
                Ok(chunk) => self.take(&chunk),
            }
        }
    }

    /// Takes whole lines; each is an event.
    fn take(&mut self, chunk: &Bytes) {
        let view = *self.view.borrow();
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if !part.ends_with(b"\n") {
                continue;
            }
            let line = Bytes::from(std::mem::take(&mut self.begun));
            match view {
                View::Live | View::Held => self.waiting.push(line),
                View::Merged => {
                    let object = uid(&line);
                    self.waiting
                        .retain(|earlier| object.is_none() || uid(earlier) != object);
                    self.waiting.push(line);
                }
                View::Lost => {}
            }
        }
    }
}

/// Of which object an event is; of none a bookmark.
fn uid(line: &Bytes) -> Option<String> {
    let event: Value = serde_json::from_slice(line).ok()?;
    Some(event.pointer("/object/metadata/uid")?.as_str()?.to_owned())
}
