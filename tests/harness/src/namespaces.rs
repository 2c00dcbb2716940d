//! Isolation: names that nobody else uses.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::await_condition;
use anyhow::Context;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::wait::Condition;
use kube::{Api, ResourceExt};

use crate::Cluster;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A prefix made unique, for names of nodes and other objects that have no namespace.
pub(crate) fn unique(prefix: &str) -> String {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    // Two test binaries may share one existing cluster, so a counter is not enough.
    let salt = RandomState::new().hash_one(number) & 0xff_ffff;
    format!("{prefix}-{salt:06x}{number}")
}

/// A random UUID, lower case, as firmware and the kernel print them.
pub(crate) fn random_uuid() -> String {
    let (high, low) = (RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0xfff,
        low & 0xffff_ffff_ffff
    )
}

impl Cluster {
    /// A prefix made unique, for nodes and other objects that have no namespace.
    pub fn unique(&self, prefix: &str) -> String {
        unique(prefix)
    }

    /// Creates a namespace of a unique name, ready for pods, and returns that name.
    pub async fn namespace(&self, prefix: &str) -> anyhow::Result<String> {
        let client = self.client().await?;
        let name = unique(prefix);
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .with_context(|| format!("cannot create namespace {name}; is the prefix a DNS label?"))?;
        // Admission refuses pods until the service account they run as is there.
        let accounts = Api::<ServiceAccount>::namespaced(client, &name);
        if self.has_controllers() {
            tokio::time::timeout(
                Duration::from_mins(2),
                await_condition(accounts, "default", exists()),
            )
            .await
            .with_context(|| {
                format!("no default service account in {name}; see the controller manager's log")
            })?
            .with_context(|| format!("cannot watch service accounts of {name}"))?;
        } else {
            let account = ServiceAccount {
                metadata: ObjectMeta {
                    name: Some("default".to_owned()),
                    ..ObjectMeta::default()
                },
                ..ServiceAccount::default()
            };
            accounts
                .create(&PostParams::default(), &account)
                .await
                .with_context(|| format!("cannot create the default service account of {name}"))?;
        }
        Ok(name)
    }
}

/// True as soon as there is such an object.
pub(crate) fn exists<K: ResourceExt>() -> impl Condition<K> {
    |object: Option<&K>| object.is_some()
}
