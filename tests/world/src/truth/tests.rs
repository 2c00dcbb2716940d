//! Which requests release workloads.

use harness::{AuditEvent, AuditResource};

use super::{deletes_all, releases_a_node};

fn request(verb: &str, resource: &str, namespace: &str, name: &str) -> AuditEvent {
    let now = jiff::Timestamp::UNIX_EPOCH;
    AuditEvent {
        stage: "ResponseComplete".to_owned(),
        verb: verb.to_owned(),
        user: super::DAEMON_USER.to_owned(),
        credential: None,
        resource: AuditResource {
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..AuditResource::default()
        },
        request_received: now,
        stage_timestamp: now,
        response_code: 200,
        dry_run: false,
        request_object: None,
    }
}

#[test]
fn who_deletes_all_nodes_at_once_deletes_those_of_every_world() {
    assert!(deletes_all(&request("deletecollection", "nodes", "", ""), "ours"));
    assert!(deletes_all(
        &request("deletecollection", "machines", "ours", ""),
        "ours"
    ));
    assert!(!deletes_all(
        &request("deletecollection", "machines", "theirs", ""),
        "ours"
    ));
    assert!(!deletes_all(
        &request("deletecollection", "leases", "ours", ""),
        "ours"
    ));
    let mut asked = request("deletecollection", "nodes", "", "");
    asked.dry_run = true;
    assert!(!deletes_all(&asked, "ours"), "only asked what would come of it");
}

#[test]
fn a_node_that_is_deleted_is_released() {
    assert!(releases_a_node(&request("delete", "nodes", "", "one")));
    let mut refused = request("delete", "nodes", "", "one");
    refused.response_code = 403;
    assert!(!releases_a_node(&refused));
}
