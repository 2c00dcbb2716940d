//! Tells people what a pass has found: events on the health check and on its Machines.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use remediator_api::views::MachineHealthCheck;
use remediator_core::checker::notice::{Notice, On};
use remediator_core::machine_api::MachineApi;

use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::state::{CheckKey, MhcController};
use crate::watch::caches::Guarded;

/// Tells people what they were not told in the pass before, without holding up the next one.
pub(super) fn tell(
    context: &Arc<MhcController>,
    key: &CheckKey,
    guarded: &Guarded<MachineHealthCheck>,
    gathered: Option<&NamespaceSnapshot>,
    notices: Vec<Notice>,
) {
    let news = context.checker.news(key, notices);
    let regarding = |notice: &Notice| match &notice.on {
        On::Check => Some(reference(context, key.api, guarded)),
        On::Machine(name) => Some(reference(context, key.api, gathered?.guarded(name)?)),
    };
    let news: Vec<(Notice, ObjectReference)> = news
        .into_iter()
        .filter_map(|notice| {
            let regarding = regarding(&notice)?;
            Some((notice, regarding))
        })
        .collect();
    if news.is_empty() {
        return;
    }
    let reporter = context.reporter.clone();
    tokio::spawn(async move {
        for (notice, regarding) in news {
            reporter.notice(&regarding, &notice).await;
        }
    });
}

/// For events about a check or a Machine, also about one that cannot be read.
pub(super) fn reference<K: Resource<DynamicType = ()>>(
    context: &MhcController,
    api: MachineApi,
    guarded: &Guarded<K>,
) -> ObjectReference {
    let reference = guarded.object_ref(&());
    match api {
        MachineApi::OpenShift => reference,
        MachineApi::ClusterApi => ObjectReference {
            api_version: context.sources.cluster_api.group_version(),
            ..reference
        },
    }
}
