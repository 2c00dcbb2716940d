use super::client;
use crate::leadership::lead::Lead;

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
        let error = client(&kubeconfig(cluster, user), &Lead::alone()).await.err();
        let error = error.unwrap_or_else(|| panic!("accepted: {cluster} {user}"));
        assert!(error.contains(refused), "{error}");
        assert!(
            !error.contains("c2VjcmV0") && !error.contains("passwd"),
            "{error}"
        );
    }
    assert!(client("{", &Lead::alone()).await.is_err());
    assert!(
        client(&kubeconfig(server, "token: t"), &Lead::alone())
            .await
            .is_ok()
    );
}
