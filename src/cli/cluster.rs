//! Which cluster and which namespace, by the options that kubectl has for them.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kube::Client;

use crate::api_call::client;

/// Options of every command that asks a cluster.
#[derive(Debug, Args)]
pub(super) struct ClusterArguments {
    /// The kubeconfig. Default: the files that KUBECONFIG names, else ~/.kube/config, else the ServiceAccount of the Pod.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of the objects. Default: that of the context.
    #[arg(short, long)]
    pub(super) namespace: Option<String>,
}

impl ClusterArguments {
    /// A client, and the addresses of the API server as far as it is named by address.
    ///
    /// # Errors
    /// When no kubeconfig can be used; the message says where one is looked for.
    pub(super) async fn connect(&self) -> anyhow::Result<(Client, Vec<IpAddr>)> {
        let configured = client(self.kubeconfig.as_deref(), self.context.as_deref()).await;
        configured
            .context("no usable cluster configuration; set KUBECONFIG, or name --kubeconfig and --context")
    }

    /// The namespace that is meant: the one that was named, else that of the context.
    pub(super) fn namespace<'a>(&'a self, client: &'a Client) -> &'a str {
        self.namespace.as_deref().unwrap_or(client.default_namespace())
    }
}
