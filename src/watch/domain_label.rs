//! The label of Nodes that names their failure domain: the policy says which. Nodes have many labels, of which the caches
//! keep few. This one is among them for as long as the process lives; another one has it begin anew.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use remediator_api::RemediationPolicy;
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::Node;
use remediator_api::views::node::is_always_kept;
use remediator_core::brakes::Limits;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use crate::watch::caches::{Caches, find};

/// The shortest time for which a process goes on whose label is another one: it may not have been able to read the policy.
const AT_LEAST: Duration = Duration::from_secs(10);

/// The label that the caches keep.
#[derive(Clone, Debug)]
pub(crate) struct DomainLabel(Arc<str>);

impl DomainLabel {
    /// As the policy says, where there is one that can be read.
    pub(crate) fn of(policy: Option<&Guarded<RemediationPolicy>>) -> Self {
        Self(
            named(policy)
                .unwrap_or_else(|| Limits::default().domain_label)
                .into(),
        )
    }

    /// Drops what no decision reads.
    pub(crate) fn narrow(&self) -> impl Fn(&mut Node) + Send + use<> {
        let label = Arc::clone(&self.0);
        move |node| node.narrow(&label)
    }

    /// Whether the Nodes in the caches tell their failure domains by this label.
    ///
    /// # Errors
    /// [`Reason::WaitingForBudget`], until the process has begun anew.
    pub(crate) fn tells(&self, label: &str) -> Result<(), Obstacle> {
        if is_always_kept(label) || *self.0 == *label {
            return Ok(());
        }
        let detail = format!(
            "the policy names another label for failure domains, {label}, and the daemon begins anew to see it on the \
             Nodes"
        );
        Err(Obstacle::new(Reason::WaitingForBudget, detail))
    }

    /// Waits until the policy names a label that the caches do not keep.
    pub(crate) async fn is_another(&self, caches: &Caches) -> String {
        tokio::time::sleep(AT_LEAST).await;
        self.another(caches).await
    }

    async fn another(&self, caches: &Caches) -> String {
        let mut changes = caches.policies.subscribe_to_changes();
        loop {
            let policy = find(&caches.policies, None, POLICY_NAME);
            if let Some(label) = named(policy.as_deref())
                && self.tells(&label).is_err()
            {
                return label;
            }
            if changes.next().await.is_none() {
                std::future::pending::<()>().await;
            }
        }
    }
}

fn named(policy: Option<&Guarded<RemediationPolicy>>) -> Option<String> {
    let policy = policy?.0.as_ref().ok()?;
    Some(policy.spec.limits.failure_domain.label.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::watch::caches::testing::{apply, caches};

    fn policy(label: &str) -> serde_json::Value {
        json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
            "metadata": {"name": "default"},
            "spec": {"bmc": {"allowedNetworks": []}, "limits": {"failureDomain": {"label": label}}},
        })
    }

    #[test]
    fn a_node_keeps_the_label_that_the_policy_names_and_the_usual_ones() {
        let rack = DomainLabel::of(Some(&serde_json::from_value(policy("example.org/rack")).unwrap()));
        let mut node: Node = serde_json::from_value(json!({"metadata": {"name": "n", "labels": {
            "example.org/rack": "7", "topology.kubernetes.io/zone": "z", "example.org/other": "x",
        }}}))
        .unwrap();
        rack.narrow()(&mut node);
        let kept: Vec<_> = node.metadata.labels.unwrap().into_keys().collect();
        assert_eq!(kept, ["example.org/rack", "topology.kubernetes.io/zone"]);
        assert!(rack.tells("example.org/rack").is_ok() && rack.tells("topology.kubernetes.io/rack").is_ok());
        assert!(rack.tells("example.org/other").is_err());
        assert!(DomainLabel::of(None).tells("topology.kubernetes.io/zone").is_ok());
    }

    #[tokio::test]
    async fn only_a_label_that_is_not_kept_is_another() {
        let (caches, mut writers) = caches();
        let kept = DomainLabel::of(None);
        apply(&mut writers.policies, policy("topology.kubernetes.io/rack"));
        let mut waits = std::pin::pin!(kept.another(&caches));
        assert!(futures::poll!(&mut waits).is_pending());
        apply(&mut writers.policies, policy("example.org/rack"));
        assert_eq!(waits.await, "example.org/rack");
    }
}
