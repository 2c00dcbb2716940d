//! Why a reset is refused, and what the client is told.

use axum::body::Body;
use axum::http::{Response, StatusCode};

use super::message::{Base, Message, vendor_error};
use super::{Refusal, reply};
use crate::fault::VendorError;

const ACTION: &str = "ComputerSystem.Reset";
const PARAMETER: &str = "ResetType";

/// Why a reset is refused.
pub(super) enum Refused {
    NoSuchSystem,
    IfMatch,
    Body(Refusal),
    Missing,
    NotAllowed,
    /// Offered, and yet it cannot be done.
    Broken,
    /// With the error of the vendor, if it has one of its own.
    AlreadyThere(Option<VendorError>),
    /// An On too soon after the power-off.
    TooSoon,
    /// Anything too soon after another reset.
    Busy,
}

impl Refused {
    /// For the journal.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::NoSuchSystem => "no such system",
            Self::IfMatch => "If-Match is not taken here",
            Self::Body(_) => "the body is no JSON object",
            Self::Missing => "no ResetType",
            Self::NotAllowed => "ResetType not supported",
            Self::Broken => "ResetType offered and not supported",
            Self::AlreadyThere(_) => "already in the requested state",
            Self::TooSoon => "too soon after the power-off",
            Self::Busy => "too soon after another reset",
        }
    }

    pub(super) fn into_response(self, path: &str) -> Response<Body> {
        let bad = |message: Message| reply::error(StatusCode::BAD_REQUEST, message.about(PARAMETER));
        match self {
            Self::NoSuchSystem => reply::not_found(path),
            Self::Body(refusal) => *refusal,
            Self::IfMatch => {
                let message = Base::PreconditionFailed.message(&[]);
                reply::error(StatusCode::PRECONDITION_FAILED, message)
            }
            Self::Missing => bad(Base::ActionParameterMissing.message(&[ACTION, PARAMETER])),
            Self::NotAllowed => bad(Base::ActionParameterNotSupported.message(&[PARAMETER, ACTION])),
            Self::Broken => {
                let message = Base::InternalError.message(&[]);
                reply::error(StatusCode::INTERNAL_SERVER_ERROR, message)
            }
            Self::AlreadyThere(Some(error)) => vendor_error(error),
            Self::AlreadyThere(None) => reply::error(StatusCode::CONFLICT, Base::NoOperation.message(&[])),
            Self::TooSoon => {
                let message = Base::ActionParameterValueConflict.message(&[PARAMETER, "On"]);
                reply::error(StatusCode::CONFLICT, message)
            }
            Self::Busy => vendor_error(VendorError::InvalidOperationForSystemState),
        }
    }
}
