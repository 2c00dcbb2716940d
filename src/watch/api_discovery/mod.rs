//! Which kinds of others the API server has: OpenShift's Machines, those of Cluster API, both, or none.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::channel::mpsc;
use futures::stream::BoxStream;
use futures::{SinkExt as _, Stream, StreamExt as _, TryStreamExt as _};
use kube::api::Api;
use kube::core::{DynamicObject, Status};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Client, Resource};
use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::{FromClusterApi, Version};
use remediator_core::machine_api::MachineApi;
use serde::de::DeserializeOwned;

use crate::api_call::{ShellError, present, within};
use crate::report::Loops;
use crate::watch::watching::WATCH_TIMEOUT;

/// How often a group that is not served is asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Events on their way from a watch to its cache.
const BUFFER: usize = 256;

/// The newest version that the server has of Cluster API, as it was seen last.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedClusterApi(Arc<Mutex<Option<Version>>>);

impl ServedClusterApi {
    pub(crate) fn version(&self) -> Option<Version> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn ask(&self, client: &Client) -> Result<Option<Version>, ShellError> {
        let version = cluster_api_version(client).await?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = version;
        Ok(version)
    }

    /// Waits until the server's newest version is another than this. An older one, or none, has to be seen twice:
    /// while definitions are replaced, a version may be missing for a moment.
    async fn is_another(&self, client: &Client, than: Version) {
        let mut is_lost = false;
        loop {
            tokio::time::sleep(ASK_AGAIN).await;
            match cluster_api_version(client).await {
                Ok(Some(version)) if version == than => is_lost = false,
                Ok(Some(version)) if version > than => return,
                Ok(_) if is_lost => return,
                Ok(_) => is_lost = true,
                Err(error) => warn_of(&error),
            }
        }
    }

    pub(crate) fn group_version(&self) -> Option<String> {
        self.version().map(Version::group_version)
    }

    /// The objects of a kind in all namespaces or in one; `None` where the server has none.
    pub(crate) fn api<K: FromClusterApi>(&self, client: &Client, namespace: Option<&str>) -> Option<Dynamic> {
        let version = self.version()?;
        let resource = version.resource::<K>();
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        Some(Dynamic { version, api })
    }
}

/// Objects of Cluster API in the version that the server has.
pub(crate) struct Dynamic {
    pub(crate) version: Version,
    pub(crate) api: Api<DynamicObject>,
}

impl Dynamic {
    pub(crate) async fn get<K: FromClusterApi>(&self, name: &str) -> Result<Option<Guarded<K>>, kube::Error> {
        let object = present(self.api.get(name).await, name)?;
        Ok(object.map(|object| K::read(self.version, object)))
    }

    pub(crate) async fn list<K: FromClusterApi>(&self) -> Result<Vec<Guarded<K>>, kube::Error> {
        let list = self.api.list(&kube::api::ListParams::default()).await?;
        let read = |object| K::read(self.version, object);
        Ok(list.items.into_iter().map(read).collect())
    }
}

/// The answer of a server that has no Cluster API, or not now.
pub(crate) fn not_served() -> kube::Error {
    kube::Error::Service("the API server does not serve cluster.x-k8s.io now".into())
}

pub(crate) async fn has_openshift_machines(client: &Client) -> Result<bool, ShellError> {
    serves_machines(client, &format!("{}/v1beta1", MachineApi::OpenShift.group())).await
}

async fn cluster_api_version(client: &Client) -> Result<Option<Version>, ShellError> {
    for version in Version::ALL {
        if serves_machines(client, &version.group_version()).await? {
            return Ok(Some(version));
        }
    }
    Ok(None)
}

async fn serves_machines(client: &Client, group_version: &str) -> Result<bool, ShellError> {
    let kinds = client.list_api_group_resources(group_version);
    match within("asking for served kinds", kinds).await {
        Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == "machines")),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// A watch of objects, until it has to be begun anew.
