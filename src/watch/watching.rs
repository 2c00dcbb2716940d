//! One watch keeps one cache: narrowed before it is stored, begun anew when it falls silent.

use std::fmt::Debug;

use futures::{Stream, StreamExt as _};
use kube::api::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::FromClusterApi;
use serde::de::DeserializeOwned;

use crate::report::{Loops, Metrics};
use crate::watch::api_discovery::{self, ServedClusterApi};
use crate::watch::change_events::{self, ChangeSender, Judged};
use crate::watch::denied_permissions::DeniedPermissions;
use crate::watch::indexed_store::{Change, Indexed, IndexedStore};
use crate::watch::shared_cache::SharedCache;

/// A silent watch is given up after this time (s) and begun anew: a stale cache is a danger here.
pub(crate) const WATCH_TIMEOUT: u32 = 60;

/// Objects of which a page of a list has so many. A Node is some 15 KiB long, most of which is not kept.
const PAGE: u32 = 500;
pub(crate) const PAGE_OF_NODES: u32 = 100;

/// Watches all objects of a kind that is always served.
pub(crate) fn watch_all<K>(
    client: &Client,
    page: u32,
) -> impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let config = watcher::Config::default().timeout(WATCH_TIMEOUT).page_size(page);
    watcher(Api::<Guarded<K>>::all(client.clone()), config).default_backoff()
}

/// Starts watches in `tasks`.
pub(super) struct Watches<'a> {
    pub(super) client: &'a Client,
    pub(super) denied: &'a DeniedPermissions,
    pub(super) cluster_api: &'a ServedClusterApi,
    /// Where changes lead that concern the health checker.
    pub(super) changes: &'a ChangeSender,
    pub(super) metrics: &'a Metrics,
    pub(super) tasks: &'a mut Loops,
}

impl Watches<'_> {
    /// Of a kind of ours.
    pub(super) fn own<K: Judged + DeserializeOwned>(&mut self, kind: &'static str) -> IndexedStore<K> {
        self.judged(kind, watch_all(self.client, PAGE), strip)
    }

    /// Of a kind that the health checker has nothing to do with.
    pub(super) fn unjudged<K: Indexed + DeserializeOwned>(&mut self, kind: &'static str) -> IndexedStore<K> {
        self.keep(kind, watch_all(self.client, PAGE), strip, |_| {})
    }

    pub(super) fn openshift<K: Judged + DeserializeOwned>(
        &mut self,
        kind: &'static str,
        narrow: fn(&mut K),
    ) -> IndexedStore<K> {
        let events = api_discovery::openshift(self.client, kind, self.tasks);
        self.judged(kind, events, narrow)
    }

    pub(super) fn cluster_api<K: Judged + FromClusterApi>(
        &mut self,
        kind: &'static str,
        narrow: fn(&mut K),
    ) -> IndexedStore<K> {
        let events = api_discovery::cluster_api(self.client, self.cluster_api, kind, self.tasks);
        self.judged(kind, events, narrow)
    }

    /// Tells the health checker what has changed, when the cache has it.
    pub(super) fn judged<K: Judged>(
        &mut self,
        kind: &'static str,
        events: impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + Send + 'static,
        narrow: impl Fn(&mut K) + Send + 'static,
    ) -> IndexedStore<K> {
        let changes = self.changes.clone();
        let publish = move |news: &[_]| change_events::publish(&changes, None, news);
        self.keep(kind, events, narrow, publish)
    }

    /// Keeps one cache for ever; `publish` gets what is news when the cache has it.
    fn keep<K: Indexed>(
        &mut self,
        kind: &'static str,
        events: impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + Send + 'static,
        narrow: impl Fn(&mut K) + Send + 'static,
        publish: impl Fn(&[Change<K>]) + Send + 'static,
    ) -> IndexedStore<K> {
        let (store, mut cache) = SharedCache::new();
        let events = self.denied.noting(events);
        let events = events.modify(move |object| narrowed(object, &narrow));
        let measured = self.metrics.of_watch(kind);
        self.tasks.spawn(kind, async move {
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        measured.said();
                        publish(&cache.apply(event));
                    }
                    Err(error) => {
                        measured.broke_off();
                        tracing::warn!(kind, %error, "watch interrupted; it is begun anew");
                    }
                }
            }
        });
        store
    }
}

pub(crate) fn narrowed<K>(object: &mut Guarded<K>, narrow: &impl Fn(&mut K)) {
    match &mut object.0 {
        Ok(object) => narrow(object),
        Err(invalid) => invalid.metadata.managed_fields = None,
    }
}

fn strip<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}
