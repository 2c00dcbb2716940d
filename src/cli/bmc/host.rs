//! A host, however it was named: by its name in a cluster, or by the address of its BMC.

use anyhow::bail;
use remediator_bmc::BmcTarget;
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::readiness::Expected;

use crate::cli::bmc::arguments::HostArguments;
use crate::cli::bmc::cluster::{Cluster, ClusterHost};
use crate::cli::bmc::direct;
use crate::clusters::node_cluster::NodeCluster;

pub(super) struct Host {
    pub(super) label: String,
    /// Address of the BMC, as far as it is known.
    pub(super) bmc: String,
    pub(super) way: Way,
}

/// How its BMC is found.
pub(super) enum Way {
    Address(Box<BmcTarget>),
    Cluster(Box<ClusterHost>),
}

impl Host {
    pub(super) async fn of(arguments: &HostArguments) -> anyhow::Result<Self> {
        match (&arguments.direct.address, &arguments.name) {
            (Some(address), _) => {
                let target = direct::target(&arguments.direct, address)?;
                Ok(Self {
                    label: target.address.host.to_string(),
                    bmc: target.address.to_string(),
                    way: Way::Address(Box::new(target)),
                })
            }
            (None, Some(name)) => {
                let cluster = Cluster::connect(arguments.namespace.as_deref(), false).await?;
                cluster.host(name).await
            }
            (None, None) => bail!("name a Machine, Node or BMCEndpoint, or a BMC by --address"),
        }
    }

    /// What a conversation with its BMC needs.
    ///
    /// # Errors
    /// The outer error is a failed call, the inner one what is wrong with host, Secret or trust settings.
    pub(super) async fn target(&self) -> anyhow::Result<Result<BmcTarget, Obstacle>> {
        match &self.way {
            Way::Address(target) => Ok(Ok(BmcTarget::clone(target))),
            Way::Cluster(host) => host.target().await,
        }
    }

    pub(super) fn in_cluster(&self) -> Option<&ClusterHost> {
        match &self.way {
            Way::Address(_) => None,
            Way::Cluster(host) => Some(host),
        }
    }

    /// Whose host the BMC has to be of.
    pub(super) fn expected(&self) -> Expected<'_> {
        match &self.way {
            Way::Address(_) => Expected::Anybody,
            Way::Cluster(host) => host.subject.expected(),
        }
    }

    /// System UUID that a person stated.
    pub(super) fn stated_uuid(&self) -> Option<SystemUuid> {
        match &self.way {
            Way::Address(target) => target.expected_uuid.clone(),
            Way::Cluster(host) => host.stated_uuid(),
        }
    }

    /// Its Node, if that is at work, and where it is.
    pub(super) fn ready_node(&self) -> Option<(NodeCluster, &str)> {
        let host = self.in_cluster()?;
        host.subject.ready_node(&host.cluster.sources)
    }
}