type Watch<K> = BoxStream<'static, watcher::Result<Event<Guarded<K>>>>;

/// Watches a kind of OpenShift where the server has it.
pub(crate) fn openshift<K>(
    client: &Client,
    name: &'static str,
    tasks: &mut Loops,
) -> impl Stream<Item = watcher::Result<Event<Guarded<K>>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static,
{
    let client = client.clone();
    where_served((tasks, name), move || {
        let client = client.clone();
        async move {
            let served = has_openshift_machines(&client).await?;
            let watch = || watch(Api::<Guarded<K>>::all(client), config()).boxed();
            Ok(served.then(watch))
        }
    })
}

/// Watches a kind of Cluster API where the server has it, in the newest version.
pub(crate) fn cluster_api<K>(
    client: &Client,
    served: &ServedClusterApi,
    name: &'static str,
    tasks: &mut Loops,
) -> impl Stream<Item = watcher::Result<Event<Guarded<K>>>> + use<K>
where
    K: FromClusterApi + Send + 'static,
{
    let (client, served) = (client.clone(), served.clone());
    where_served((tasks, name), move || {
        let (client, served) = (client.clone(), served.clone());
        async move {
            served.ask(&client).await?;
            let Some(Dynamic { version, api }) = served.api::<K>(&client, None) else {
                return Ok(None);
            };
            let events = watch(api, config()).map_ok(move |event| read(version, event));
            let another = async move { served.is_another(&client, version).await };
            Ok(Some(events.take_until(another).boxed()))
        }
    })
}

fn config() -> watcher::Config {
    watcher::Config::default().timeout(WATCH_TIMEOUT)
}

fn read<K: FromClusterApi>(version: Version, event: Event<DynamicObject>) -> Event<Guarded<K>> {
    match event {
        Event::Apply(object) => Event::Apply(K::read(version, object)),
        Event::Delete(object) => Event::Delete(K::read(version, object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(K::read(version, object)),
        Event::InitDone => Event::InitDone,
    }
}

/// Runs a watch where its kind is served, and anew when that has changed.
fn where_served<K, F, W>(
    (tasks, name): (&mut Loops, &'static str),
    open: F,
) -> impl Stream<Item = watcher::Result<Event<Guarded<K>>>> + use<K, F, W>
where
    K: Send + 'static,
    F: Fn() -> W + Send + 'static,
    W: Future<Output = Result<Option<Watch<K>>, ShellError>> + Send,
{
    let (mut events, changes) = mpsc::channel(BUFFER);
    tasks.spawn(name, async move {
        loop {
            match open().await {
                Ok(Some(watch)) => {
                    let is_served = forward(watch, &mut events).await;
                    if is_served {
                        continue;
                    }
                }
                Ok(None) => {}
                Err(error) => warn_of(&error),
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    });
    changes
}

fn warn_of(error: &ShellError) {
    tracing::warn!(error = %crate::report::chain(error), "cannot ask the API server what it serves");
}

/// Passes events on until the watch has to be begun anew; answers whether its kind is still served, in another version.
async fn forward<K>(watch: Watch<K>, events: &mut mpsc::Sender<watcher::Result<Event<Guarded<K>>>>) -> bool {
    let mut watch = std::pin::pin!(watch.default_backoff());
    while let Some(event) = watch.next().await {
        let gone = event.as_ref().is_err_and(is_not_served);
        if events.send(event).await.is_err() || gone {
            return false;
        }
    }
    true
}

/// The status with which the API server refused a watch, and the verb that it refused.
pub(super) fn answer(error: &watcher::Error) -> Option<(&Status, &'static str)> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => Some((status, "list")),
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => Some((status, "watch")),
        watcher::Error::WatchError(status) => Some((status, "watch")),
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => None,
    }
}

fn is_not_served(error: &watcher::Error) -> bool {
    answer(error).is_some_and(|(status, _)| status.code == 404)
}
