//! Secrets in use are held against deletion, where the daemon's role permits that: by a finalizer of ours, while a host
//! may be off because of us. Nothing depends on it and nothing waits for it: a Secret that is gone is told of, and looked
//! for again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use remediator_api::target_ref::to_bring_back;
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::journal::Journal;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::api_call::{ShellError, list, within};
use crate::bmc_access::BmcAccess;

/// The longest that one try to let a Secret go may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// How often it is tried to hold a Secret in a phase, and to let it go before the remediation ends without it.
const TRIES: u32 = 3;

/// Between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// How soon it is tried again what the role did not permit.
const REFUSED_FOR: Duration = Duration::from_mins(10);

/// Namespace and name of a Secret.
type Key = (String, String);

/// A Secret, and the UID of the remediation for which it is held.
type Claim = (Key, String);

/// What this process knows of the Secrets that it holds.
#[derive(Debug, Default)]
pub(crate) struct SecretHolds {
    /// For whom Secrets are held or about to be, with the beginning of the phase in which that began.
    claims: Mutex<BTreeMap<Claim, Option<Timestamp>>>,
    /// One at a time decides on a Secret and writes it.
    turns: Mutex<BTreeMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    /// Namespaces in which the role did not permit it, and when that was.
    refused: Mutex<BTreeMap<String, Instant>>,
    /// The version of a Secret that our own write made, and which content that is.
    same_content: Mutex<BTreeMap<String, (String, String)>>,
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

    /// Answers whether that is new in this phase of the remediation.
    fn claim(&self, claim: &Claim, phase_started: Option<Timestamp>) -> bool {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.insert(claim.clone(), phase_started) != Some(phase_started)
    }

    fn is_claimed(&self, claim: &Claim) -> bool {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.contains_key(claim)
    }

    fn disclaim(&self, claim: &Claim) {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.remove(claim);
    }

    fn turn(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(key.clone()).or_default())
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
    /// Begins to hold the Secret of a remediation whose host may soon be off, once in each phase. Nothing waits for it.
    pub(crate) fn hold_secret(self: &Arc<Self>, remediation: &PowerCycleRemediation) {
        let Some(journal) = to_bring_back(remediation) else {
            return;
        };
        let Some(claim) = claim_of(remediation, journal) else {
            return;
        };
        if self.holds.is_refused(&claim.0.0) || !self.holds.claim(&claim, journal.phase_started) {
            return;
        }
        let access = Arc::clone(self);
        tokio::spawn(async move {
            for _ in 0..TRIES {
                if access.hold(&claim).await {
                    return;
                }
                sleep(PAUSE).await;
            }
        });
    }

    /// Answers whether there is nothing more to do to hold a Secret.
    async fn hold(&self, claim: &Claim) -> bool {
        let turn = self.holds.turn(&claim.0);
        let _turn = turn.lock().await;
        // The remediation may have ended in the meantime.
        if !self.holds.is_claimed(claim) || self.holds.is_refused(&claim.0.0) {
            return true;
        }
        match self.set_finalizer(&claim.0, None).await {
            Ok(()) => true,
            Err(error) => {
                self.tell(&claim.0, &error);
                false
            }
        }
    }

    /// Lets the Secret of a journal go that needs it no more, unless other remediations do. What cannot be done in a
    /// few tries is left.
    pub(crate) async fn let_go_of_secret(&self, remediation: &PowerCycleRemediation, journal: &Journal) {
        let Some(claim) = claim_of(remediation, journal) else {
            return;
        };
        self.holds.disclaim(&claim);
        let (key, uid) = claim;
        for _ in 0..TRIES {
            if self.let_go(&key, &uid).await {
                return;
            }
            sleep(PAUSE).await;
        }
        let (namespace, name) = key;
        tracing::warn!(
            namespace,
            secret = name,
            "our finalizer may stay on a Secret that no remediation needs; take {} off it if it is in the way",
            keys::SECRET_FINALIZER
        );
    }

    /// The same, in a task of its own, of the Secret before where a journal names another now.
    pub(crate) fn let_go_of_former(
        self: &Arc<Self>,
        remediation: &PowerCycleRemediation,
        before: &Journal,
        after: &Journal,
    ) {
        if !is_another(secret_in(before), secret_in(after)) {
            return;
        }
        let (access, remediation, before) = (Arc::clone(self), remediation.clone(), before.clone());
        tokio::spawn(async move { access.let_go_of_secret(&remediation, &before).await });
    }

