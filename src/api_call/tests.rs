use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::{Json, Router};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::api_call::*;

/// A server with three pages of one pod each; the token of the last page is answered with `last`.
async fn pods(last: StatusCode) -> Api<Pod> {
    let answer = move |Query(asked): Query<BTreeMap<String, String>>| async move {
        assert_eq!(asked.get("limit").map(String::as_str), Some("500"));
        assert_eq!(
            asked.get("fieldSelector").map(String::as_str),
            Some("spec.nodeName=one")
        );
        let page = |name: &str, next: &str| {
            let metadata = json!({"resourceVersion": "1", "continue": next});
            json!({"metadata": metadata, "items": [{"metadata": {"name": name}}]})
        };
        let (code, body): (StatusCode, Value) = match asked.get("continue").map(String::as_str) {
            None => (StatusCode::OK, page("a", "second page/")),
            Some("second page/") => (StatusCode::OK, page("b", "third")),
            Some(_) if last == StatusCode::OK => (StatusCode::OK, page("c", "")),
            Some(_) => (
                last,
                json!({"status": "Failure", "reason": "Expired", "message": "", "code": last.as_u16()}),
            ),
        };
        (code, Json(body))
    };
    let config = crate::test_server::served(Router::new().fallback(answer)).await;
    Api::all(Client::try_from(config).unwrap())
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page_and_only_what_is_wanted_is_kept() {
    let on_node = ListParams::default().fields("spec.nodeName=one");
    let api = pods(StatusCode::OK).await;

    let all = list("listing", &api, &on_node, |_| true).await.unwrap();
    let some = list("listing", &api, &on_node, |pod| pod.name_any() != "b")
        .await
        .unwrap();

    let names = |pods: Vec<Pod>| pods.iter().map(Pod::name_any).collect::<Vec<_>>();
    assert_eq!(
        (names(all), names(some)),
        (vec_of(&["a", "b", "c"]), vec_of(&["a", "c"]))
    );
}

#[tokio::test]
async fn a_list_that_went_out_of_date_is_an_error_and_not_a_part_of_the_list() {
    let on_node = ListParams::default().fields("spec.nodeName=one");
    let api = pods(StatusCode::GONE).await;

    let error = list("listing", &api, &on_node, |_| true).await.unwrap_err();

    assert!(error.is_refusal(), "{error:?}");
}

#[test]
fn the_host_of_a_url_may_be_an_address() {
    for (url, expected) in [
        ("https://10.96.0.1:443", Some("10.96.0.1")),
        ("https://[fd00:96::1]:6443", Some("fd00:96::1")),
        ("https://kubernetes.default.svc", None),
    ] {
        let url: axum::http::Uri = url.parse().unwrap();
        let expected = expected.map(|text| text.parse().unwrap());
        assert_eq!(address(url.host().unwrap()), expected, "{url}");
    }
}

fn vec_of(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
