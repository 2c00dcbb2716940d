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
mod tests {
    use super::client;

    /// A kubeconfig with these lines under its cluster and its user.
    fn kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\n"
        )
    }

    #[tokio::test]
    async fn it_names_a_server_and_says_who_asks_and_nothing_else() {
        let server = "server: \"https://10.0.0.1:6443\"";
        for (cluster, user, refused) in [
            ("server: \"http://10.0.0.1\"", "token: t", "https://"),
            ("", "token: t", "https://"),
            (
                &format!("{server}, insecure-skip-tls-verify: true"),
                "token: t",
                "insecure-skip-tls-verify",
            ),
            (
                &format!("{server}, certificate-authority: /etc/passwd"),
                "token: t",
                "certificate-authority",
            ),
            (
                &format!("{server}, proxy-url: \"http://10.0.0.2\""),
                "token: t",
                "proxy-url",
            ),
            (
                server,
                "exec: {command: /bin/sh, apiVersion: client.authentication.k8s.io/v1}",
                "exec",
            ),
            (server, "auth-provider: {name: oidc, config: {}}", "auth-provider"),
            (server, "tokenFile: /etc/passwd", "tokenFile"),
            (server, "client-certificate: /etc/passwd", "client-certificate"),
            (server, "client-key: /etc/passwd", "client-key"),
            (
                server,
                "client-certificate-data: c2VjcmV0, client-key-data: c2VjcmV0",
                "cannot be",
            ),
        ] {
            let error = client(&kubeconfig(cluster, user)).await.err();
            let error = error.unwrap_or_else(|| panic!("accepted: {cluster} {user}"));
            assert!(error.contains(refused), "{error}");
            assert!(
                !error.contains("c2VjcmV0") && !error.contains("passwd"),
                "{error}"
            );
        }
        assert!(client("{").await.is_err());
        assert!(client(&kubeconfig(server, "token: t")).await.is_ok());
    }
}
