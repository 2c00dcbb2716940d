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
    client(served(router).await, &Lead::alone()).unwrap()
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
    let lines = ANSWER * 2 / event.len();
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

#[test]
fn each_event_is_bounded_by_itself_however_it_comes() {
    let mut events = Meter {
        bound: Bound::Events,
        bytes: 0,
    };
    let line = format!("{}\n", "x".repeat(EVENT - 1));
    let (first, rest) = line.split_at(1000);
    for piece in [&line, &line, first, rest] {
        assert_eq!(events.read(piece.as_bytes()), Ok(()));
    }
    let larger = format!("{{}}\n{}", "x".repeat(EVENT + 1));
    assert!(events.read(larger.as_bytes()).is_err());
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
