//! Answers as broken BMCs send them.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use super::message::Base;
use super::reply::{bare, error, insert};

const HTML: &str = "<!DOCTYPE html><html><head><title>Login</title></head><body>Please log in</body></html>";

pub(super) fn html(status: u16) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = bare(status, Body::from(HTML));
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
