//! From the Secret of a workload cluster to a client. Whoever wrote the Secret may not be allowed to run anything here:
//! it opens no file, starts no program and goes through no proxy.

use std::time::Duration;

use kube::Client;
use kube::config::{AuthInfo, Cluster, Config, KubeConfigOptions, Kubeconfig};

use crate::clusters::workload::bounded;
use crate::leadership::lead::Lead;

/// A connection that says nothing for so long is given up; the watch is begun anew every minute.
const READ_TIMEOUT: Duration = Duration::from_secs(75);

/// A client for the API server that a kubeconfig names, or what is wrong with it, without its content.
pub(super) async fn client(text: &str, lead: &Lead) -> Result<Client, String> {
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
    bounded::client(config, lead).map_err(|_| "its certificates or keys cannot be used".to_owned())
}

/// Refuses what would do more than name an API server and say who asks.
fn vet(kubeconfig: &Kubeconfig) -> Result<(), String> {
    let clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    let mut found = clusters.flat_map(of_cluster).chain(users.flat_map(of_user));
    match found.find(|(is_found, _)| *is_found) {
        Some((_, what)) => Err(format!("{what}, which is not accepted")),
        None => Ok(()),
    }
}

fn of_cluster(cluster: &Cluster) -> [(bool, &'static str); 4] {
    let server = cluster.server.as_deref().unwrap_or_default();
    let unverified = cluster.insecure_skip_tls_verify == Some(true);
    let ca_file = cluster.certificate_authority.is_some();
    [
        (
            !server.starts_with("https://"),
            "server does not begin with https://",
        ),
        (unverified, "insecure-skip-tls-verify is true"),
        (ca_file, "certificate-authority names a file"),
        (cluster.proxy_url.is_some(), "proxy-url is set"),
    ]
}

fn of_user(user: &AuthInfo) -> [(bool, &'static str); 5] {
    let certificate = user.client_certificate.is_some();
    [
        (user.exec.is_some(), "exec names a program"),
        (user.auth_provider.is_some(), "auth-provider is set"),
        (user.token_file.is_some(), "tokenFile names a file"),
        (certificate, "client-certificate names a file"),
        (user.client_key.is_some(), "client-key names a file"),
    ]
}

#[cfg(test)]
mod tests;
