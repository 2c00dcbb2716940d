use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn node(change: impl FnOnce(&mut Value)) -> Arc<Guarded<Node>> {
    let mut node = json!({
        "metadata": {"name": "worker-0", "uid": "uid-0"},
        "status": {"nodeInfo": {"systemUUID": "uuid-0"}, "conditions": [{"type": "Ready", "status": "True"}]},
    });
    change(&mut node);
    Arc::new(serde_json::from_value(node).unwrap())
}

fn is_news(before: Option<Arc<Guarded<Node>>>, object: Arc<Guarded<Node>>, is_gone: bool) -> bool {
    let change = Change {
        object,
        before,
        is_gone,
    };
    ChangedNode::of(&change).identity_changed
}

#[test]
fn what_says_whose_node_it_is_is_news_and_the_rest_is_not() {
    let as_it_was = || node(|_| {});
    assert!(is_news(None, as_it_was(), false), "it has joined");
    assert!(!is_news(Some(as_it_was()), as_it_was(), false));
    let unready = node(|node| node["status"]["conditions"][0]["status"] = json!("False"));
    assert!(!is_news(Some(as_it_was()), unready, false));
    let machine = json!({"machine.openshift.io/machine": "metal/worker-0"});
    for (field, changed) in [
        ("UID", node(|node| node["metadata"]["uid"] = json!("uid-1"))),
        (
            "system UUID",
            node(|node| node["status"]["nodeInfo"]["systemUUID"] = json!("uuid-1")),
        ),
        (
            "providerID",
            node(|node| node["spec"] = json!({"providerID": "host-1"})),
        ),
        ("Machine", node(|node| node["metadata"]["annotations"] = machine)),
        ("unreadable", node(|node| node["spec"] = json!(7))),
    ] {
        assert!(is_news(Some(as_it_was()), Arc::clone(&changed), false), "{field}");
        assert!(is_news(Some(changed), as_it_was(), false), "{field}");
    }
    assert!(is_news(Some(as_it_was()), as_it_was(), true), "it has gone");
}

#[test]
fn whose_node_it_was_is_kept_with_whose_it_is() {
    let with = |id: &str| node(|node| node["spec"] = json!({"providerID": id}));
    let change = Change {
        object: with("now"),
        before: Some(with("before")),
        is_gone: false,
    };
    let identity = ChangedNode::of(&change).identity;
    for id in ["before", "now"] {
        assert!(identity.contains(&NodeIndex::ProviderId(id.to_owned())), "{id}");
    }
}
