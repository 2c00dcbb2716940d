//! Reading what the client sent.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};

use super::{Refusal, reply};

/// No request of a power client is larger.
const LARGEST_REQUEST: usize = 16 * 1024;

/// The body as a JSON object, or the refusal to send.
pub(super) async fn json_object(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Refusal> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str().unwrap_or_default());
    if content_type.is_some_and(|value| !is_json(value)) {
        let text = "The body must be application/json.";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", text);
    }
    let Ok(bytes) = axum::body::to_bytes(body, LARGEST_REQUEST).await else {
        let text = "The body is too large or broke off.";
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLarge", text);
    };
    serde_json::from_slice(&bytes).or_else(|_| {
        let text = "The body is not a JSON object.";
        refuse(StatusCode::BAD_REQUEST, "MalformedJSON", text)
    })
}

fn refuse<T>(status: StatusCode, message: &'static str, text: &str) -> Result<T, Refusal> {
    Err(Box::new(reply::error(status, message, text)))
}

fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim().eq_ignore_ascii_case("application/json")
}
