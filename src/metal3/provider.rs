//! Objects of cluster-api-provider-metal3, as far as they are read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};

use crate::api::views::Machine;
use crate::controller::{ShellError, present, within};
use crate::core::facts::Obstacle;
use crate::core::metal3::{HOST_ANNOTATION, annotated_host};
use crate::core::phase::Reason;

/// Versions of its kinds; the older one is deprecated.
/// Source: cluster-api-provider-metal3 `config/crd/bases`.
const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];

/// How long a kind that is not served is not asked for again; and for how long one that was served before has to
/// be missing: while a definition is changed, its kind is not served for a moment.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// The kinds that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Machine,
    Remediation,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Machine => "Metal3Machine",
            Self::Remediation => "Metal3Remediation",
        }
    }

    const fn call(self) -> &'static str {
        match self {
            Self::Machine => "reading the Metal3Machine",
            Self::Remediation => "reading the Metal3Remediation",
        }
    }
}

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

/// What became of a read.
enum Read {
    Found(Box<DynamicObject>),
    Absent,
    /// The server has no objects of this kind.
    KindNotServed,
}

/// The kinds of cluster-api-provider-metal3 at one API server, with what was learned of how they are served. Copies
/// share that.
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

    /// The Metal3Remediation of a Machine; it bears the Machine's name. None also where the kind is not served:
    /// OpenShift has metal3 without it.
    /// Source: cluster-api-provider-metal3 `controllers/metal3remediation_controller.go`.
    ///
    /// # Errors
    /// A failed call.
    pub(super) async fn remediation(&self, machine: &Machine) -> Result<Option<String>, ShellError> {
        let namespace = machine.namespace().unwrap_or_default();
        match self
            .get(Kind::Remediation, &namespace, &machine.name_any())
            .await?
        {
            Read::Found(found) => Ok(Some(found.name_any())),
            Read::Absent | Read::KindNotServed => Ok(None),
        }
    }

    /// The name of the BareMetalHost that a Metal3Machine has taken.
    ///
    /// # Errors
    /// The outer error is a failed call, the inner one what is wrong with the Metal3Machine.
    pub(super) async fn host_name(
        &self,
        namespace: &str,
        metal3_machine: &str,
    ) -> Result<Result<String, Obstacle>, ShellError> {
        let name = format!("Metal3Machine {namespace}/{metal3_machine}");
        let unreadable = |detail| Ok(Err(Obstacle::new(Reason::HostUnreadable, detail)));
        match self.get(Kind::Machine, namespace, metal3_machine).await {
            Ok(Read::Found(found)) => {
                let annotation = found.annotations().get(HOST_ANNOTATION);
                Ok(annotated_host(metal3_machine, annotation.map(String::as_str)))
            }
            Ok(Read::Absent) => {
                let detail = format!("{name} does not exist");
                Ok(Err(Obstacle::new(Reason::HostNotFound, detail)))
            }
            Ok(Read::KindNotServed) => unreadable(format!(
                "{name} cannot be read: the API server does not serve Metal3Machines"
            )),
            Err(error) if error.is_forbidden() => {
                unreadable(format!("this daemon's role does not let it read {name}"))
            }
            Err(error) => Err(error),
        }
    }

    /// An object of a kind, in a version that is served.
    async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Read, ShellError> {
        let known = self.known(kind);
        let first = match known {
            Some(Served::NotAt(asked)) if asked.elapsed() < ASK_AGAIN => return Ok(Read::KindNotServed),
            Some(Served::In(version)) => Some(version),
            Some(Served::NotAt(_) | Served::NotSince(_)) | None => None,
        };
        let others = VERSIONS.into_iter().filter(|version| Some(*version) != first);
        for version in first.into_iter().chain(others) {
            let of_version = GroupVersionKind::gvk("infrastructure.cluster.x-k8s.io", version, kind.name());
            let resource = ApiResource::from_gvk(&of_version);
            let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
            let read = async { present(api.get(name).await, name) };
            let read = match within(kind.call(), read).await {
                Ok(Some(found)) => Read::Found(Box::new(found)),
                Ok(None) => Read::Absent,
                // The server said so of the kind and not of the object.
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error),
            };
            self.learn(kind, Served::In(version));
            return Ok(read);
        }
        self.not_served(kind, known)
    }

    /// Notes that a kind is not served.
    ///
    /// # Errors
    /// When it was served a moment ago.
    fn not_served(&self, kind: Kind, known: Option<Served>) -> Result<Read, ShellError> {
        let now = Instant::now();
        let since = match known {
            None | Some(Served::NotAt(_)) => None,
            Some(Served::In(_)) => Some(now),
            Some(Served::NotSince(since)) => Some(since).filter(|since| since.elapsed() < ASK_AGAIN),
        };
        self.learn(kind, since.map_or(Served::NotAt(now), Served::NotSince));
        if since.is_none() {
            return Ok(Read::KindNotServed);
        }
        let detail = format!("the API server does not serve {} any more", kind.name());
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

#[cfg(test)]
mod tests;
