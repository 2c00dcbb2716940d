//! What faults do to an answer that was real.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::response::Parts;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use futures::stream;
use serde_json::Value;

use super::message::Base;
use super::{HangUp, events, reply};
use crate::fault::Aftermath;

/// No answer of ours is larger; what is larger is cut off here.
const LARGEST_ANSWER: usize = 1 << 20;

/// Does one thing to an answer. A stream of events has no body that could be cut or edited.
pub(super) async fn apply(response: Response<Body>, what: Aftermath) -> Result<Response<Body>, HangUp> {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind == events::STREAM_TYPE);
    if is_stream && what.is_about_the_body() {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    match what {
        Aftermath::Drop => Err(HangUp),
        Aftermath::Delay(by) => {
            tokio::time::sleep(by).await;
            Ok(Response::from_parts(parts, body))
        }
        Aftermath::Status(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Ok(reply::error(status, Base::GeneralError.message(&[])))
        }
        Aftermath::Header { name, value } => {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                parts.headers.insert(name, value);
            }
            Ok(Response::from_parts(parts, body))
        }
        Aftermath::Truncate => {
            let bytes = read(body).await;
            let half = bytes.slice(..bytes.len().div_euclid(2));
            Ok(Response::from_parts(parts, Body::from(half)))
        }
        Aftermath::Cut(after) => Ok(cut(parts, &read(body).await, after)),
        Aftermath::Dribble(every) => Ok(dribble(parts, read(body).await, every)),
        Aftermath::Edit { pointer, value } => {
            let bytes = read(body).await;
            let edited = edit(&bytes, &pointer, value);
            Ok(Response::from_parts(parts, Body::from(edited.unwrap_or(bytes))))
        }
    }
}

/// The error with its first message in place of the list of messages.
pub(super) async fn first_message_alone(response: Response<Body>) -> Response<Body> {
    const PLACE: &str = "/error/@Message.ExtendedInfo";
    let (parts, body) = response.into_parts();
    let bytes = read(body).await;
    let first = serde_json::from_slice::<Value>(&bytes)
        .ok()
        .and_then(|document| document.pointer(&format!("{PLACE}/0")).cloned());
    let edited = first.and_then(|message| edit(&bytes, PLACE, Some(message)));
    Response::from_parts(parts, Body::from(edited.unwrap_or(bytes)))
}

async fn read(body: Body) -> Bytes {
    axum::body::to_bytes(body, LARGEST_ANSWER)
        .await
        .unwrap_or_default()
}

/// Announces the whole body and breaks off: hyper closes the connection at the error.
fn cut(mut parts: Parts, bytes: &Bytes, after: u64) -> Response<Body> {
    let after = usize::try_from(after).unwrap_or(usize::MAX).min(bytes.len());
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let first = bytes.slice(..after);
    let pieces = stream::unfold(Some(first), |piece| async move {
        if let Some(first) = piece {
            return Some((Ok(first), None));
        }
        // While it waits hyper sends what it has; with the error it throws that away.
        tokio::task::yield_now().await;
        let broken = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "as the injected fault asks");
        Some((Err(broken), None))
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

fn dribble(mut parts: Parts, bytes: Bytes, every: Duration) -> Response<Body> {
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let pieces = stream::unfold(bytes, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(every).await;
        let byte = rest.split_to(1);
        Some((Ok::<_, Infallible>(byte), rest))
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// The document with a value put at a place, or without what is there; `None` when it is not JSON or
/// has no such place.
fn edit(bytes: &[u8], pointer: &str, value: Option<Value>) -> Option<Bytes> {
    let mut document: Value = serde_json::from_slice(bytes).ok()?;
    let (parent, key) = pointer.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    match (document.pointer_mut(parent)?, value) {
        (Value::Object(fields), Some(value)) => {
            fields.insert(key, value);
        }
        (Value::Object(fields), None) => {
            fields.remove(&key)?;
        }
        (Value::Array(items), Some(value)) => *items.get_mut(key.parse::<usize>().ok()?)? = value,
        (Value::Array(items), None) => {
            let index = key.parse::<usize>().ok().filter(|index| *index < items.len())?;
            items.remove(index);
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return None,
    }
    Some(Bytes::from(document.to_string()))
}

/// A body that never ends.
pub(super) fn endless() -> Response<Body> {
    const PIECE: &[u8] = &[b' '; 4096];
    let pieces = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(PIECE)));
    reply::with_body(StatusCode::OK, Body::from_stream(pieces))
}

/// JSON nested so deep that a recursive parser overflows its stack.
pub(super) fn deep(depth: u32) -> Response<Body> {
    let depth = usize::try_from(depth)
        .unwrap_or(usize::MAX)
        .min(LARGEST_ANSWER.div_euclid(2));
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    reply::with_body(StatusCode::OK, Body::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::edit;

    #[test]
    fn edits_what_is_there_and_leaves_the_rest_alone() {
        let document = br#"{"a": {"b/c": [1, 2]}, "d": 3}"#;
        let edited = |pointer: &str, value| {
            edit(document, pointer, value)
                .map(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).unwrap())
        };
        assert_eq!(
            edited("/d", Some(json!(null))),
            Some(json!({"a": {"b/c": [1, 2]}, "d": null}))
        );
        assert_eq!(
            edited("/new", Some(json!(1))),
            Some(json!({"a": {"b/c": [1, 2]}, "d": 3, "new": 1}))
        );
        assert_eq!(
            edited("/a/b~1c/0", None),
            Some(json!({"a": {"b/c": [2]}, "d": 3}))
        );
        assert_eq!(edited("/a", None), Some(json!({"d": 3})));
        for nowhere in ["/x/y", "/a/b~1c/7", "/d/e"] {
            assert_eq!(edited(nowhere, Some(json!(1))), None, "{nowhere}");
        }
        assert_eq!(edit(b"<html>", "/a", None), None);
    }
}
