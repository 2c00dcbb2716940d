//! Secrets in use are held against deletion, where the daemon's role permits that: by a finalizer of ours, while a
//! remediation has begun that needs it. Nothing depends on it: a Secret that is gone is told of, and looked for again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use remediator_api::target_ref::{begun, is_under_way, to_bring_back};
use remediator_api::{PowerCycleRemediation, keys};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::api_call::{ShellError, within};
use crate::bmc_access::BmcAccess;

/// The longest that a Secret may hold up a power-off, or the end of a remediation.
const DEADLINE: Duration = Duration::from_secs(2);

/// How soon it is tried again what the role did not permit.
const REFUSED_FOR: Duration = Duration::from_mins(10);

/// Namespace and name of a Secret.
type Key = (String, String);

/// What this process knows of the Secrets that it holds.
#[derive(Debug, Default)]
pub(crate) struct SecretHolds {
    by_secret: Mutex<BTreeMap<Key, Arc<tokio::sync::Mutex<Hold>>>>,
    /// Namespaces in which the role did not permit it, and when that was.
    refused: Mutex<BTreeMap<String, Instant>>,
    /// The version of a Secret that our own write made, and which content that is.
    same_content: Mutex<BTreeMap<String, (String, String)>>,
}

#[derive(Debug, Default)]
struct Hold {
    /// UIDs of the remediations for which it is held. The caches may not show yet that they have begun.
    holders: BTreeSet<String>,
    /// Whether it was seen without our finalizer, and nobody has held it since.
    is_free: bool,
}

impl SecretHolds {
    /// The version that stands for the content of a Secret: a finalizer of ours makes no other login of it.
    pub(super) fn version_of_content(&self, secret: &str, version: String) -> String {
        let same = self.same_content.lock().unwrap_or_else(PoisonError::into_inner);
        match same.get(secret) {
            Some((written, content)) if *written == version => content.clone(),
            Some(_) | None => version,
        }
    }

    fn note_written(&self, secret: String, before: String, written: String) {
        let content = self.version_of_content(&secret, before);
        let mut same = self.same_content.lock().unwrap_or_else(PoisonError::into_inner);
        same.insert(secret, (written, content));
    }

    fn of(&self, key: &Key) -> Arc<tokio::sync::Mutex<Hold>> {
        let mut all = self.by_secret.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(key.clone()).or_default())
    }

    fn is_refused(&self, namespace: &str) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused
            .get(namespace)
            .is_some_and(|at| at.elapsed() < REFUSED_FOR)
    }

    /// Notes that the role does not permit it. Answers whether that is new.
    fn note_refused(&self, namespace: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.insert(namespace.to_owned(), Instant::now()).is_none()
    }
}

impl BmcAccess {
    /// Holds the Secret by which a remediation that has begun reaches its BMC, unless it is held already. Answers the
    /// name of the one that is held.
    pub(crate) async fn hold_secret(
        &self,
        remediation: &PowerCycleRemediation,
        held: Option<String>,
    ) -> Option<String> {
        let key = secret_of(remediation).filter(|_| needs_secret(remediation))?;
        if held.as_ref() == Some(&key.1) || self.holds.is_refused(&key.0) {
            return held;
        }
        let hold = async {
            let hold = self.holds.of(&key);
            let mut hold = hold.lock().await;
            hold.holders.insert(remediation.uid().unwrap_or_default());
            hold.is_free = false;
            self.set_finalizer(&key, true).await
        };
        let is_held = self.is_done(&key, timeout(DEADLINE, hold).await);
        is_held.then_some(key.1)
    }

    /// Lets the Secret of a remediation go that needs it no more, unless others do. Answers whether there is nothing more
    /// to do about it.
    pub(crate) async fn let_go_of_secret(&self, remediation: &PowerCycleRemediation) -> bool {
        let Some(key) = secret_of(remediation) else {
            return true;
        };
        self.let_go(&key, &remediation.uid().unwrap_or_default()).await
    }

