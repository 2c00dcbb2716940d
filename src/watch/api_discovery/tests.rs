use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::{Json, Router};
use remediator_api::views::Machine;
use serde_json::json;

use super::*;

#[tokio::test]
async fn an_object_is_absent_only_where_its_kind_is_served() {
    let answer = |path: axum::http::Uri| async move {
        let details = json!({"name": "gone", "group": "cluster.x-k8s.io", "kind": "machines"});
        let absent = json!({
            "kind": "Status", "status": "Failure", "reason": "NotFound", "message": "not found",
            "code": 404, "details": details,
        });
        if path.path().contains("/v1beta2/") {
            (StatusCode::NOT_FOUND, Json(absent)).into_response()
        } else {
            (StatusCode::NOT_FOUND, "404 page not found\n").into_response()
        }
    };
    let config = crate::test_server::served(Router::new().fallback(answer)).await;
    let client = Client::try_from(config).unwrap();
    for (version, absent) in [(Version::V1Beta2, true), (Version::V1Beta1, false)] {
        let served = ServedClusterApi(Arc::new(Mutex::new(Some(version))));
        let machines = served.api::<Machine>(&client, Some("metal")).unwrap();
        let read = machines.get::<Machine>("gone").await;
        assert_eq!(matches!(read, Ok(None)), absent, "{read:?}");
    }
}
