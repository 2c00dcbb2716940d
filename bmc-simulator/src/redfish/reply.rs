//! Answers in the shape that DSP0266 asks for, and in the shapes that broken BMCs send.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

const HTML: &str = "<!DOCTYPE html><html><head><title>Login</title></head><body>Please log in</body></html>";

/// 200 with a resource.
pub(super) fn resource(allow: &'static str, resource: &Value) -> Response<Body> {
    let mut response = with_json(StatusCode::OK, resource);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

/// A status with a JSON body and the headers that every answer has (DSP0266 section 8).
pub(super) fn with_json(status: StatusCode, value: &Value) -> Response<Body> {
    with_body(status, Body::from(value.to_string()))
}

pub(super) fn no_content() -> Response<Body> {
    bare(StatusCode::NO_CONTENT, Body::empty())
}

/// An error response (DSP0266 section 8.6) with one message of the Base registry.
pub(super) fn error(status: StatusCode, message: &'static str, text: &str) -> Response<Body> {
    let id = format!("Base.1.18.{message}");
    let body = json!({"error": {
        "code": id,
        "message": text,
        "@Message.ExtendedInfo": [{
            "@odata.type": "#Message.v1_2_0.Message",
            "MessageId": id,
            "Message": text,
            "MessageSeverity": if status.is_server_error() { "Critical" } else { "Warning" },
            "Resolution": "Correct the request and send it again.",
        }],
    }});
    let mut response = with_json(status, &body);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Basic realm=\"bmc-simulator\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

pub(super) fn not_found() -> Response<Body> {
    error(
        StatusCode::NOT_FOUND,
        "ResourceMissingAtURI",
        "There is no resource at this URI.",
    )
}

pub(super) fn method_not_allowed(allow: &'static str) -> Response<Body> {
    let text = "This resource does not support the method.";
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "OperationNotAllowed", text);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

pub(super) fn html() -> Response<Body> {
    let mut response = bare(StatusCode::OK, Body::from(HTML));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

pub(super) fn canned(status: u16, retry_after: Option<u64>) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = error(status, "GeneralError", "An injected fault gave this answer.");
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub(super) fn redirect(to: &str) -> Response<Body> {
    let mut response = bare(StatusCode::TEMPORARY_REDIRECT, Body::empty());
    if let Ok(location) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// A status with a body of JSON, whatever is in it.
pub(super) fn with_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = bare(status, body);
    let json = HeaderValue::from_static("application/json;charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn bare(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("OData-Version", HeaderValue::from_static("4.0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::SERVER, HeaderValue::from_static("bmc-simulator"));
    response
}
