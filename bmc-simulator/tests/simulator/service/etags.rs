use bmc_simulator::RedfishSpec;
use serde_json::json;

use super::{ACCOUNTS, messages, send, with};
use crate::client::{header, status};

#[tokio::test]
async fn a_tag_lives_as_long_as_what_it_is_of() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    for path in [
        "/redfish/v1/",
        "/redfish/v1/Systems",
        &host.system_path(),
        "/redfish/v1/Managers/BMC",
    ] {
        let first = client.get(path).send().await.unwrap();
        let tag = header(&first, "ETag");
        assert!(
            tag.starts_with('"') && tag.ends_with('"'),
            "{path}: {tag} is not strong"
        );
        let body: serde_json::Value = first.json().await.unwrap();
        assert_eq!(body["@odata.etag"], json!(tag), "{path}");
        let known = client
            .get(path)
            .header("If-None-Match", format!("W/{tag}, \"other\""));
        let answer = known.send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "ETag")),
            (304, tag),
            "{path}"
        );
        assert_eq!(answer.text().await.unwrap(), "", "{path}");
        let unknown = client.get(path).header("If-None-Match", "\"other\"");
        assert_eq!(status(unknown).await, 200, "{path}");
    }
    let before = header(&client.get(&host.system_path()).send().await.unwrap(), "ETag");
    assert_eq!(client.send_reset("ForceOff").await, 204);
    let after = header(&client.get(&host.system_path()).send().await.unwrap(), "ETag");
    assert_ne!(before, after);
}

#[tokio::test]
async fn a_stale_change_is_refused_and_not_made() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let own = format!("{ACCOUNTS}/1");
    let tag = header(&client.get(&own).send().await.unwrap(), "ETag");
    let change = |tag: &str, password: &str| {
        client
            .patch(&own, &json!({"Password": password}))
            .header("If-Match", tag)
    };
    let (changed, _) = send(change(&tag, "second-password")).await;
    assert_eq!(changed, 200);
    // The body looks the same, for no password is shown; the tag tells the two apart.
    let (stale, answer) = send(change(&tag, "third-password")).await;
    assert_eq!(
        (stale, messages(&answer)),
        (412, vec!["PreconditionFailed".to_owned()])
    );
    let gone = client.delete(&own).header("If-Match", tag);
    assert_eq!(status(gone).await, 412);
    assert_eq!(status(change("*", "third-password")).await, 200);
    assert_eq!(status(client.get(&own)).await, 200);
}

#[tokio::test]
async fn of_changes_with_the_same_tag_one_is_made() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let path = host.system_path();
    let tag = header(&client.get(&path).send().await.unwrap(), "ETag");
    let change = |number: u8| {
        let body = json!({"AssetTag": format!("tag {number}")});
        status(client.patch(&path, &body).header("If-Match", &tag))
    };
    let mut statuses = vec![];
    let (a, b, c, d) = tokio::join!(change(1), change(2), change(3), change(4));
    statuses.extend([a, b, c, d]);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412]);
}

#[tokio::test]
async fn a_reset_needs_no_tag_and_some_bmcs_take_none() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    assert_eq!(
        status(client.reset("ForceOff").header("If-Match", "\"stale\"")).await,
        204
    );
    assert_eq!(host.truth().on_to_off, 1);
    let (_sim, host, client) = with(RedfishSpec {
        reset_refuses_if_match: true,
        patch_needs_if_match: true,
        ..RedfishSpec::default()
    })
    .await;
    assert_eq!(
        status(client.reset("ForceOff").header("If-Match", "*")).await,
        412
    );
    assert_eq!(host.truth().on_to_off, 0);
    assert_eq!(client.send_reset("ForceOff").await, 204);
    let change = || client.patch(&host.system_path(), &json!({"AssetTag": "x"}));
    let (refused, answer) = send(change()).await;
    assert_eq!(
        (refused, messages(&answer)),
        (428, vec!["PreconditionRequired".to_owned()])
    );
    assert_eq!(status(change().header("If-Match", "*")).await, 200);
}
