use kube::runtime::events::EventType;

use super::*;

fn event(note: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: "RoleIncomplete".to_owned(),
        note: Some(note.to_owned()),
        action: "Remediate".to_owned(),
        secondary: None,
    }
}

#[tokio::test]
async fn each_text_is_an_event_and_the_same_text_is_counted_up() {
    let (tell, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let answer = move |method: axum::http::Method, axum::Json(event): axum::Json<serde_json::Value>| {
        let tell = tell.clone();
        async move {
            let is_gone = method == axum::http::Method::PATCH && event["note"] == "gone";
            tell.send((method, event["note"].clone())).unwrap();
            if is_gone {
                let status = serde_json::json!({
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                    "message": "not found", "code": 404,
                });
                return (axum::http::StatusCode::NOT_FOUND, axum::Json(status));
            }
            (axum::http::StatusCode::OK, axum::Json(event))
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().fallback(answer);
    let _server = tokio::spawn(async { axum::serve(listener, router).await });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    let reporter = Reporter {
        controller: "baremetal-remediator".to_owned(),
        instance: None,
    };
    let notes = Notes::new(Client::try_from(config).unwrap(), reporter);
    let policy = ObjectReference {
        kind: Some("RemediationPolicy".to_owned()),
        name: Some("default".to_owned()),
        ..ObjectReference::default()
    };

    for note in ["one", "one", "two", "two", "one", "gone", "gone"] {
        notes.publish(&event(note), &policy).await.unwrap();
    }

    let mut told = Vec::new();
    while let Ok((method, note)) = asked.try_recv() {
        told.push(format!("{method} {}", note.as_str().unwrap_or_default()));
    }
    assert_eq!(
        told,
        [
            "POST one",
            "PATCH one",
            "POST two",
            "PATCH two",
            "POST one",
            "POST gone",
            "PATCH gone",
            "POST gone"
        ]
    );
}