    /// Lets a Secret go that was found to be held, unless a remediation needs it: whoever held it is gone.
    pub(super) async fn let_go_if_unneeded(&self, namespace: &str, name: &str) {
        self.let_go(&(namespace.to_owned(), name.to_owned()), "").await;
    }

    /// Answers whether there is nothing more to do about a Secret for the remediation of this UID.
    async fn let_go(&self, key: &Key, uid: &str) -> bool {
        if self.holds.is_refused(&key.0) {
            return true;
        }
        let turn = self.holds.turn(key);
        let let_go = async {
            let _turn = turn.lock().await;
            self.set_finalizer(key, Some(uid)).await
        };
        match timeout(DEADLINE, let_go).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                self.tell(key, &error);
                false
            }
            Err(_) => false,
        }
    }

    /// Whether a remediation needs a Secret, by what the API server says now, other than the one of this UID.
    async fn is_needed(&self, key: &Key, ending: &str) -> Result<bool, ShellError> {
        let api = Api::<PowerCycleRemediation>::namespaced(self.client.clone(), &key.0);
        let needs = |one: &PowerCycleRemediation| needs(one, key, ending);
        let wanted = ListParams::default();
        let needing = list(
            "listing the remediations that need a Secret",
            &api,
            &wanted,
            needs,
        )
        .await?;
        Ok(!needing.is_empty())
    }

    /// Puts our finalizer on a Secret, or takes it off for the remediation that is `ending`; once more where it has
    /// changed meanwhile.
    async fn set_finalizer(&self, key: &Key, ending: Option<&str>) -> Result<(), ShellError> {
        match self.write_finalizer(key, ending).await {
            Err(error) if error.is_overtaken() => self.write_finalizer(key, ending).await,
            done => done,
        }
    }

    async fn write_finalizer(&self, key: &Key, ending: Option<&str>) -> Result<(), ShellError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &key.0);
        // Without its content.
        let found = within("reading the BMC's Secret", secrets.get_metadata_opt(&key.1)).await?;
        let Some(found) = found else { return Ok(()) };
        let is_ours = |finalizer: &String| finalizer == keys::SECRET_FINALIZER;
        let mut finalizers = found.finalizers().to_vec();
        let is_held = finalizers.iter().any(is_ours);
        match ending {
            // Nothing can be put on what is being deleted.
            None if is_held || found.metadata.deletion_timestamp.is_some() => return Ok(()),
            None => finalizers.push(keys::SECRET_FINALIZER.to_owned()),
            Some(ending) if !is_held || self.is_needed(key, ending).await? => return Ok(()),
            Some(_) => finalizers.retain(|finalizer| !is_ours(finalizer)),
        }
        let before = found.resource_version().unwrap_or_default();
        let change = Patch::Merge(json!({"metadata": {"resourceVersion": before, "finalizers": finalizers}}));
        let parameters = PatchParams::default();
        let call = secrets.patch_metadata(&key.1, &parameters, &change);
        let written = within("writing our finalizer on the BMC's Secret", call).await?;
        let written = written.resource_version().unwrap_or_default();
        self.holds
            .note_written(format!("{}/{}", key.0, key.1), before, written);
        Ok(())
    }

    fn tell(&self, (namespace, name): &Key, error: &ShellError) {
        if !error.is_forbidden() {
            let error = crate::report::chain(error);
            tracing::info!(
                namespace,
                secret = name,
                error,
                "our finalizer on a Secret could not be written"
            );
        } else if self.holds.note_refused(namespace) {
            tracing::info!(
                namespace,
                "the role does not let Secrets of BMCs be held against deletion while a host is off; apply \
                 per-namespace/bmc-secrets-held in the namespace to have that"
            );
        }
    }
}

/// The Secret by which the BMC of a journal's host is reached, whatever became of the attempt.
fn secret_in(journal: &Journal) -> Option<&str> {
    Some(&journal.subject.as_ref()?.route.as_ref()?.secret)
}

fn is_another(before: Option<&str>, after: Option<&str>) -> bool {
    before.is_some() && before != after
}

fn claim_of(remediation: &PowerCycleRemediation, journal: &Journal) -> Option<Claim> {
    let key = (remediation.namespace()?, secret_in(journal)?.to_owned());
    Some((key, remediation.uid()?))
}

/// Whether a remediation needs a Secret. The one that is ending does not.
fn needs(remediation: &PowerCycleRemediation, (namespace, name): &Key, ending: &str) -> bool {
    remediation.uid().as_deref() != Some(ending)
        && remediation.namespace().as_ref() == Some(namespace)
        && to_bring_back(remediation).and_then(secret_in) == Some(name)
}

#[cfg(test)]
mod tests;
