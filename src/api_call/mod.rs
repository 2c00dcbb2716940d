//! Calls to the API server: each with a deadline, none repeated behind our back.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use remediator_core::facts::Obstacle;
use serde::de::DeserializeOwned;

/// Where pods find the address of the API server's Service.
const SERVICE_VARIABLE: &str = "KUBERNETES_SERVICE_HOST";

/// The longest a call to the API server may take.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// Objects asked for at once, so that a list of a large cluster is never in memory as a whole.
const PAGE: u32 = 500;

/// Why a reconciliation stopped half way. It is tried again from what the world says then.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ShellError {
    #[error("the {object} changed in the meantime; nothing to do, it is read again")]
    Conflict { object: &'static str },
    /// The server refused or could not be reached.
    #[error("{call} failed; check the API server and this daemon's role")]
    Api {
        call: &'static str,
        #[source]
        source: Arc<kube::Error>,
    },
    #[error("{call} was not answered within {}s; check the API server", CALL_DEADLINE.as_secs())]
    Timeout { call: &'static str },
    /// A call that was made for several who needed it.
    #[error("{call} broke off; it is tried again, and the log says what went wrong")]
    Unanswered { call: &'static str },
    /// The cluster in which the call would have been made cannot be asked.
    #[error("{}", .0.for_people())]
    Unreachable(Obstacle),
    #[error(
        "the API server sent a {object} without {field}; check that deploy/crds is of this daemon's version"
    )]
    Incomplete {
        object: &'static str,
        field: &'static str,
    },
}

impl From<Obstacle> for ShellError {
    fn from(obstacle: Obstacle) -> Self {
        Self::Unreachable(obstacle)
    }
}

/// Awaits a call to the API server, at most [`CALL_DEADLINE`].
pub(crate) async fn within<T>(
    call: &'static str,
    future: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ShellError> {
    match tokio::time::timeout(CALL_DEADLINE, future).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(ShellError::Api {
            call,
            source: Arc::new(source),
        }),
        Err(_) => Err(ShellError::Timeout { call }),
    }
}

/// An object that was asked for by its name. It does not exist only if the server names it: one that does not serve its
/// kind, or not now, answers 404, too.
pub(crate) fn present<K>(answer: Result<K, kube::Error>, name: &str) -> Result<Option<K>, kube::Error> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if is_about(&status, name) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_about(status: &kube::core::Status, name: &str) -> bool {
    let details = status.details.as_ref();
    status.code == 404 && details.is_some_and(|details| details.name == name)
}

/// The objects of a kind, in a namespace or in all.
pub(crate) fn objects<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Lists objects page by page, [`PAGE`] at once or as many as are asked for, and keeps those that are wanted.
pub(crate) async fn list<K>(
    call: &'static str,
    api: &Api<K>,
    wanted: &ListParams,
    keep: impl Fn(&K) -> bool,
) -> Result<Vec<K>, ShellError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut kept = Vec::new();
    let look_at = |object| {
        if keep(&object) {
            kept.push(object);
        }
    };
    each(call, api, wanted, look_at).await?;
    Ok(kept)
}

/// Lists objects page by page, [`PAGE`] at once or as many as are asked for, and looks at each; none is kept. All
/// pages together have the time of one call.
///
/// # Errors
/// Also when the list went out of date before its last page (410); whoever looks, looks again.
pub(crate) async fn each<K>(
    call: &'static str,
    api: &Api<K>,
    wanted: &ListParams,
    mut look_at: impl FnMut(K),
) -> Result<(), ShellError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let pages = async {
        let mut ask = wanted.clone().limit(wanted.limit.unwrap_or(PAGE));
        loop {
            let page = api.list(&ask).await?;
            page.items.into_iter().for_each(&mut look_at);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => ask = ask.continue_token(&token),
                None => return Ok(()),
            }
        }
    };
    within(call, pages).await
}

impl ShellError {
    pub(crate) fn is_not_found(&self) -> bool {
        self.has_code(404)
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.has_code(403)
    }

    /// Whether the resourceVersion that the write named was not the present one.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. }) || self.has_code(409)
    }

    /// Whether somebody has written to the object or deleted it; that is looked at first.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.is_conflict() || self.is_not_found()
    }

    /// Whether the server definitely refused the call, for whatever reason.
    pub(crate) fn is_refusal(&self) -> bool {
        let is_refused = |code| (400..500).contains(&code) && code != 429;
        self.is_conflict() || self.status().is_some_and(|status| is_refused(status.code))
    }

    pub(crate) fn is_already_exists(&self) -> bool {
        self.status()
            .is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// The words of a server that answered with an error.
    pub(crate) fn said_by_the_server(&self) -> Option<&str> {
        self.status().map(|status| status.message.as_str())
    }

    fn status(&self) -> Option<&kube::core::Status> {
        let Self::Api { source, .. } = self else {
            return None;
        };
        let kube::Error::Api(status) = source.as_ref() else {
            return None;
        };
        Some(status)
    }

    fn has_code(&self, code: u16) -> bool {
        self.status().is_some_and(|status| status.code == code)
    }
}

/// A client that never repeats a call by itself, for a repeated write could come minutes late; and the addresses of the
/// API server, as far as it is named by address, here or to pods.
/// It is of a kubeconfig and a context of it, or of those that are meant where none is named.
pub(crate) async fn client(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<(Client, Vec<IpAddr>), anyhow::Error> {
    let config = if kubeconfig.is_none() && context.is_none() {
        Config::infer().await?
    } else {
        let read = kubeconfig.map_or_else(Kubeconfig::read, Kubeconfig::read_from)?;
        let how = KubeConfigOptions {
            context: context.map(ToOwned::to_owned),
            ..KubeConfigOptions::default()
        };
        Config::from_custom_kubeconfig(read, &how).await?
    };
    let (config, addresses) = prepared(config);
    Ok((Client::try_from(config)?, addresses))
}

/// The same, of which a client is still to be made.
pub(crate) async fn config() -> Result<(Config, Vec<IpAddr>), anyhow::Error> {
    Ok(prepared(Config::infer().await?))
}

fn prepared(mut config: Config) -> (Config, Vec<IpAddr>) {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    let for_pods = std::env::var(SERVICE_VARIABLE).ok();
    let named = [config.cluster_url.host(), for_pods.as_deref()];
    let addresses = named.into_iter().flatten().filter_map(address).collect();
    (config, addresses)
}

fn address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests;
