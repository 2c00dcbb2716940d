use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::RawQuery;
use axum::{Json, Router};
use futures::future::try_join_all;
use serde_json::json;

use crate::clusters::not_ready::*;

/// A server that prints two pages of Nodes, and how often it was asked.
async fn server(columns: [&'static str; 2]) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    let answer = move |RawQuery(query): RawQuery| {
        counted.fetch_add(1, Ordering::Relaxed);
        let is_first = query.is_some_and(|query| query.ends_with("continue="));
        let row = |name: &str, status: &str| json!({"cells": [name, status], "object": null});
        let rows = if is_first {
            [row("a", "Ready"), row("b", "NotReady,SchedulingDisabled")]
        } else {
            [row("c", "Unknown"), row("d", "Ready,SchedulingDisabled")]
        };
        let token = if is_first { "next" } else { "" };
        let columns = columns.map(|name| json!({"name": name, "type": "string"}));
        let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"continue": token},
            "columnDefinitions": columns, "rows": rows});
        async move { Json(table) }
    };
    let config = crate::test_server::served(Router::new().fallback(answer)).await;
    (Client::try_from(config).unwrap(), asked)
}

#[tokio::test]
async fn every_page_is_read_and_those_that_ask_together_share_a_list() {
    let (client, asked) = server(["Name", "Status"]).await;
    let lists = lists();

    let found = try_join_all((0..50).map(|_| list(&lists, &client)))
        .await
        .unwrap();

    let expected = BTreeSet::from(["b".to_owned(), "c".to_owned()]);
    for one in found {
        assert_eq!(*one, expected);
    }
    // That of the first who asked, and that of all others.
    assert!(asked.load(Ordering::Relaxed) <= 4, "{asked:?} pages");
}

#[tokio::test]
async fn what_is_no_table_of_nodes_with_their_state_is_an_error() {
    let (client, _) = server(["Name", "Health"]).await;

    let error = list(&lists(), &client).await.unwrap_err();

    let told = format!("{error:?}");
    assert!(told.contains("no column Status"), "{told}");
}
