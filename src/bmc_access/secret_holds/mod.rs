//! Secrets in use are held against deletion, where the daemon's role permits that: by a finalizer of ours, while a
//! remediation has begun that needs it. Nothing depends on it: a Secret that is gone is told of, and looked for again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
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
    by_secret: Mutex<BTreeMap<Key, SharedHolders>>,
    /// Secrets as they were read or written last.
    seen: Mutex<BTreeMap<Key, ObjectMeta>>,
    /// Namespaces in which the role did not permit it, and when that was.
    refused: Mutex<BTreeMap<String, Instant>>,
    /// The version of a Secret that our own write made, and which content that is.
    same_content: Mutex<BTreeMap<String, (String, String)>>,
}

/// UIDs of the remediations for which a Secret is held. The caches may not show yet that they have begun.
type SharedHolders = Arc<tokio::sync::Mutex<BTreeSet<String>>>;

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

    /// Notes a Secret that was read or written.
    pub(super) fn saw(&self, secret: &ObjectMeta) {
        let name = |part: &Option<String>| part.clone().unwrap_or_default();
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(
            (name(&secret.namespace), name(&secret.name)),
            without_content(secret),
        );
    }

    /// What was seen of a Secret, once.
    fn take_seen(&self, key: &Key) -> Option<ObjectMeta> {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(key)
    }

    fn of(&self, key: &Key) -> SharedHolders {
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
        let holding = async {
            let holders = self.holds.of(&key);
            let mut holders = holders.lock().await;
            holders.insert(remediation.uid().unwrap_or_default());
            self.set_finalizer(&key, true).await
        };
        let is_held = self.is_done(&key, timeout(DEADLINE, holding).await);
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
        self.let_go(&(namespace.to_owned(), name.to_owned()), "").await;
    }

    async fn let_go(&self, key: &Key, uid: &str) -> bool {
        let let_go = async {
            let holders = self.holds.of(key);
            let mut holders = holders.lock().await;
            holders.remove(uid);
            if !holders.is_empty() || self.holds.is_refused(&key.0) || self.is_needed_by_others(key, uid) {
                return Ok(());
            }
            self.set_finalizer(key, false).await
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

    /// Writes only where the Secret, as it was seen last, is not as wanted; once more where it has changed since.
    async fn set_finalizer(&self, key: &Key, wanted: bool) -> Result<(), ShellError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &key.0);
        if let Some(seen) = self.holds.take_seen(key) {
            match self.write_finalizer(&secrets, key, seen, wanted).await {
                Err(error) if error.is_overtaken() => {}
                done => return done,
            }
        }
        // Without its content.
        let found = within("reading the BMC's Secret", secrets.get_metadata_opt(&key.1)).await?;
        let Some(found) = found else { return Ok(()) };
        self.write_finalizer(&secrets, key, found.metadata, wanted).await
    }

    async fn write_finalizer(
        &self,
        secrets: &Api<Secret>,
        key: &Key,
        seen: ObjectMeta,
        wanted: bool,
    ) -> Result<(), ShellError> {
        let mut finalizers = seen.finalizers.clone().unwrap_or_default();
        let is_ours = |finalizer: &String| finalizer == keys::SECRET_FINALIZER;
        // Nothing can be put on what is being deleted.
        let is_going = wanted && seen.deletion_timestamp.is_some();
        if finalizers.iter().any(is_ours) == wanted || is_going {
            self.holds.saw(&seen);
            return Ok(());
        }
        finalizers.retain(|finalizer| !is_ours(finalizer));
        if wanted {
            finalizers.push(keys::SECRET_FINALIZER.to_owned());
        }
        let before = seen.resource_version.unwrap_or_default();
        let change = Patch::Merge(json!({"metadata": {"resourceVersion": before, "finalizers": finalizers}}));
        let parameters = PatchParams::default();
        let call = secrets.patch_metadata(&key.1, &parameters, &change);
        let written = within("writing our finalizer on the BMC's Secret", call).await?;
        self.holds.saw(&written.metadata);
        let written = written.resource_version().unwrap_or_default();
        self.holds
            .note_written(format!("{}/{}", key.0, key.1), before, written);
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

/// What holding a Secret depends on. An annotation of kubectl may quote the whole Secret, so that none is kept.
pub(super) fn without_content(secret: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        namespace: secret.namespace.clone(),
        name: secret.name.clone(),
        resource_version: secret.resource_version.clone(),
        finalizers: secret.finalizers.clone(),
        deletion_timestamp: secret.deletion_timestamp.clone(),
        ..ObjectMeta::default()
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
