//! What faults do to an answer that was real.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::response::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use futures::stream;
use serde_json::Value;

use super::late::UnderWay;
use super::message::Base;
use super::{Call, auth, fate, reply};
use crate::fault::{Aftermath, LARGEST_ANSWER};

/// What a fault comes to at one answer.
#[derive(Debug)]
pub(super) enum Change {
    Delay(Duration),
    Status(StatusCode),
    Header(HeaderName, HeaderValue),
    Body(Bytes),
    /// The whole body, and how much of it is sent.
    Cut(Bytes, usize),
    Dribble(Bytes, Duration),
}

/// Does to an answer what the first fault says that changes it.
pub(super) async fn apply(call: &Call<'_>, mut response: Response<Body>) -> Response<Body> {
    let hit = call.core.act(|acting| {
        call.decision.make(call, acting, &mut response);
        let (fault, change) = call.decision.take()?;
        acting.log_fault(fault, call.class);
        if let (Change::Status(StatusCode::UNAUTHORIZED), Some(tried)) = (&change, call.admitted.get()) {
            // All that the client gets to know is that its credentials are rejected.
            acting.log(auth::told_wrong(call.class, Some(tried.clone())));
        }
        Some(change)
    });
    let Some(change) = hit else {
        return response;
    };
    let bodiless = call.parts.method == Method::HEAD;
    let (of, status) = (call.entries.take(), response.status().as_u16());
    let under_way = UnderWay::new(call.core, of, status, bodiless);
    let (parts, body) = response.into_parts();
    changed(parts, body, change, under_way).await
}

/// What a fault would change; absent when the answer stays as it is.
pub(super) fn change(what: Aftermath, headers: &HeaderMap, body: &Bytes) -> Option<Change> {
    match what {
        Aftermath::Delay(by) => Some(Change::Delay(by)),
        Aftermath::Status(status) => StatusCode::from_u16(status).ok().map(Change::Status),
        Aftermath::Header { name, value } => {
            let (name, value) = (
                HeaderName::try_from(name).ok()?,
                HeaderValue::try_from(value).ok()?,
            );
            let differs = headers.get(&name) != Some(&value);
            differs.then_some(Change::Header(name, value))
        }
        Aftermath::Truncate => {
            let half = body.slice(..body.len().div_euclid(2));
            (!body.is_empty()).then_some(Change::Body(half))
        }
        Aftermath::Cut(after) => {
            let after = usize::try_from(after).ok().filter(|after| *after < body.len())?;
            Some(Change::Cut(body.clone(), after))
        }
        Aftermath::Dribble(every) => (!body.is_empty()).then(|| Change::Dribble(body.clone(), every)),
        Aftermath::Edit { pointer, value } => edit(body, &pointer, value).map(Change::Body),
    }
}

async fn changed(mut parts: Parts, body: Body, change: Change, under_way: UnderWay) -> Response<Body> {
    match change {
        Change::Delay(by) => {
            tokio::time::sleep(by).await;
            Response::from_parts(parts, under_way.body(body))
        }
        Change::Status(status) => reply::error(status, Base::GeneralError.message(&[])),
        Change::Header(name, value) => {
            parts.headers.insert(name, value);
            Response::from_parts(parts, body)
        }
        Change::Body(bytes) => Response::from_parts(parts, Body::from(bytes)),
        Change::Cut(bytes, after) => cut(parts, &bytes, after),
        Change::Dribble(bytes, every) => dribble(parts, bytes, every, under_way),
    }
}

/// The error with its first message in place of the list of messages.
pub(super) fn first_message_alone(response: &mut Response<Body>) {
    const PLACE: &str = "/error/@Message.ExtendedInfo";
    let bytes = fate::bytes(response);
    let first = serde_json::from_slice::<Value>(&bytes)
        .ok()
        .and_then(|document| document.pointer(&format!("{PLACE}/0")).cloned());
    if let Some(edited) = first.and_then(|message| edit(&bytes, PLACE, Some(message))) {
        *response.body_mut() = Body::from(edited);
    }
}

/// Announces the whole body and breaks off: hyper closes the connection at the error.
fn cut(mut parts: Parts, bytes: &Bytes, after: usize) -> Response<Body> {
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let first = bytes.slice(..after.min(bytes.len()));
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

fn dribble(mut parts: Parts, bytes: Bytes, every: Duration, under_way: UnderWay) -> Response<Body> {
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let pieces = stream::unfold(
        (bytes, Some(under_way)),
        move |(mut rest, mut under_way)| async move {
            if rest.is_empty() {
                return None;
            }
            tokio::time::sleep(every).await;
            let byte = rest.split_to(1);
            if let Some(under_way) = under_way.take_if(|_| rest.is_empty()) {
                under_way.sent();
            }
            Some((Ok::<_, Infallible>(byte), (rest, under_way)))
        },
    );
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// The document with a value put at a place, or without what is there; `None` when it is not JSON, has
/// no such place, or has this value there.
fn edit(bytes: &[u8], pointer: &str, value: Option<Value>) -> Option<Bytes> {
    let mut document: Value = serde_json::from_slice(bytes).ok()?;
    if value.is_some() && document.pointer(pointer) == value.as_ref() {
        return None;
    }
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
        assert_eq!(edited("/d", Some(json!(3))), None, "it is so already");
    }
}
