//! Whose host it is about.

use anyhow::anyhow;
use kube::ResourceExt as _;
use remediator_api::target_ref::Producer;
use remediator_api::views::Machine;
use remediator_core::facts::Obstacle;
use remediator_core::strategy::HostControl;

use crate::bmc_access::host::ResolvedHost;
use crate::cli::plan::course::Asked;
use crate::cli::plan::nodes::Nodes;
use crate::cli::plan::world::{World, within_namespace};
use crate::metal3;
use crate::snapshot::host::{among_endpoints, reference};

/// Whose host it is about.
#[derive(Clone)]
pub(super) struct Subject<'a> {
    /// Where the remediation would be made.
    pub(super) namespace: String,
    pub(super) machine: Option<&'a Machine>,
    pub(super) node: Option<&'a str>,
}

impl Subject<'_> {
    /// The Nodes of the cluster that its Node is in.
    ///
    /// # Errors
    /// The obstacle, when that cluster cannot be asked.
    pub(super) fn nodes<'w>(&self, world: &'w World) -> Result<&'w Nodes, Obstacle> {
        self.machine
            .map_or(Ok(&world.own), |machine| world.nodes_of(machine))
    }

    /// Whom a request is about: that of a NodeHealthCheck is made where its template is, and there may be no
    /// Machine of the Node there.
    pub(super) fn of(self, asked: &Asked) -> Self {
        let namespace = match (&asked.by, &asked.template) {
            (Some(Producer::NodeHealthCheck(_)), Some(template)) => template.split('/').next(),
            (_, _) => None,
        };
        match namespace {
            Some(namespace) if namespace != self.namespace => Self {
                namespace: namespace.to_owned(),
                machine: None,
                ..self
            },
            Some(_) | None => self,
        }
    }
}

/// The host behind a Machine, or a Node without one.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the host.
pub(super) async fn host(
    world: &World,
    subject: &Subject<'_>,
    control: HostControl,
) -> anyhow::Result<Result<ResolvedHost, Obstacle>> {
    let endpoints = within_namespace(&world.endpoints, &subject.namespace);
    let Some(machine) = subject.machine else {
        return Ok(among_endpoints(endpoints, None, subject.node));
    };
    match reference(machine) {
        Err(obstacle) => Ok(Err(obstacle)),
        Ok(Some(reference)) => metal3::resolve_for_plan(&world.metal3, machine, &reference, control)
            .await
            .map_err(|error| anyhow!(crate::report::chain(&error))),
        Ok(None) => Ok(among_endpoints(
            endpoints,
            Some(&machine.name_any()),
            machine.node_name(),
        )),
    }
}
