//! A client that reads only so much. A workload cluster's API may be run by anybody, and may be broken; what it
//! answers must not take the memory that the remediations of all other clusters need.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use http::{Request, Response, Uri};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use kube::client::ClientBuilder;
use kube::config::Config;
use kube::{Client, Error};
use tower::{BoxError, Layer, Service};

use crate::clusters::workload::meter::{ANSWER, Measured, Meter, PODS, Tally};

/// A client that reads no more than [`meter`](crate::clusters::workload::meter) allows.
///
/// # Errors
/// When certificates or keys of the configuration cannot be used.
pub(super) fn client(config: Config) -> Result<Client, Error> {
    Ok(ClientBuilder::try_from(config)?.with_layer(&Bounding).build())
}

struct Bounding;

impl<S> Layer<S> for Bounding {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Bounded<S> {
        Bounded {
            inner,
            lists: Lists::default(),
        }
    }
}

/// What has come of each list, by its path. There are few: those that are asked for.
#[derive(Default)]
struct Lists(Mutex<BTreeMap<String, Arc<Tally>>>);

impl Lists {
    /// What is measured of the answer to a request.
    fn measured(&self, uri: &Uri) -> Measured {
        let has = |field: &str| {
            let mut fields = uri.query().unwrap_or_default().split('&');
            fields.any(|one| one.starts_with(field))
        };
        let (is_page, path) = (has("limit="), uri.path());
        if has("watch=true") {
            Measured::Events
        } else if path.ends_with("/pods") && !is_page {
            Measured::Answer(PODS)
        } else if is_page && !path.ends_with("/nodes") {
            Measured::Page(self.of(path, has("continue=")))
        } else {
            // All pages of Nodes are a cache in the end, and that is weighed itself.
            Measured::Answer(ANSWER)
        }
    }

    fn of(&self, path: &str, continued: bool) -> Arc<Tally> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !continued {
            lists.remove(path);
        }
        Arc::clone(lists.entry(path.to_owned()).or_default())
    }
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
        let measured = self.lists.measured(request.uri());
        let answered = self.inner.call(request);
        Box::pin(async move {
            let response = answered.await?;
            // What a watch is refused with is read as a whole.
            let measured = if response.status().is_success() {
                measured
            } else {
                Measured::Answer(ANSWER)
            };
            let meter = Meter::new(measured);
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
mod tests {
    use axum::Router;
    use axum::body::Body as Sent;
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    use futures::{StreamExt as _, stream};
    use k8s_openapi::api::core::v1::{Node, Pod};
    use k8s_openapi::api::storage::v1::VolumeAttachment;
    use kube::api::{Api, ListParams, WatchEvent, WatchParams};

    use super::*;
    use crate::test_server::served;

    /// A server that begins its answer well, and then sends the same for ever.
    async fn endless(status: StatusCode, begins: &'static str, goes_on: String) -> Client {
        let answer = move || {
            let (begins, goes_on) = (Bytes::from(begins), Bytes::from(goes_on.clone()));
            let pieces = stream::iter([begins]).chain(stream::repeat(goes_on));
            let body = Sent::from_stream(pieces.map(Ok::<_, std::convert::Infallible>));
            async move { (status, body).into_response() }
        };
        serve(Router::new().fallback(answer)).await
    }

    async fn serve(router: Router) -> Client {
        client(served(router).await).unwrap()
    }

    fn refused<T>(answer: Result<T, Error>, what: &str) {
        let Err(error) = answer else {
            panic!("it was read to its end");
        };
        let error = crate::report::chain(&error);
        assert!(error.contains(&format!("{what} is larger than")), "{error}");
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_read_up_to_the_limit() {
        let text = "x".repeat(64 * 1024);
        let client = endless(StatusCode::OK, "{\"metadata\":{\"name\":\"", text.clone()).await;
        refused(Api::<Node>::all(client.clone()).get("one").await, "the answer");
        refused(client.apiserver_version().await, "the answer");
        let client = endless(StatusCode::OK, "{\"items\":[", "{},".repeat(1024)).await;
        let all = ListParams::default();
        refused(Api::<Pod>::all(client.clone()).list(&all).await, "the answer");
        refused(Api::<Node>::all(client).list(&all.limit(50)).await, "the answer");
        let client = endless(StatusCode::FORBIDDEN, "{\"message\":\"", text).await;
        let watch = WatchParams::default();
        refused(
            Api::<Node>::all(client).watch(&watch, "0").await.map(drop),
            "the answer",
        );
    }

    #[tokio::test]
    async fn a_watch_carries_as_much_as_happens_in_events_of_bounded_size() {
        let name = "n".repeat(1000);
        let event = format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\"}}}}}}\n");
        let lines = ANSWER.bytes * 2 / event.len();
        let client = endless(StatusCode::OK, "", event).await;
        let watched = Api::<Node>::all(client)
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap();
        let read = watched
            .take(lines)
            .filter(|event| std::future::ready(matches!(event, Ok(WatchEvent::Added(_)))));
        assert_eq!(read.count().await, lines);

        let client = endless(StatusCode::OK, "{\"type\":\"ADDED\",", " ".repeat(64 * 1024)).await;
        let watched = Api::<Node>::all(client)
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap();
        let first = std::pin::pin!(watched).next().await.unwrap();
        refused(first, "an event");
    }

    #[tokio::test]
    async fn a_list_without_a_last_page_is_given_up() {
        let item = format!(
            "{{\"metadata\":{{\"name\":\"{}\"}}}}",
            "n".repeat(4 * 1024 * 1024)
        );
        let page = format!("{{\"metadata\":{{\"continue\":\"more\"}},\"items\":[{item}]}}");
        let client = serve(Router::new().fallback(move || std::future::ready(page.clone()))).await;
        let attachments = Api::<VolumeAttachment>::all(client);
        let first = ListParams::default().limit(500);
        let next = first.clone().continue_token("more");
        for _ in 0..2 {
            // A new list begins at zero, whatever came of the one before.
            attachments.list(&first).await.unwrap();
            // Page by page, because a call has a deadline, and how fast this machine reads is not the question.
            let error = loop {
                if let Err(error) = attachments.list(&next).await {
                    break crate::report::chain(&error);
                }
            };
            assert!(error.contains("the list is larger than 64 MiB"), "{error}");
        }
    }
}
