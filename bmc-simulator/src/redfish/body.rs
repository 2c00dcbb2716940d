//! Reading what the client sent.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::LengthLimitError;
use serde_json::{Map, Value};

use super::message::{Base, Message};
use super::{Refusal, reply};

/// No request of a power client is larger.
const LARGEST_REQUEST: usize = 16 * 1024;
/// Who takes longer to send it gets 408.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// The body as a JSON object, or the refusal to send.
pub(super) async fn json_object(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Refusal> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str().unwrap_or_default());
    if content_type.is_some_and(|value| !is_json(value)) {
        let message = Base::HeaderInvalid.message(&["Content-Type"]);
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let read = axum::body::to_bytes(body, LARGEST_REQUEST);
    let Ok(read) = tokio::time::timeout(BODY_TIMEOUT, read).await else {
        let message = Base::GeneralError.message(&[]);
        return refuse(StatusCode::REQUEST_TIMEOUT, message);
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if is_too_large(&error) => {
            let message = Base::PayloadTooLarge.message(&[]);
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, message);
        }
        // A chunk without a size (RFC 9112 section 7.1), or a body that broke off.
        Err(_) => return refuse(StatusCode::BAD_REQUEST, Base::MalformedJson.message(&[])),
    };
    parse(&bytes).map_or_else(|message| refuse(StatusCode::BAD_REQUEST, message), Ok)
}

/// Whether reading a body ended at the limit, and not by an error of its own.
pub(crate) fn is_too_large(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<LengthLimitError>)
}

/// As [`json_object`], where the body may be left out (DSP0266, "POST (action)", of an action without
/// required parameters).
pub(super) async fn optional_object(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Refusal> {
    if body.size_hint().exact() == Some(0) {
        return Ok(Map::new());
    }
    json_object(headers, body).await
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, Message> {
    serde_json::from_slice(bytes).map_err(|_| Base::MalformedJson.message(&[]))
}

fn refuse<T>(status: StatusCode, message: Message) -> Result<T, Refusal> {
    Err(Box::new(reply::error(status, message)))
}

fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim().eq_ignore_ascii_case("application/json")
}

/// Whether a client that sent this `Accept` takes this media type (RFC 9110 section 12.5.1).
pub(super) fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let mut given = headers.get_all(header::ACCEPT).into_iter().peekable();
    if given.peek().is_none() {
        return true;
    }
    let (kind, _) = media.split_once('/').unwrap_or((media, ""));
    given
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let fits = name == "*/*" || name == media || name.strip_suffix("/*") == Some(kind);
            fits && !parts.any(is_weight_zero)
        })
}

fn is_weight_zero(parameter: &str) -> bool {
    let weight = parameter
        .strip_prefix("q=")
        .or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

#[cfg(test)]
mod tests {
    use super::{accepts, is_json, json_object, parse};
    use axum::body::Body;
    use axum::http::{HeaderMap, HeaderValue, header};
    use proptest::prelude::*;

    fn accepting(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn accept_is_read_as_ranges_with_weights() {
        for (value, json) in [
            ("application/json", true),
            ("application/json;charset=utf-8", true),
            ("application/*", true),
            ("*/*;q=0.1", true),
            ("text/html, APPLICATION/JSON", true),
            ("text/html", false),
            ("text/*", false),
            ("application/json;q=0", false),
            ("application/xml", false),
            ("", false),
        ] {
            assert_eq!(accepts(&accepting(value), "application/json"), json, "{value}");
        }
        assert!(accepts(&HeaderMap::new(), "application/json"));
    }

    proptest! {
        #[test]
        fn no_body_panics(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn json_of_any_depth_is_read_or_refused(depth in 1_usize..4_000, open in "[\\[{]") {
            let text = format!("{{\"a\":{}", open.repeat(depth));
            prop_assert!(parse(text.as_bytes()).is_err());
        }

        #[test]
        fn an_object_comes_back(name in "[A-Za-z@.]{1,12}", value in any::<i64>()) {
            let parsed = parse(format!("{{\"{name}\":{value}}}").as_bytes()).unwrap();
            prop_assert_eq!(parsed.get(&name).and_then(serde_json::Value::as_i64), Some(value));
        }

        #[test]
        fn no_header_panics(value in "[ -~]{0,40}") {
            let _ = (is_json(&value), accepts(&accepting(&value), "application/json"));
        }
    }

    #[tokio::test]
    async fn a_body_beyond_the_limit_is_refused() {
        let refused = json_object(&HeaderMap::new(), Body::from(vec![b' '; 17 * 1024])).await;
        assert_eq!(refused.unwrap_err().status(), 413);
    }
}
