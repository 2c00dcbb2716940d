//! Reading request bodies so that a mistake is answered with the field it is in.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::Refusal;

const LARGEST_BODY: usize = 64 * 1024;

/// Names out of a path, as [`axum::extract::Path`] reads them, with a refusal in JSON.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let read = axum::extract::Path::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(names)| Self(names))
            .map_err(|rejection| Refusal::bad_path(&rejection.body_text()))
    }
}

/// The body as `T`. The content type does not matter: `curl -d` sends a wrong one.
pub(super) async fn json<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let bytes = axum::body::to_bytes(body, LARGEST_BODY)
        .await
        .map_err(|error| Refusal::unreadable(&error))?;
    let mut deserializer = serde_json::Deserializer::from_slice(&bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| refusal(&error))?;
    deserializer
        .end()
        .map_err(|error| Refusal::bad_body(None, error.to_string()))?;
    Ok(value)
}

/// As [`json`], for a value that is already parsed.
pub(super) fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(value).map_err(|error| refusal(&error))
}

fn refusal(error: &serde_path_to_error::Error<serde_json::Error>) -> Refusal {
    let path = error.path().to_string();
    let inner = error.inner().to_string();
    // serde names a missing or unknown field in the text and gives the path of what holds it.
    let named = inner.split('`').nth(1).filter(|_| inner.contains("field `"));
    let field = match (path.as_str(), named) {
        ("." | "?", named) => named.map(str::to_owned),
        (path, Some(name)) if path.rsplit('.').next() != Some(name) => Some(format!("{path}.{name}")),
        (path, _) => Some(path.to_owned()),
    };
    Refusal::bad_body(field, inner)
}
