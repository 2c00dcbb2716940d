//! A client that reads only so much: a workload cluster's API may be run by anybody, and must not take the memory that
//! the remediations of other clusters need.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use http::{Request, Response, Uri};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use kube::client::ClientBuilder;
use kube::config::Config;
use kube::{Client, Error};
use tower::layer::layer_fn;
use tower::{BoxError, Service};

use crate::leadership::gate;
use crate::leadership::lead::Lead;

const MEBIBYTE: usize = 1024 * 1024;

/// One answer, which may be a page of a list. A Node is some 30 kB.
const ANSWER: usize = 8 * MEBIBYTE;

/// The pods of one Node, which are asked for in one page: some hundred of 15 kB.
const PODS: usize = 16 * MEBIBYTE;

/// One event of a watch: an object. The API server takes none above 1.5 MiB (etcd, `--max-request-bytes`).
const EVENT: usize = 3 * MEBIBYTE;

/// All pages of a list.
const LIST: usize = 64 * MEBIBYTE;

/// More came than may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} is larger than {} MiB; nothing more of it is read; check what answers at that address",
    .bytes / MEBIBYTE
)]
struct TooLarge {
    what: &'static str,
    bytes: usize,
}

/// A client that reads no more than is allowed here, and writes while this process leads.
pub(super) fn client(config: Config, lead: &Lead) -> Result<Client, Error> {
    let bounded = layer_fn(|inner| Bounded {
        inner,
        lists: Lists::default(),
    });
    let client = ClientBuilder::try_from(config)?.with_layer(&bounded);
    Ok(client.with_layer(&gate::layer(lead)).build())
}

/// The bytes that came of each list, by its path. There are few: those that are asked for.
#[derive(Default)]
struct Lists(Mutex<BTreeMap<String, Arc<AtomicUsize>>>);

impl Lists {
    /// How the answer to a request is bounded.
    fn bound(&self, uri: &Uri) -> Bound {
        let has = |field: &str| {
            let mut fields = uri.query().unwrap_or_default().split('&');
            fields.any(|one| one.starts_with(field))
        };
        let (is_page, path) = (has("limit="), uri.path());
        if has("watch=true") {
            Bound::Events
        } else if path.ends_with("/pods") && !is_page {
            Bound::Answer(PODS)
        } else if is_page && !path.ends_with("/nodes") {
            Bound::Page(self.of(path, has("continue=")))
        } else {
            // All pages of Nodes are a cache in the end, which has a bound of its own.
            Bound::Answer(ANSWER)
        }
    }

    fn of(&self, path: &str, continued: bool) -> Arc<AtomicUsize> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !continued {
            lists.remove(path);
        }
        Arc::clone(lists.entry(path.to_owned()).or_default())
    }
}

/// How an answer is bounded.
enum Bound {
    /// As a whole.
    Answer(usize),
    /// A page, together with what came of its list before.
    Page(Arc<AtomicUsize>),
    /// A watch carries as much as happens; each of its events, which are lines, is bounded.
    Events,
}

/// Counts the bytes of one answer.
struct Meter {
    bound: Bound,
    bytes: usize,
}

impl Meter {
    /// Notes what came.
    fn read(&mut self, data: &[u8]) -> Result<(), TooLarge> {
        match &self.bound {
            Bound::Answer(most) => count(&mut self.bytes, data, "the answer", *most),
            Bound::Page(list) => {
                count(&mut self.bytes, data, "the answer", ANSWER)?;
                let mut before = list.fetch_add(data.len(), Ordering::Relaxed);
                count(&mut before, data, "the list", LIST)
            }
            Bound::Events => {
                // Whoever reads events takes every line feed for the end of one, wherever it stands.
                for line in data.split_inclusive(|byte| *byte == b'\n') {
                    count(&mut self.bytes, line, "an event", EVENT)?;
                    if line.ends_with(b"\n") {
                        self.bytes = 0;
                    }
                }
                Ok(())
            }
        }
    }
}

fn count(bytes: &mut usize, data: &[u8], what: &'static str, most: usize) -> Result<(), TooLarge> {
    *bytes = bytes.saturating_add(data.len());
    if *bytes > most {
        return Err(TooLarge { what, bytes: most });
    }
    Ok(())
}

struct Bounded<S> {
    inner: S,
    lists: Lists,
}

impl<S, Q, A> Service<Request<Q>> for Bounded<S>
where
    S: Service<Request<Q>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = Response<Answer<A>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let bound = self.lists.bound(request.uri());
        let answered = self.inner.call(request);
        Box::pin(async move {
            let response = answered.await?;
            let mut meter = Meter { bound, bytes: 0 };
            if !response.status().is_success() {
                // What a watch is refused with is read as a whole.
                meter.bound = Bound::Answer(ANSWER);
            }
            Ok(response.map(|body| Answer { body, meter }))
        })
    }
}

/// The body of an answer, up to what is allowed.
struct Answer<A> {
    body: A,
    meter: Meter,
}

impl<A> Body for Answer<A>
where
    A: Body<Data = Bytes> + Unpin,
    A::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => return Poll::Ready(None),
        };
        let measured = frame.data_ref().map_or(Ok(()), |data| this.meter.read(data));
        Poll::Ready(Some(measured.map(|()| frame).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
