//! Answers in the shape that DSP0266 asks for.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::message::{self, Base, Message};
use super::read::Tagged;
use super::schema;

/// 200 with a resource.
pub(super) fn resource(allow: &'static str, tagged: &Tagged) -> Response<Body> {
    let mut response = with_json(StatusCode::OK, &tagged.body);
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    describe(&mut response, tagged);
    response
}

/// 201 with the new resource.
pub(super) fn created(location: &str, tagged: &Tagged) -> Response<Body> {
    let mut response = with_json(StatusCode::CREATED, &tagged.body);
    insert(&mut response, header::LOCATION, location);
    describe(&mut response, tagged);
    response
}

/// 304: the client has it already.
pub(super) fn not_modified(tagged: &Tagged) -> Response<Body> {
    let mut response = bare(StatusCode::NOT_MODIFIED, Body::empty());
    describe(&mut response, tagged);
    response
}

/// Adds `ETag` and `Link`.
fn describe(response: &mut Response<Body>, tagged: &Tagged) {
    insert(response, header::ETAG, &tagged.tag);
    let odata_type = tagged.body.get("@odata.type").and_then(Value::as_str);
    if let Some(link) = odata_type.and_then(schema::link) {
        insert(response, header::LINK, &link);
    }
}

/// Sets a header whose value we made; one that HTTP cannot carry is left out.
pub(super) fn insert(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// A status with a JSON body and the headers that every answer has (DSP0266, "Response headers").
pub(super) fn with_json(status: StatusCode, value: &Value) -> Response<Body> {
    with_body(status, Body::from(value.to_string()))
}

/// A status with a body of JSON, whatever is in it.
pub(super) fn with_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = bare(status, body);
    let json = HeaderValue::from_static("application/json;charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// `/redfish/v1/$metadata`; the text is shared by all BMCs.
pub(super) fn xml(allow: &'static str, text: &'static str) -> Response<Body> {
    let mut response = bare(StatusCode::OK, Body::from(text));
    let headers = response.headers_mut();
    let xml = HeaderValue::from_static("application/xml;charset=utf-8");
    headers.insert(header::CONTENT_TYPE, xml);
    headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

pub(super) fn no_content() -> Response<Body> {
    bare(StatusCode::NO_CONTENT, Body::empty())
}

/// An error response with one message.
pub(super) fn error(status: StatusCode, message: Message) -> Response<Body> {
    errors(status, &[message])
}

/// An error response (DSP0266, "Error responses").
pub(super) fn errors(status: StatusCode, messages: &[Message]) -> Response<Body> {
    let mut response = with_json(status, &message::error(messages));
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Basic realm=\"bmc-simulator\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

pub(super) fn not_found(path: &str) -> Response<Body> {
    error(StatusCode::NOT_FOUND, Base::ResourceMissingAtUri.message(&[path]))
}

pub(super) fn forbidden() -> Response<Body> {
    error(StatusCode::FORBIDDEN, Base::InsufficientPrivilege.message(&[]))
}

/// 405, or 501 for a method that no resource has.
pub(super) fn wrong_method(status: StatusCode, allow: &'static str) -> Response<Body> {
    let mut response = error(status, Base::OperationNotAllowed.message(&[]));
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

pub(super) fn bare(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("OData-Version", HeaderValue::from_static("4.0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::SERVER, HeaderValue::from_static("bmc-simulator"));
    response
}
