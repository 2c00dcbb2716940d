//! Answers as broken BMCs send them.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use super::message::Base;
use super::reply::{bare, error, insert};

/// No answer of ours is larger; what is larger is cut off here.
const LARGEST_ANSWER: usize = 1 << 20;
const HTML: &str = "<!DOCTYPE html><html><head><title>Login</title></head><body>Please log in</body></html>";

pub(super) fn html() -> Response<Body> {
    let mut response = bare(StatusCode::OK, Body::from(HTML));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

pub(super) fn canned(status: u16, retry_after: Option<u64>) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = error(status, Base::GeneralError.message(&[]));
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub(super) fn redirect(to: &str) -> Response<Body> {
    let mut response = bare(StatusCode::TEMPORARY_REDIRECT, Body::empty());
    insert(&mut response, header::LOCATION, to);
    response
}

/// The first half of the body, announced as if it were all. A stream has no half.
pub(super) async fn truncated(response: Response<Body>) -> Response<Body> {
    let stream = response.headers().get(header::CONTENT_TYPE);
    if stream.is_some_and(|kind| kind == super::events::STREAM_TYPE) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, LARGEST_ANSWER)
        .await
        .unwrap_or_default();
    let half = bytes.slice(..bytes.len().div_euclid(2));
    Response::from_parts(parts, Body::from(half))
}
