//! Machines and what belongs to them, of both APIs, listed live: for commands that are run once.

use kube::Client;
use kube::api::ListParams;
use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::{Cluster, FromClusterApi};
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_core::machine_api::MachineApi;

use crate::api_call::{ShellError, list, objects, within};
use crate::watch::api_discovery::{ServedClusterApi, has_openshift_machines};

/// Which Machines the server has.
#[derive(Debug)]
pub(crate) struct MachineLists {
    openshift: bool,
    cluster_api: ServedClusterApi,
}

impl MachineLists {
    /// Asks the server.
    ///
    /// # Errors
    /// When it does not say.
    pub(crate) async fn ask(client: &Client) -> Result<Self, ShellError> {
        let cluster_api = ServedClusterApi::default();
        let (openshift, _) = tokio::try_join!(has_openshift_machines(client), cluster_api.ask(client))?;
        Ok(Self {
            openshift,
            cluster_api,
        })
    }

    /// Machines of both APIs, also those that cannot be read.
    ///
    /// # Errors
    /// When the server does not say.
    pub(crate) async fn machines(
        &self,
        client: &Client,
        namespace: Option<&str>,
    ) -> Result<Vec<(MachineApi, Guarded<Machine>)>, ShellError> {
        let call = "listing Machines";
        let of = |api: MachineApi| move |machine| (api, machine);
        let mut found = Vec::new();
        if self.openshift {
            let machines = of_openshift::<Machine>(client, call, namespace).await?;
            found.extend(machines.into_iter().map(of(MachineApi::OpenShift)));
        }
        let machines = self.of_cluster_api::<Machine>(client, call, namespace).await?;
        found.extend(machines.into_iter().map(of(MachineApi::ClusterApi)));
        Ok(found)
    }

    /// The health checks of one API.
    ///
    /// # Errors
    /// When the server does not say.
    pub(crate) async fn health_checks(
        &self,
        client: &Client,
        api: MachineApi,
        namespace: Option<&str>,
    ) -> Result<Vec<Guarded<MachineHealthCheck>>, ShellError> {
        let call = "listing MachineHealthChecks";
        match api {
            MachineApi::OpenShift if self.openshift => of_openshift(client, call, namespace).await,
            MachineApi::OpenShift => Ok(Vec::new()),
            MachineApi::ClusterApi => self.of_cluster_api(client, call, namespace).await,
        }
    }

    /// The Clusters of Cluster API.
    ///
    /// # Errors
    /// When the server does not say.
    pub(crate) async fn clusters(
        &self,
        client: &Client,
        namespace: Option<&str>,
    ) -> Result<Vec<Guarded<Cluster>>, ShellError> {
        self.of_cluster_api(client, "listing Clusters", namespace).await
    }

    async fn of_cluster_api<K: FromClusterApi>(
        &self,
        client: &Client,
        call: &'static str,
        namespace: Option<&str>,
    ) -> Result<Vec<Guarded<K>>, ShellError> {
        match self.cluster_api.api::<K>(client, namespace) {
            Some(objects) => within(call, objects.list()).await,
            None => Ok(Vec::new()),
        }
    }
}

async fn of_openshift<K>(
    client: &Client,
    call: &'static str,
    namespace: Option<&str>,
) -> Result<Vec<Guarded<K>>, ShellError>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    let api = objects::<Guarded<K>>(client, namespace);
    list(call, &api, &ListParams::default(), |_| true).await
}
