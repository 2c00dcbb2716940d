//! From the Secret of a workload cluster to a client. What stands in it was written by whoever may write
//! Secrets in that namespace, which may be somebody who may not run anything here: it opens no file, starts
//! no program and goes through no proxy.

use std::time::Duration;

use kube::Client;
use kube::config::{AuthInfo, Cluster, Config, KubeConfigOptions, Kubeconfig};

use crate::clusters::workload::bounded;

/// A connection that says nothing for so long is given up; the watch is begun anew every minute.
const READ_TIMEOUT: Duration = Duration::from_secs(75);

/// A client for the API server that a kubeconfig names.
///
/// # Errors
/// What is wrong with it, without its content.
pub(super) async fn client(text: &str) -> Result<Client, String> {
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| "it is no kubeconfig".to_owned())?;
    vet(&kubeconfig)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    // Its errors may quote what they could not read.
    let mut config = config.map_err(|_| "its certificates or keys cannot be read".to_owned())?;
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    config.read_timeout = Some(READ_TIMEOUT);
    config.proxy_url = None;
    bounded::client(config).map_err(|_| "its certificates or keys cannot be used".to_owned())
}

/// Refuses what would do more than name an API server and say who asks.
fn vet(kubeconfig: &Kubeconfig) -> Result<(), String> {
    for cluster in kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref())
    {
        vet_cluster(cluster)?;
    }
    for user in kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref())
    {
        vet_user(user)?;
    }
    Ok(())
}

fn vet_cluster(cluster: &Cluster) -> Result<(), String> {
    let secure = cluster
        .server
        .as_ref()
        .is_some_and(|server| server.starts_with("https://"));
    refuse(!secure, "server does not begin with https://")?;
    let unverified = cluster.insecure_skip_tls_verify == Some(true);
    refuse(unverified, "insecure-skip-tls-verify is true")?;
    refuse(
        cluster.certificate_authority.is_some(),
        "certificate-authority names a file",
    )?;
    refuse(cluster.proxy_url.is_some(), "proxy-url is set")
}

fn vet_user(user: &AuthInfo) -> Result<(), String> {
    refuse(user.exec.is_some(), "exec names a program")?;
    refuse(user.auth_provider.is_some(), "auth-provider is set")?;
    refuse(user.token_file.is_some(), "tokenFile names a file")?;
    refuse(
        user.client_certificate.is_some(),
        "client-certificate names a file",
    )?;
    refuse(user.client_key.is_some(), "client-key names a file")
}

fn refuse(refused: bool, what: &str) -> Result<(), String> {
    if refused {
        Err(format!("{what}, which is not accepted"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
