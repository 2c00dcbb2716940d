//! Objects of cluster-api-provider-metal3, as far as they are read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use remediator_api::keys;
use remediator_api::views::Machine;
use remediator_core::facts::Obstacle;
use remediator_core::metal3::{HOST_ANNOTATION, annotated_host};
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, list, present, within};

/// Versions of its kinds; the older one is deprecated.
/// Source: cluster-api-provider-metal3 `config/crd/bases`.
const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];

/// How long a kind that is not served is not asked for again, and how long one that was served before has to be
/// missing: while a definition is changed, its kind is not served for a moment.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// A kind that is read.
type Kind = &'static str;
const MACHINE: Kind = "Metal3Machine";
const REMEDIATION: Kind = "Metal3Remediation";

/// What is known of how a kind is served.
#[derive(Clone, Copy, Debug)]
enum Served {
    /// In this version.
    In(&'static str),
    /// In none, since it was in one.
    NotSince(Instant),
    /// In none, when it was asked for.
    NotAt(Instant),
}

/// The kinds of cluster-api-provider-metal3 at one API server. Copies share what was learned of them.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(super) client: Client,
    served: Arc<Mutex<BTreeMap<Kind, Served>>>,
}

impl Provider {
    /// Nothing is known yet.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            served: Arc::default(),
        }
    }

    /// The name of a Metal3Remediation of a Machine. None also where the kind is not served: OpenShift has metal3
    /// without it.
    pub(super) async fn remediation(&self, machine: &Machine) -> Result<Option<String>, ShellError> {
        let namespace = machine.namespace().unwrap_or_default();
        let of_machine = |api| async move {
            let wanted = |found: &DynamicObject| is_about(found, machine);
            let found = list("listing Metal3Remediations", &api, &ListParams::default(), wanted).await?;
            Ok(found.first().map(ResourceExt::name_any))
        };
        let found = self.served(REMEDIATION, &namespace, of_machine).await?;
        Ok(found.flatten())
    }

    /// The name of the BareMetalHost that a Metal3Machine has taken.
    pub(super) async fn host_name(
        &self,
        namespace: &str,
        metal3_machine: &str,
    ) -> Result<Result<String, Obstacle>, ShellError> {
        let name = format!("Metal3Machine {namespace}/{metal3_machine}");
        let get = |api: Api<DynamicObject>| async move {
            let read = async { present(api.get(metal3_machine).await, metal3_machine) };
            within("reading the Metal3Machine", read).await
        };
        let detail = match self.served(MACHINE, namespace, get).await {
            Ok(Some(Some(found))) => {
                let annotation = found.annotations().get(HOST_ANNOTATION);
                return Ok(annotated_host(metal3_machine, annotation.map(String::as_str)));
            }
            Ok(Some(None)) => {
                let detail = format!("{name} does not exist");
                return Ok(Err(Obstacle::new(Reason::HostNotFound, detail)));
            }
            Ok(None) => format!("{name} cannot be read: the API server does not serve Metal3Machines"),
            Err(error) if error.is_forbidden() => format!("this daemon's role does not let it read {name}"),
            Err(error) => return Err(error),
        };
        Ok(Err(Obstacle::new(Reason::HostUnreadable, detail)))
    }

    /// Reads objects of a kind in a version that is served; `None`: the server has no objects of this kind. An
    /// error of `read` that says "not found" has to be about the kind.
    async fn served<T, R>(
        &self,
        kind: Kind,
        namespace: &str,
        read: impl Fn(Api<DynamicObject>) -> R,
    ) -> Result<Option<T>, ShellError>
    where
        R: Future<Output = Result<T, ShellError>>,
    {
        let known = self.known(kind);
        let first = match known {
            Some(Served::NotAt(asked)) if asked.elapsed() < ASK_AGAIN => return Ok(None),
            Some(Served::In(version)) => Some(version),
            Some(Served::NotAt(_) | Served::NotSince(_)) | None => None,
        };
        let others = VERSIONS.into_iter().filter(|version| Some(*version) != first);
        for version in first.into_iter().chain(others) {
            let of_version = GroupVersionKind::gvk("infrastructure.cluster.x-k8s.io", version, kind);
            let resource = ApiResource::from_gvk(&of_version);
            let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
            match read(api).await {
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.learn(kind, Served::In(version));
                    return Ok(Some(read));
                }
            }
        }
        self.not_served(kind, known)
    }

    /// Notes that a kind is not served, which is an error when it was served a moment ago.
    fn not_served<T>(&self, kind: Kind, known: Option<Served>) -> Result<Option<T>, ShellError> {
        let now = Instant::now();
        let since = match known {
            None | Some(Served::NotAt(_)) => None,
            Some(Served::In(_)) => Some(now),
            Some(Served::NotSince(since)) => Some(since).filter(|since| since.elapsed() < ASK_AGAIN),
        };
        self.learn(kind, since.map_or(Served::NotAt(now), Served::NotSince));
        if since.is_none() {
            return Ok(None);
        }
        let detail = format!("the API server does not serve {kind} any more");
        Err(Obstacle::new(Reason::HostUnreadable, detail).into())
    }

    fn known(&self, kind: Kind) -> Option<Served> {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.get(&kind).copied()
    }

    fn learn(&self, kind: Kind, how: Served) {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.insert(kind, how);
    }
}

/// Whether a Metal3Remediation is about a Machine: its owner, where that is one. Cluster API names it after the
/// Machine; the node-healthcheck-operator after its Node, or has a name generated, with the Node in an annotation.
/// Source: cluster-api-provider-metal3 `controllers/metal3remediation_controller.go`; node-healthcheck-operator
/// `internal/controller/resources/manager.go` (`generateRemediationCR`).
fn is_about(remediation: &DynamicObject, machine: &Machine) -> bool {
    let (name, node) = (remediation.name_any(), machine.node_name());
    let checked = remediation.annotations().get(keys::CHECKED_NODE_ANNOTATION);
    let mut owners = remediation.owner_references().iter();
    let group = format!("{}/", machine.api().group());
    if let Some(owner) = owners.find(|owner| owner.kind == "Machine" && owner.api_version.starts_with(&group))
    {
        return machine.uid().as_ref() == Some(&owner.uid);
    }
    name == machine.name_any()
        || node.is_some_and(|node| name == node || checked.is_some_and(|checked| checked == node))
}

#[cfg(test)]
mod tests;
