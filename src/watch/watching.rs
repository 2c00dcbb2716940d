//! One watch keeps one cache: narrowed before it is stored, begun anew when it falls silent.

use std::fmt::Debug;

use futures::{Stream, StreamExt as _, TryStreamExt as _};
use kube::api::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use remediator_api::guarded::Guarded;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::watch::change_events::ChangeHandler;
use crate::watch::denied_permissions::DeniedPermissions;
use crate::watch::indexed_store::Indexed;
use crate::watch::shared_cache::SharedCache;

/// A silent watch is given up after this time (s) and begun anew: a stale cache is a danger here.
pub(crate) const WATCH_TIMEOUT: u32 = 60;

/// Watches all objects of a kind that is always served.
pub(crate) fn watch_all<K>(
    client: &Client,
) -> impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let config = watcher::Config::default().timeout(WATCH_TIMEOUT);
    watcher(Api::<Guarded<K>>::all(client.clone()), config).default_backoff()
}

/// Keeps the cache of one of our kinds; `after` hears of what is watched when the cache has it.
pub(crate) fn drive_own<K>(
    (client, denied): (&Client, &DeniedPermissions),
    kind: &'static str,
    after: impl FnMut(&watcher::Event<Guarded<K>>) + Send + 'static,
    cache: SharedCache<K>,
    tasks: &mut JoinSet<&'static str>,
) where
    K: Indexed + DeserializeOwned + Debug + Send + Sync,
{
    drive(
        denied.noting(watch_all(client)),
        kind,
        strip::<K>,
        (|_: &_| {}, after),
        cache,
        tasks,
    );
}

pub(crate) fn listener<K: Resource>(mut wake: ChangeHandler<K>) -> impl FnMut(&watcher::Event<Guarded<K>>) {
    move |event| wake.note(event)
}

/// Keeps one cache for ever. Of what is watched one listener hears before the cache has it, the other after.
pub(crate) fn drive<K>(
    events: impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + Send + 'static,
    kind: &'static str,
    narrow: fn(&mut K),
    (mut before, mut after): (
        impl FnMut(&watcher::Event<Guarded<K>>) + Send + 'static,
        impl FnMut(&watcher::Event<Guarded<K>>) + Send + 'static,
    ),
    mut cache: SharedCache<K>,
    tasks: &mut JoinSet<&'static str>,
) where
    K: Indexed + Debug + Send + Sync,
{
    let events = events
        .modify(move |object| match &mut object.0 {
            Ok(object) => narrow(object),
            Err(invalid) => invalid.metadata.managed_fields = None,
        })
        .inspect_ok(move |event| before(event));
    tasks.spawn(async move {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    cache.apply(&event);
                    after(&event);
                }
                Err(error) => tracing::warn!(kind, %error, "watch interrupted; it is begun anew"),
            }
        }
        kind
    });
}

pub(crate) fn strip<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}
