//! What the API server does not let the daemon watch, as with the role of an earlier version: people are told, and
//! nobody waits for it who can do without.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use kube::core::Status;
use kube::runtime::watcher;
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;
use tokio::sync::watch;

use crate::report::conditions::{ROLE_COMPLETE, Statement};

/// The resource of Machines, in the group of either API.
pub(crate) const MACHINES: &str = "machines";

/// That of MachineHealthChecks.
pub(crate) const HEALTH_CHECKS: &str = "machinehealthchecks";

/// That of Clusters.
pub(crate) const CLUSTERS: &str = "clusters";

/// Something that is refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Refused {
    group: String,
    resource: String,
    /// `list` or `watch`.
    verb: &'static str,
}

/// What is refused now.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeniedPermissions(Arc<watch::Sender<BTreeSet<Refused>>>);

impl DeniedPermissions {
    /// Has a watch tell of what it is refused, and that it is not any more.
    pub(crate) fn noting<T: 'static>(
        &self,
        events: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    ) -> impl Stream<Item = watcher::Result<T>> + Send + 'static {
        let (denied, mut standing) = (self.clone(), None);
        events.inspect(move |event| match event {
            Ok(_) => denied.turn(&mut standing, None),
            Err(error) => {
                if let Some(refused) = refused(error) {
                    denied.turn(&mut standing, Some(refused));
                }
            }
        })
    }

    /// Takes one refusal for another, or for none.
    fn turn(&self, standing: &mut Option<Refused>, now: Option<Refused>) {
        if *standing == now {
            return;
        }
        let before = std::mem::replace(standing, now);
        self.0.send_modify(|all| {
            if let Some(before) = &before {
                all.remove(before);
            }
            all.extend(standing.clone());
        });
    }

    /// Waits until a resource of a group is refused.
    pub(crate) async fn any_of(&self, group: &str, resource: &str) {
        let mut all = self.0.subscribe();
        let is_this = |one: &Refused| one.group == group && one.resource == resource;
        let is_refused = |all: &BTreeSet<Refused>| all.iter().any(is_this);
        // The sender is held here, so this does not fail.
        let _ = all.wait_for(is_refused).await;
    }

    /// Whether the Machines of an API are there and may not be seen.
    pub(crate) fn hide_machines_of(&self, api: MachineApi) -> bool {
        let of_api = |one: &Refused| one.group == api.group() && one.resource == MACHINES;
        self.0.borrow().iter().any(of_api)
    }

    /// What changes, as it changes.
    pub(crate) fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let changed = self.0.subscribe();
        futures::stream::unfold(changed, |mut changed| async move {
            changed.changed().await.ok()?;
            Some(((), changed))
        })
    }

    /// What is said of it on the policy.
    pub(crate) fn statement(&self, generation: Option<i64>) -> Statement {
        Statement::verdict(ROLE_COMPLETE, self.verdict(), generation)
    }

    fn verdict(&self) -> Result<(Reason, String), Obstacle> {
        let all = self.0.borrow();
        if all.is_empty() {
            let detail = "the daemon may watch everything that it needs to";
            return Ok((Reason::RoleComplete, detail.to_owned()));
        }
        let missing: Vec<String> = all
            .iter()
            .map(|one| format!("{} {} of {}", one.verb, one.resource, one.group))
            .collect();
        let detail = format!(
            "the daemon's role does not let it {}; what depends on that waits",
            missing.join(", ")
        );
        Err(Obstacle::new(Reason::RoleIncomplete, detail))
    }
}

/// What a watch was refused.
fn refused(error: &watcher::Error) -> Option<Refused> {
    let (status, verb): (&Status, _) = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => (status, "list"),
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => (status, "watch"),
        watcher::Error::WatchError(status) => (status, "watch"),
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => return None,
    };
    let details = status.details.as_ref().filter(|_| status.code == 403)?;
    Some(Refused {
        group: details.group.clone(),
        // There, the kind is the resource.
        resource: details.kind.clone(),
        verb,
    })
}

#[cfg(test)]
mod tests {
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
}