    /// Lets a Secret go that was found to be held, unless a remediation needs it: whoever held it is gone.
    pub(super) async fn let_go_if_unneeded(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        if let Ok(mut hold) = self.holds.of(&key).try_lock() {
            hold.is_free = false;
        }
        self.let_go(&key, "").await;
    }

    async fn let_go(&self, key: &Key, uid: &str) -> bool {
        let let_go = async {
            let hold = self.holds.of(key);
            let mut hold = hold.lock().await;
            hold.holders.remove(uid);
            let is_held = !hold.holders.is_empty() || self.is_needed_by_others(key, uid);
            if !is_held && !hold.is_free && !self.holds.is_refused(&key.0) {
                self.set_finalizer(key, false).await?;
                hold.is_free = true;
            }
            Ok(())
        };
        self.is_done(key, timeout(DEADLINE, let_go).await)
    }

    /// Whether the caches show another remediation that needs a Secret; one that cannot be read may.
    fn is_needed_by_others(&self, (namespace, name): &Key, own: &str) -> bool {
        let of_namespace = self.caches.remediations.in_namespace(Some(namespace));
        of_namespace.iter().any(|guarded| match &guarded.0 {
            Ok(other) => {
                let is_its = secret_of(other).is_some_and(|(_, secret)| secret == *name);
                is_its && needs_secret(other) && other.uid().as_deref() != Some(own)
            }
            Err(_) => true,
        })
    }

    async fn set_finalizer(&self, (namespace, name): &Key, wanted: bool) -> Result<(), ShellError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), namespace);
        // Without its content.
        let found = within("reading the BMC's Secret", secrets.get_metadata_opt(name)).await?;
        let Some(found) = found else { return Ok(()) };
        let mut finalizers = found.finalizers().to_vec();
        let is_ours = |finalizer: &String| finalizer == keys::SECRET_FINALIZER;
        // Nothing can be put on what is being deleted.
        if finalizers.iter().any(is_ours) == wanted || wanted && found.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        finalizers.retain(|finalizer| !is_ours(finalizer));
        if wanted {
            finalizers.push(keys::SECRET_FINALIZER.to_owned());
        }
        let before = found.resource_version().unwrap_or_default();
        let change = Patch::Merge(json!({"metadata": {"resourceVersion": before, "finalizers": finalizers}}));
        let parameters = PatchParams::default();
        let call = secrets.patch_metadata(name, &parameters, &change);
        let written = within("writing our finalizer on the BMC's Secret", call).await?;
        let written = written.resource_version().unwrap_or_default();
        self.holds
            .note_written(format!("{namespace}/{name}"), before, written);
        Ok(())
    }

    fn is_done<Late>(&self, (namespace, name): &Key, tried: Result<Result<(), ShellError>, Late>) -> bool {
        let error = match tried {
            Ok(Ok(())) => return true,
            Ok(Err(error)) if error.is_forbidden() => {
                if self.holds.note_refused(namespace) {
                    tracing::info!(
                        namespace,
                        "the role does not let Secrets of BMCs be held against deletion while a host is off; apply \
                         components/bmc-secrets-held in the namespace to have that"
                    );
                }
                return false;
            }
            Ok(Err(error)) => crate::report::chain(&error),
            Err(_) => format!("the API server did not answer within {DEADLINE:?}"),
        };
        tracing::info!(
            namespace,
            secret = name,
            error,
            "our finalizer on a Secret could not be written"
        );
        false
    }
}

/// The Secret by which the BMC of what was begun is reached.
fn secret_of(remediation: &PowerCycleRemediation) -> Option<Key> {
    let route = begun(remediation)?.route.as_ref()?;
    Some((remediation.namespace().unwrap_or_default(), route.secret.clone()))
}

fn needs_secret(remediation: &PowerCycleRemediation) -> bool {
    is_under_way(remediation) || to_bring_back(remediation).is_some()
}

#[cfg(test)]
mod tests;
