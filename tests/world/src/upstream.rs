//! Controllers of others that make our requests, run for real: `tests/upstream/build.sh` builds them.
//! Each runs as its own ServiceAccount with the roles that it is shipped with, so that what it may do
//! with our kinds comes from the role that we ship.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::await_condition;
use harness::process::{ChildDaemon, DaemonCommand};
use harness::{Cluster, Cursor};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;
use kube::api::Api;
use serde_json::{Value, json};

use super::World;
use super::install::{apply, read_documents};

/// An executable; beside it are the definitions and roles that it is shipped with.
#[derive(Debug, Clone)]
pub struct Upstream {
    program: PathBuf,
    name: String,
    folder: PathBuf,
}

const KUBEBUILDERS_ROLE: &str = "manager-role";

fn name_of(document: &Value) -> &str {
    document
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn named(mut document: Value, name: &str) -> Value {
    if let Some(place) = document.pointer_mut("/metadata/name") {
        *place = json!(name);
    }
    document
}

/// Who a controller is in the cluster.
#[derive(Debug, Clone, Copy)]
pub struct ServiceAccount {
    pub namespace: &'static str,
    pub name: &'static str,
}

impl ServiceAccount {
    /// Its name as a user.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl Upstream {
    /// The executable that a variable names. Where it names none, says that the scripted producer alone is
    /// tested, past what the test harness captures.
    pub fn named(variable: &str) -> Result<Option<Self>> {
        let Some(program) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
            say_once(variable);
            return Ok(None);
        };
        let program = std::path::absolute(PathBuf::from(program))?;
        let hint = format!(
            "{variable} is {}; unset it, or set what tests/upstream/build.sh prints",
            program.display()
        );
        ensure!(program.is_file(), "no such file: {hint}");
        let folder = program.parent().with_context(|| hint.clone())?.to_owned();
        let name = program.file_name().with_context(|| hint.clone())?;
        ensure!(
            folder.join("crds").is_dir() && folder.join("rbac").is_dir(),
            "the folders crds and rbac are not beside the executable: {hint}"
        );
        Ok(Some(Self {
            name: name.to_string_lossy().into_owned(),
            program,
            folder,
        }))
    }

    /// Where it is, with what it is shipped with.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Installs its definitions, over narrower ones of the same names, and its ClusterRoles.
    pub async fn install(&self, cluster: &Cluster) -> Result<()> {
        cluster.install_crds_from(self.folder.join("crds")).await?;
        let client = cluster.client().await?;
        for document in self.roles()? {
            match document.get("kind").and_then(Value::as_str) {
                Some("ClusterRole") => {
                    let role = self.role(name_of(&document));
                    let document = named(document, &role);
                    apply(&Api::<ClusterRole>::all(client.clone()), document).await?;
                }
                Some("ClusterRoleBinding") => {
                    apply(&Api::<ClusterRoleBinding>::all(client.clone()), document).await?;
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Gives it in a namespace what it is shipped with for the namespace that it runs in.
    pub async fn allow_in(&self, client: &Client, namespace: &str, account: ServiceAccount) -> Result<()> {
        for mut document in self.roles()? {
            if document.pointer("/metadata/namespace") != Some(&json!(account.namespace)) {
                continue;
            }
            if let Some(place) = document.pointer_mut("/metadata/namespace") {
                *place = json!(namespace);
            }
            match document.get("kind").and_then(Value::as_str) {
                Some("Role") => apply(&Api::<Role>::namespaced(client.clone(), namespace), document).await?,
                Some("RoleBinding") => {
                    let bindings = Api::<RoleBinding>::namespaced(client.clone(), namespace);
                    apply(&bindings, document).await?;
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Binds a ClusterRole to a controller, as what it is deployed with does under other names.
    pub async fn bind(&self, cluster: &Cluster, role: &str, account: ServiceAccount) -> Result<()> {
        let bindings = Api::<ClusterRoleBinding>::all(cluster.client().await?);
        let role = self.role(role);
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
        });
        apply(&bindings, binding).await
    }

    /// What a ClusterRole is called in the cluster. Several are shipped with the name that kubebuilder gives them, to
    /// which a kustomization puts a prefix.
    fn role(&self, shipped: &str) -> String {
        if shipped == KUBEBUILDERS_ROLE {
            format!("{}-{shipped}", self.name)
        } else {
            shipped.to_owned()
        }
    }

    fn roles(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("rbac"))? {
            all.extend(read_documents(&entry?.path())?);
        }
        Ok(all)
    }

    /// Puts a certificate where controller-runtime's webhook server looks for one in a temporary folder;
    /// answers that folder. Source: controller-runtime `pkg/webhook/server.go`.
    pub fn with_webhook_certificate(&self) -> Result<PathBuf> {
        let certificates = self.folder.join("k8s-webhook-server/serving-certs");
        std::fs::create_dir_all(&certificates)?;
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        std::fs::write(certificates.join("tls.crt"), signed.cert.pem())?;
        std::fs::write(certificates.join("tls.key"), signed.signing_key.serialize_pem())?;
        Ok(self.folder.clone())
    }

    /// Starts it as its ServiceAccount.
    pub fn start(
        &self,
        cluster: &Cluster,
        account: ServiceAccount,
        arguments: &[String],
        environment: &[(&str, OsString)],
    ) -> Result<ChildDaemon> {
        let groups = format!("system:serviceaccounts:{}", account.namespace);
        let kubeconfig = cluster.kubeconfig_for(&account.user(), &["system:serviceaccounts", &groups])?;
        let command = DaemonCommand::new(self.name.clone(), &self.program)
            .args(arguments)
            .env("KUBECONFIG", kubeconfig);
        environment
            .iter()
            .fold(command, |command, (key, value)| command.env(*key, value))
            .spawn()
    }
}

/// Waits until a ClusterRole that is put together from others holds our kinds.
pub async fn aggregated(cluster: &Cluster, role: &str) -> Result<()> {
    let cluster_roles = Api::<ClusterRole>::all(cluster.client().await?);
    let holds_our_kinds = |role: Option<&ClusterRole>| {
        let rules = role.and_then(|role| role.rules.as_deref()).unwrap_or_default();
        let mut groups = rules.iter().filter_map(|rule| rule.api_groups.as_ref()).flatten();
        groups.any(|group| group == "baremetal-remediator.io")
    };
    tokio::time::timeout(
        Duration::from_mins(2),
        await_condition(cluster_roles, role, holds_our_kinds),
    )
    .await
    .with_context(|| format!("ClusterRole {role} does not take up the one that we ship"))??;
    Ok(())
}

/// What a controller was forbidden in the group of our kinds, in a world's namespace or everywhere.
pub async fn forbidden(world: &World, account: ServiceAccount, since: Cursor) -> Result<Vec<String>> {
    let asked = world.cluster.audit_of(&account.user(), since).await?;
    let refused = asked.into_iter().filter(|event| {
        let place = &event.resource.namespace;
        event.resource.group == "baremetal-remediator.io"
            && (place.is_empty() || *place == world.namespace)
            && event.response_code == 403
    });
    Ok(refused
        .map(|event| format!("{} {:?}", event.verb, event.resource))
        .collect())
}

/// Once for each variable, although every test asks.
fn say_once(variable: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let Ok(mut said) = SAID.lock() else { return };
    if said.iter().any(|one| one == variable) {
        return;
    }
    said.push(variable.to_owned());
    let note =
        format!("{variable} is not set: tested with the scripted producer only (`make upstream` sets it)");
    writeln!(std::io::stderr(), "{note}").ok();
}
