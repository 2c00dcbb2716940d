//! The VolumeAttachments of Nodes. No field selects them by Node, so all of a cluster are listed: once for everyone who
//! looks at about the same time, however many hosts are being fenced.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use crate::api_call::{ShellError, each};
use crate::single_flight::SingleFlight;

/// What is listed.
const LISTING: &str = "listing the VolumeAttachments";

/// Distance of two lists of a cluster: a host that is alone looks no oftener, and others wait for the next list.
const SPACING: Duration = Duration::from_secs(2);

/// A volume that is attached to a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Of the VolumeAttachment.
    pub(crate) name: String,
    /// The PersistentVolume, where it is one.
    pub(crate) volume: Option<String>,
}

/// Looks at the VolumeAttachments of one cluster.
pub(crate) type AttachmentLooks = SingleFlight<String, Vec<Attached>>;

pub(crate) fn looks() -> AttachmentLooks {
    SingleFlight::new(LISTING).spaced(SPACING)
}

/// What is attached to a Node, by a list that is begun after this was asked.
pub(crate) async fn of_node(
    looks: &AttachmentLooks,
    client: &Client,
    node: &str,
) -> Result<Vec<Attached>, ShellError> {
    let api = Api::<VolumeAttachment>::all(client.clone());
    let list = move |nodes: Vec<String>| {
        let api = api.clone();
        async move {
            let mut found: BTreeMap<String, Vec<Attached>> =
                nodes.iter().map(|node| (node.clone(), Vec::new())).collect();
            let look_at = |attachment: VolumeAttachment| {
                if let Some(attached) = found.get_mut(&attachment.spec.node_name) {
                    attached.push(Attached {
                        name: attachment.name_any(),
                        volume: attachment.spec.source.persistent_volume_name,
                    });
                }
            };
            each(LISTING, &api, &ListParams::default(), look_at).await?;
            let of_node = |node| found.get(node).cloned().unwrap_or_default();
            Ok(nodes.iter().map(of_node).collect())
        }
    };
    looks.ask(node.to_owned(), list).await
}

#[cfg(test)]
mod tests;
