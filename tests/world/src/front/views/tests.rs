use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt as _;
use futures::channel::mpsc;
use tokio::sync::watch;

use super::{View, seen};

fn event(uid: &str, version: u32) -> String {
    format!("{{\"object\":{{\"metadata\":{{\"uid\":\"{uid}\",\"resourceVersion\":\"{version}\"}}}}}}\n")
}

/// What comes of three events in that view, and one after it.
async fn through(view: View) -> String {
    let (sender, source) = mpsc::unbounded::<Result<Bytes, axum::Error>>();
    let view = watch::Sender::new(view);
    let mut seen = seen(Body::from_stream(source), view.subscribe()).into_data_stream();
    let whole = [event("a", 1), event("b", 2), event("a", 3)].concat();
    let (begin, end) = whole.split_at(10);
    for part in [begin, end] {
        sender.unbounded_send(Ok(Bytes::from(part.to_owned()))).unwrap();
    }
    let early = tokio::time::timeout(Duration::from_millis(100), seen.next()).await;
    let mut text = early
        .map(|part| part.unwrap().unwrap().to_vec())
        .unwrap_or_default();
    view.send_replace(View::Live);
    sender.unbounded_send(Ok(Bytes::from(event("c", 4)))).unwrap();
    drop(sender);
    while let Some(part) = seen.next().await {
        text.extend(part.unwrap());
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn events_come_as_they_are_to_be_seen() {
    let (a, b, newer, after) = (event("a", 1), event("b", 2), event("a", 3), event("c", 4));
    let all = [a, b.clone(), newer.clone(), after.clone()].concat();
    assert_eq!(through(View::Live).await, all);
    assert_eq!(through(View::Held).await, all);
    assert_eq!(through(View::Merged).await, [b, newer, after.clone()].concat());
    let lost = through(View::Lost).await;
    assert!(
        lost.contains("\"code\":410") && lost.lines().count() == 1,
        "{lost}"
    );
}
