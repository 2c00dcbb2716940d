//! What the API server does not let the daemon watch, as with the role of an earlier version. The policy says so, and
//! only what needs it waits for it.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use kube::runtime::watcher;
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;
use tokio::sync::watch;

use crate::report::conditions::{ROLE_COMPLETE, Statement};
use crate::watch::api_discovery::answer;

// Resources, in the group of either API.
pub(crate) const MACHINES: &str = "machines";
pub(crate) const HEALTH_CHECKS: &str = "machinehealthchecks";
pub(crate) const CLUSTERS: &str = "clusters";

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
    /// Notes what a watch is refused, and that it is not any more.
    pub(crate) fn noting<T: 'static>(
        &self,
        events: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    ) -> impl Stream<Item = watcher::Result<T>> + Send + 'static {
        let (denied, mut before) = (self.clone(), None);
        events.inspect(move |event| {
            let now = event.as_ref().err().and_then(refused);
            // Another error says nothing of permissions.
            if now != before && (event.is_ok() || now.is_some()) {
                denied.0.send_modify(|all| {
                    all.retain(|one| Some(one) != before.as_ref());
                    all.extend(now.clone());
                });
                before = now;
            }
        })
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
        let missing = all
            .iter()
            .map(|one| format!("{} {} of {}", one.verb, one.resource, one.group));
        let missing: Vec<String> = missing.collect();
        if missing.is_empty() {
            let detail = "the daemon may watch everything that it needs to";
            return Ok((Reason::RoleComplete, detail.to_owned()));
        }
        let detail = format!(
            "the daemon's role does not let it {}; what depends on that waits",
            missing.join(", ")
        );
        Err(Obstacle::new(Reason::RoleIncomplete, detail))
    }
}

/// What a watch was refused.
fn refused(error: &watcher::Error) -> Option<Refused> {
    let (status, verb) = answer(error)?;
    let details = status.details.as_ref().filter(|_| status.code == 403)?;
    Some(Refused {
        group: details.group.clone(),
        // There, the kind is the resource.
        resource: details.kind.clone(),
        verb,
    })
}
