//! Query parameters (DSP0266, "Query parameters"): `$expand`, `$select` and `only`. The service root's
//! `ProtocolFeaturesSupported` says that there are no others.

mod expand;
mod parse;
mod select;

pub(super) use expand::{Expand, MAX_LEVELS, expand};
pub(super) use select::select;

use axum::http::StatusCode;

use super::message::Message;

/// What a GET asks for beyond the resource itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Query {
    /// The one member of a collection instead of the collection.
    pub(super) only: bool,
    /// Resources in place of links.
    pub(super) expand: Option<Expand>,
    /// Only these properties; the names of one path, outermost first.
    pub(super) select: Option<Vec<Vec<String>>>,
}

/// Why a query cannot be answered.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) message: Box<Message>,
}

impl Refused {
    pub(super) fn bad(message: Message) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: Box::new(message),
        }
    }
}

impl Query {
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
