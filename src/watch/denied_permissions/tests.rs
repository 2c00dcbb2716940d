use futures::FutureExt as _;
use serde_json::json;

use super::*;

fn forbidden(group: &str, resource: &str, code: u16) -> watcher::Error {
    let status = json!({
        "status": "Failure", "reason": "Forbidden", "message": "", "code": code,
        "details": {"group": group, "kind": resource},
    });
    watcher::Error::InitialListFailed(kube::Error::Api(serde_json::from_value(status).unwrap()))
}

#[tokio::test]
async fn what_is_refused_is_named_until_it_is_not_refused_any_more() {
    let denied = DeniedPermissions::default();
    let group = MachineApi::ClusterApi.group();
    let events = futures::stream::iter([
        Err(forbidden(group, MACHINES, 500)),
        Err(forbidden(group, MACHINES, 403)),
        Err(forbidden(group, MACHINES, 403)),
        Ok(()),
    ]);
    let mut events = std::pin::pin!(denied.noting(events));
    let mut changes = std::pin::pin!(denied.changes());
    assert!(events.next().await.is_some());
    assert!(
        changes.next().now_or_never().is_none(),
        "no refusal, but a failure"
    );
    assert!(denied.any_of(group, MACHINES).now_or_never().is_none());
    assert!(events.next().await.is_some() && events.next().await.is_some());
    assert!(changes.next().now_or_never().is_some());
    assert!(changes.next().now_or_never().is_none(), "the same one");
    assert!(denied.any_of(group, MACHINES).now_or_never().is_some());
    assert!(denied.any_of(group, CLUSTERS).now_or_never().is_none());
    let hidden = |api| denied.hide_machines_of(api);
    assert!(hidden(MachineApi::ClusterApi) && !hidden(MachineApi::OpenShift));
    let said = denied.statement(Some(1));
    assert_eq!((said.status, said.reason), ("False", Reason::RoleIncomplete));
    assert!(
        said.message.contains("list machines of cluster.x-k8s.io"),
        "{}",
        said.message
    );
    assert!(events.next().await.is_some());
    assert_eq!(denied.statement(Some(1)).status, "True");
    assert!(changes.next().now_or_never().is_some());
}
