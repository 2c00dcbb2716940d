//! No write to an API server without the lead.

use http::{Method, Request};
use tower::BoxError;
use tower::filter::{FilterLayer, Predicate};

use crate::leadership::lead::Lead;

/// The lead was over before a write was sent.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("this replica does not lead any more; the one that does writes in its place")]
struct NotLeading;

/// Refuses writes once the lead is over.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Lead);

/// A layer for a client: what it writes, it writes while this process leads.
pub(crate) fn layer(lead: &Lead) -> FilterLayer<Gate> {
    FilterLayer::new(Gate(lead.clone()))
}

impl<B> Predicate<Request<B>> for Gate {
    type Request = Request<B>;

    fn check(&mut self, request: Request<B>) -> Result<Request<B>, BoxError> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if reads || self.0.holds() {
            Ok(request)
        } else {
            Err(NotLeading.into())
        }
    }
}
