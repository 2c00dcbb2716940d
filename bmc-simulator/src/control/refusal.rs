//! Answers to requests that cannot be served: JSON that names what to correct.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::SimError;
use crate::redfish::is_too_large;

/// `{"error":{"code","field","message"}}` with a 4xx or 5xx status.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    detail: Detail,
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    error: &'a Detail,
}

#[derive(Debug, Serialize)]
struct Detail {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    message: String,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, field: Option<String>, message: String) -> Self {
        Self {
            status,
            detail: Detail { code, field, message },
        }
    }

    pub(super) fn unknown_host(name: &str) -> Self {
        let message = SimError::UnknownHost {
            name: name.to_owned(),
        }
        .to_string();
        Self::new(
            StatusCode::NOT_FOUND,
            "unknown-host",
            Some("name".to_owned()),
            message,
        )
    }

    pub(super) fn unknown_path() -> Self {
        let message = "there is nothing at this path: the README lists the paths".to_owned();
        Self::new(StatusCode::NOT_FOUND, "unknown-path", None, message)
    }

    pub(super) fn wrong_method() -> Self {
        let message = "this path does not take this method: see the header Allow".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", None, message)
    }

    /// A query that is no number where it should be; serde tells of which field in its text.
    pub(super) fn bad_query(rejection: &QueryRejection) -> Self {
        let reason = rejection.body_text();
        let field = if reason.contains("limit:") {
            "limit"
        } else {
            "after"
        };
        let message = format!("{reason}: write ?after=NUMBER, ?limit=NUMBER, or leave it out");
        Self::in_query(field, message)
    }

    pub(super) fn bad_limit() -> Self {
        let message = "a page has 1 to 10000 entries: write such a limit, or leave it out".to_owned();
        Self::in_query("limit", message)
    }

    fn in_query(field: &str, message: String) -> Self {
        let field = Some(field.to_owned());
        Self::new(StatusCode::BAD_REQUEST, "bad-query", field, message)
    }

    pub(super) fn bad_body(field: Option<String>, message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-body", field, message)
    }

    /// A body of which not all could be read.
    pub(super) fn unreadable(error: &axum::Error) -> Self {
        if is_too_large(error) {
            let message = "the body is too large: send at most 64 KiB".to_owned();
            return Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", None, message);
        }
        Self::bad_body(
            None,
            "the body broke off or has broken chunks: send it whole".to_owned(),
        )
    }

    /// A name in the path that is no text once its `%` were read (RFC 3986 section 2.1).
    pub(super) fn bad_path(reason: &str) -> Self {
        let message = format!("{reason}: write names in the path as UTF-8, percent-encoded");
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-path",
            Some("name".to_owned()),
            message,
        )
    }

    /// A failure of the library, in a field that is known.
    pub(super) fn from_sim(error: &SimError, prefix: &str) -> Self {
        let (status, field) = match error {
            SimError::InvalidFault { field, .. } => {
                (StatusCode::BAD_REQUEST, Some(format!("{prefix}{field}")))
            }
            SimError::NoMains { .. } => (StatusCode::CONFLICT, None),
            SimError::UnknownHost { .. } => (StatusCode::NOT_FOUND, Some("name".to_owned())),
            SimError::InvalidHost { field, .. } => (StatusCode::BAD_REQUEST, Some(field.clone())),
            SimError::UnknownSystem { .. } => (StatusCode::NOT_FOUND, Some("system".to_owned())),
            SimError::DuplicateHost { .. }
            | SimError::DuplicateUuid { .. }
            | SimError::ControlNotLoopback { .. }
            | SimError::Bind { .. }
            | SimError::OpenFilesLimit { .. }
            | SimError::TooManyFiles { .. }
            | SimError::Certificate(_)
            | SimError::Tls(_)
            | SimError::SameNameInTls { .. }
            | SimError::Stopped => (StatusCode::INTERNAL_SERVER_ERROR, None),
        };
        let code = if matches!(error, SimError::UnknownSystem { .. }) {
            "unknown-system"
        } else if matches!(error, SimError::NoMains { .. }) {
            "no-mains"
        } else {
            "refused"
        };
        Self::new(status, code, field, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(Body { error: &self.detail })).into_response()
    }
}
