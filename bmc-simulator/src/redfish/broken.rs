//! Answers as broken BMCs send them.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use super::message::Base;
use super::reply::{bare, error, insert};
use crate::fault::HtmlPage;

/// Of a portal in between, or of the BMC's own web interface.
const LOGIN: &str = "<!DOCTYPE html><html><head><title>Login</title></head><body>Please log in</body></html>";
/// Of a web server whose Redfish service does not answer it.
const GATEWAY_TIMEOUT: &str = "<!DOCTYPE html><html><head><title>504 Gateway Time-out</title></head>\
                               <body><h1>504 Gateway Time-out</h1></body></html>";

pub(super) fn html(page: HtmlPage) -> Response<Body> {
    let (status, text) = match page {
        HtmlPage::Login => (StatusCode::OK, LOGIN),
        HtmlPage::GatewayTimeout => (StatusCode::GATEWAY_TIMEOUT, GATEWAY_TIMEOUT),
    };
    let mut response = bare(status, Body::from(text));
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
