//! A cluster as tests see it: who one can be there, and with which client.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::audit::AuditLog;
use crate::pki::{Pki, private};

/// Whoever is in this group has its requests in the audit log, as service accounts have.
pub const AUDITED_GROUP: &str = "baremetal-remediator-under-test";

/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// How we reach the API server, and how we become somebody there.
pub(crate) enum Access {
    /// Our own control plane: we sign who we want to be.
    Own { server: String, pki: Box<Pki> },
    /// Somebody's cluster: we impersonate.
    Existing { kubeconfig: Box<Kubeconfig> },
}

/// Everything that is done through the API. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
    /// Stays as long as somebody has this or a clone of it.
    keeper: Option<Arc<dyn Any + Send + Sync>>,
}

struct Inner {
    access: Access,
    /// Where kubeconfigs are written.
    credentials: PathBuf,
    audit: Option<AuditLog>,
    /// Whether somebody else creates the `default` service account of a namespace.
    has_controllers: bool,
    next_file: AtomicU32,
}

impl Cluster {
    pub(crate) fn new(
        access: Access,
        credentials: &Path,
        audit: Option<AuditLog>,
        has_controllers: bool,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                access,
                credentials: credentials.to_owned(),
                audit,
                has_controllers,
                next_file: AtomicU32::new(0),
            }),
            keeper: None,
        }
    }

    /// The same cluster; `keeper` is dropped with the last clone of it.
    #[must_use]
    pub fn kept_by<K: Any + Send + Sync>(&self, keeper: Arc<K>) -> Self {
        Self {
            inner: self.inner.clone(),
            keeper: Some(keeper),
        }
    }

    /// The keeper, if it is of this type.
    pub fn keeper<K: Any + Send + Sync>(&self) -> Option<Arc<K>> {
        self.keeper.clone()?.downcast().ok()
    }

    /// Whether this is a handle of the same cluster.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether there is an audit log that can be read.
    pub fn is_audited(&self) -> bool {
        self.inner.audit.is_some()
    }

    /// A client that may do everything. It belongs to the runtime of the caller.
    pub async fn client(&self) -> anyhow::Result<Client> {
        client_from(self.admin_kubeconfig()?).await
    }

    /// A client that is `user` in `groups`.
    pub async fn client_as(&self, user: &str, groups: &[&str]) -> anyhow::Result<Client> {
        client_from(self.kubeconfig(user, groups)?).await
    }

    /// A kubeconfig file for a child process that is to be `user` in `groups`.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> anyhow::Result<PathBuf> {
        let kubeconfig = self.kubeconfig(user, groups)?;
        let text = text(&kubeconfig)?;
        let number = self.inner.next_file.fetch_add(1, Ordering::Relaxed);
        private(
            &self.inner.credentials,
            &format!("kubeconfig-{number}.json"),
            &text,
        )
    }

    /// The same for an administrator.
    pub fn admin_kubeconfig_file(&self) -> anyhow::Result<PathBuf> {
        self.kubeconfig_for("harness:admin", &[MASTERS])
    }

    pub(crate) fn audit(&self) -> anyhow::Result<&AuditLog> {
        self.inner
            .audit
            .as_ref()
            .context("an existing cluster's audit log is out of reach; unset USE_EXISTING_CLUSTER")
    }

    pub(crate) fn has_controllers(&self) -> bool {
        self.inner.has_controllers
    }

    fn admin_kubeconfig(&self) -> anyhow::Result<Kubeconfig> {
        match &self.inner.access {
            Access::Own { .. } => self.kubeconfig("harness:admin", &[MASTERS]),
            Access::Existing { kubeconfig } => Ok(Kubeconfig::clone(kubeconfig)),
        }
    }

    fn kubeconfig(&self, user: &str, groups: &[&str]) -> anyhow::Result<Kubeconfig> {
        match &self.inner.access {
            Access::Own { server, pki } => own(server, pki, user, groups),
            Access::Existing { kubeconfig } => Ok(impersonating(Kubeconfig::clone(kubeconfig), user, groups)),
        }
    }
}

/// A client as tests need it: it never retries behind our back, and no call hangs for ever.
pub(crate) async fn client_from(kubeconfig: Kubeconfig) -> anyhow::Result<Client> {
    // Fails only where a provider is installed already, which is what we want.
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .context("the kubeconfig cannot be used; check its current context")?;
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(30));
    config.write_timeout = Some(Duration::from_secs(30));
    // Longer than the minute between two bookmarks, so that a quiet watch is not taken for dead. Shorter than the 90 s
    // after which kube-apiserver closes a connection: what is sent then fails (`IdleTimeout` in
    // `staging/src/k8s.io/apiserver/pkg/server/secure_serving.go`).
    config.read_timeout = Some(Duration::from_secs(75));
    config.reset_reader_on_write = true;
    Client::try_from(config).context("no client for this kubeconfig; check its certificates")
}

/// An administrator's client of our own server, before there is a [`Cluster`].
pub(crate) async fn admin_client(server: &str, pki: &Pki) -> anyhow::Result<Client> {
    client_from(own(server, pki, "harness:admin", &[MASTERS])?).await
}

/// An administrator's kubeconfig of our own server, as text for a child process.
pub(crate) fn admin_kubeconfig_text(server: &str, pki: &Pki, user: &str) -> anyhow::Result<String> {
    text(&own(server, pki, user, &[MASTERS])?)
}

/// JSON is YAML, and every reader of kubeconfigs takes it.
fn text(kubeconfig: &Kubeconfig) -> anyhow::Result<String> {
    serde_json::to_string_pretty(kubeconfig).context("a kubeconfig is plain data; check its users")
}

/// A kubeconfig for our own server. Who is in more than two groups does not fit in a certificate
/// (see `Pki::client`) and is impersonated; the audit log names both.
fn own(server: &str, pki: &Pki, user: &str, groups: &[&str]) -> anyhow::Result<Kubeconfig> {
    let signed = if groups.len() > 2 {
        pki.client("harness:impersonator", &[MASTERS])?
    } else {
        pki.client(user, groups)?
    };
    let value = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "harness",
        "clusters": [{"name": "harness", "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(&pki.ca_pem),
        }}],
        "users": [{"name": user, "user": {
            "client-certificate-data": STANDARD.encode(&signed.certificate),
            "client-key-data": STANDARD.encode(&signed.key),
        }}],
        "contexts": [{"name": "harness", "context": {"cluster": "harness", "user": user}}],
    });
    let kubeconfig = serde_json::from_value(value).context("a kubeconfig is plain data")?;
    Ok(if groups.len() > 2 {
        impersonating(kubeconfig, user, groups)
    } else {
        kubeconfig
    })
}

fn impersonating(mut kubeconfig: Kubeconfig, user: &str, groups: &[&str]) -> Kubeconfig {
    for named in &mut kubeconfig.auth_infos {
        if let Some(auth) = &mut named.auth_info {
            auth.impersonate = Some(user.to_owned());
            auth.impersonate_groups = Some(groups.iter().map(|group| (*group).to_owned()).collect());
        }
    }
    kubeconfig
}
