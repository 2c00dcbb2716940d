//! The caches: one watch a kind, narrowed before it is stored, shared by everyone who reads it.

use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::Api;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{self, ObjectRef, ReflectHandle, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::ShellError;
pub(crate) use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{BMCEndpoint, PowerCycleRemediation, RemediationPolicy};

/// A silent watch is given up after this time (s) and begun anew: a stale cache is a danger here.
const WATCH_TIMEOUT: u32 = 60;

/// Objects on their way from the watch to a slow subscriber.
const BUFFER: usize = 256;

/// The caches of everything that is watched.
#[derive(Clone)]
pub(crate) struct Caches {
    pub(crate) remediations: Store<Guarded<PowerCycleRemediation>>,
    pub(crate) policies: Store<Guarded<RemediationPolicy>>,
    pub(crate) endpoints: Store<Guarded<BMCEndpoint>>,
    pub(crate) machines: Store<Guarded<Machine>>,
    pub(crate) health_checks: Store<Guarded<MachineHealthCheck>>,
    pub(crate) nodes: Store<Guarded<Node>>,
}

/// What has changed, for those who act on it.
pub(crate) struct Changes {
    pub(crate) remediations: ReflectHandle<Guarded<PowerCycleRemediation>>,
    pub(crate) finished: ReflectHandle<Guarded<PowerCycleRemediation>>,
    pub(crate) policies: ReflectHandle<Guarded<RemediationPolicy>>,
    pub(crate) new_policies: ReflectHandle<Guarded<RemediationPolicy>>,
    pub(crate) endpoints: ReflectHandle<Guarded<BMCEndpoint>>,
    pub(crate) new_endpoints: ReflectHandle<Guarded<BMCEndpoint>>,
    pub(crate) machines: ReflectHandle<Guarded<Machine>>,
    pub(crate) triggers: ReflectHandle<Guarded<Machine>>,
    pub(crate) health_checks: ReflectHandle<Guarded<MachineHealthCheck>>,
    /// Health checks once more, for the intake.
    pub(crate) vouching: ReflectHandle<Guarded<MachineHealthCheck>>,
    pub(crate) nodes: ReflectHandle<Guarded<Node>>,
    pub(crate) returning: ReflectHandle<Guarded<Node>>,
}

/// Starts all watches in `tasks`. `on_node` is told what the watch of Nodes says, before the cache is.
///
/// # Errors
/// When a store cannot be shared.
pub(crate) fn start(
    client: &Client,
    tasks: &mut JoinSet<&'static str>,
    on_node: impl FnMut(&watcher::Event<Guarded<Node>>) + Send + 'static,
) -> Result<(Caches, Changes), ShellError> {
    let (remediations, writer) = reflector::store_shared(BUFFER);
    let (remediation_changes, finished) = (subscribe(&writer)?, subscribe(&writer)?);
    drive(
        client,
        "PowerCycleRemediation",
        strip::<PowerCycleRemediation>,
        |_| {},
        writer,
        tasks,
    );

    let (policies, writer) = reflector::store_shared(BUFFER);
    let (policy_changes, new_policies) = (subscribe(&writer)?, subscribe(&writer)?);
    drive(
        client,
        "RemediationPolicy",
        strip::<RemediationPolicy>,
        |_| {},
        writer,
        tasks,
    );

    let (endpoints, writer) = reflector::store_shared(BUFFER);
    let (endpoint_changes, new_endpoints) = (subscribe(&writer)?, subscribe(&writer)?);
    drive(client, "BMCEndpoint", strip::<BMCEndpoint>, |_| {}, writer, tasks);

    let (machines, writer) = reflector::store_shared(BUFFER);
    let (machine_changes, triggers) = (subscribe(&writer)?, subscribe(&writer)?);
    drive(client, "Machine", Machine::narrow, |_| {}, writer, tasks);

    let (health_checks, writer) = reflector::store_shared(BUFFER);
    let (health_check_changes, vouching) = (subscribe(&writer)?, subscribe(&writer)?);
    drive(
        client,
        "MachineHealthCheck",
        MachineHealthCheck::narrow,
        |_| {},
        writer,
        tasks,
    );

    let (nodes, writer) = reflector::store_shared(BUFFER);
    let (node_changes, returning) = (subscribe(&writer)?, subscribe(&writer)?);
    drive(client, "Node", Node::narrow, on_node, writer, tasks);

    let caches = Caches {
        remediations,
        policies,
        endpoints,
        machines,
        health_checks,
        nodes,
    };
    let changes = Changes {
        remediations: remediation_changes,
        finished,
        policies: policy_changes,
        new_policies,
        endpoints: endpoint_changes,
        new_endpoints,
        machines: machine_changes,
        triggers,
        health_checks: health_check_changes,
        vouching,
        nodes: node_changes,
        returning,
    };
    Ok((caches, changes))
}

fn subscribe<K>(writer: &Writer<Guarded<K>>) -> Result<ReflectHandle<Guarded<K>>, ShellError>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    writer.subscribe().ok_or(ShellError::Incomplete {
        object: "cache",
        field: "its subscribers",
    })
}

/// Runs one watch for ever.
fn drive<K>(
    client: &Client,
    kind: &'static str,
    narrow: fn(&mut K),
    mut note: impl FnMut(&watcher::Event<Guarded<K>>) + Send + 'static,
    writer: Writer<Guarded<K>>,
    tasks: &mut JoinSet<&'static str>,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let config = watcher::Config::default().timeout(WATCH_TIMEOUT);
    let events = watcher(Api::<Guarded<K>>::all(client.clone()), config)
        .default_backoff()
        .modify(move |object| match &mut object.0 {
            Ok(object) => narrow(object),
            Err(invalid) => invalid.metadata.managed_fields = None,
        })
        .inspect_ok(move |event| note(event))
        .reflect_shared(writer);
    tasks.spawn(async move {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            if let Err(error) = event {
                tracing::warn!(kind, %error, "watch interrupted; it is begun anew");
            }
        }
        kind
    });
}

fn strip<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}

impl Caches {
    /// Waits until every watch has listed everything once.
    ///
    /// # Errors
    /// When a watch ended instead.
    pub(crate) async fn ready(&self) -> Result<(), reflector::store::WriterDropped> {
        self.remediations.wait_until_ready().await?;
        self.policies.wait_until_ready().await?;
        self.endpoints.wait_until_ready().await?;
        self.machines.wait_until_ready().await?;
        self.health_checks.wait_until_ready().await?;
        self.nodes.wait_until_ready().await
    }

    /// The remediations that can be read.
    pub(crate) fn readable_remediations(&self) -> ReadableRemediations {
        ReadableRemediations(self.remediations.state())
    }
}

/// The remediations that could be read at one moment, shared with the cache: each holds a journal and
/// its timeline, and all of them are looked through at every change.
pub(crate) struct ReadableRemediations(Vec<Arc<Guarded<PowerCycleRemediation>>>);

impl ReadableRemediations {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PowerCycleRemediation> {
        self.0.iter().filter_map(|guarded| guarded.0.as_ref().ok())
    }

    pub(crate) fn any(&self, wanted: impl FnMut(&PowerCycleRemediation) -> bool) -> bool {
        self.iter().any(wanted)
    }
}

/// The object of a name, as the cache has it.
pub(crate) fn find<K>(
    store: &Store<Guarded<K>>,
    namespace: Option<&str>,
    name: &str,
) -> Option<Arc<Guarded<K>>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let reference = ObjectRef::new(name);
    store.get(&match namespace {
        Some(namespace) => reference.within(namespace),
        None => reference,
    })
}
