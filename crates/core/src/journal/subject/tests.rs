use serde_json::{Value, json};

use super::{JournalledNode, NoNode, NodeOfSubject, Subject};

/// As versions before this one wrote it, and this one still does where there is a Node.
fn with_node() -> Value {
    json!({
        "machine": "machine-1", "machineUID": "machine-uid-1",
        "node": "worker-1", "nodeUID": "node-uid-1", "bootID": "boot-1",
        "host": "BMCEndpoint/worker-1", "bmc": "https://10.0.0.1", "system": "/redfish/v1/Systems/1",
        "systemUUID": "4c4c4544-0042-3510-8052-b4c04f4e3732", "identity": "Node systemUUID, same byte order",
    })
}

/// The same without a Node, and with these fields besides.
fn without_node(more: &Value) -> Value {
    let mut written = with_node();
    let fields = written.as_object_mut().unwrap();
    for key in ["node", "nodeUID", "bootID"] {
        fields.remove(key);
    }
    fields.extend(more.as_object().unwrap().clone());
    written
}

#[test]
fn a_journal_of_an_earlier_version_is_read_and_written_as_it_was() {
    let subject: Subject = serde_json::from_value(with_node()).unwrap();
    let node = JournalledNode {
        name: "worker-1".to_owned(),
        uid: "node-uid-1".to_owned(),
        boot_id: "boot-1".to_owned(),
    };
    assert_eq!(subject.node, NodeOfSubject::There(node));
    assert_eq!(serde_json::to_value(subject).unwrap(), with_node());
}

#[test]
fn the_absence_of_a_node_is_written_down_and_read_back() {
    let none = |why, earlier_boot: Option<&str>| NodeOfSubject::None {
        why,
        earlier_boot: earlier_boot.map(str::to_owned),
    };
    for (written, expected) in [
        (json!({"noNode": "NeverJoined"}), none(NoNode::NeverJoined, None)),
        (
            json!({"noNode": "NeverJoined", "earlierBootID": "b"}),
            none(NoNode::NeverJoined, Some("b")),
        ),
        (
            json!({"noNode": "Deleted", "deletedNode": "worker-1"}),
            none(NoNode::Deleted("worker-1".to_owned()), None),
        ),
    ] {
        let written = without_node(&written);
        let subject: Subject = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(subject.node, expected);
        assert_eq!(serde_json::to_value(subject).unwrap(), written);
    }
}

#[test]
fn half_a_node_is_refused_and_never_taken_for_none() {
    for more in [
        json!({}),
        json!({"node": "worker-1"}),
        json!({"node": "worker-1", "nodeUID": "u"}),
        json!({"nodeUID": "u", "bootID": "b"}),
        json!({"node": "worker-1", "nodeUID": "u", "bootID": "b", "noNode": "NeverJoined"}),
        json!({"node": "worker-1", "nodeUID": "u", "bootID": "b", "earlierBootID": "b"}),
        json!({"noNode": "NeverJoined", "bootID": "b"}),
        json!({"noNode": "NeverJoined", "deletedNode": "worker-1"}),
        json!({"noNode": "Deleted"}),
        json!({"noNode": "Unknown"}),
        json!({"earlierBootID": "b"}),
    ] {
        let read: Result<Subject, _> = serde_json::from_value(without_node(&more));
        assert!(read.is_err(), "{more}");
    }
}
