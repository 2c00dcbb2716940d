//! What has to be there before anything begins: the kinds that are watched, with every field that is written.

use std::time::Duration;

use kube::{Api, Client};
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::cluster_api::Version;
use remediator_api::{GROUP, RemediationPolicy};

use crate::api_call;
use crate::clusters::node_cluster::supports_out_of_service;
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::caches::Served;
use crate::watch::domain_label::DomainLabel;
use crate::watch::{api_discovery, served_schema};

/// How often a group of kinds that is not served yet is asked for again.
const SERVED_RECHECK: Duration = Duration::from_secs(5);

/// Waits until our kinds are served; learns what the server supports.
pub(crate) async fn prepare(client: &Client) -> anyhow::Result<bool> {
    let group = format!("{GROUP}/v1alpha1");
    let mut told = false;
    loop {
        match api_call::within("asking for served kinds", client.list_api_group_resources(&group)).await {
            Ok(_) => break,
            Err(error) if error.is_not_found() => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(%group, "not served yet; install its CustomResourceDefinitions");
                }
            }
            Err(error) => {
                tracing::warn!(%group, error = %crate::report::chain(&error), "cannot ask the API server");
            }
        }
        tokio::time::sleep(SERVED_RECHECK).await;
    }
    wait_for_our_fields(client).await;
    let version = api_call::within("asking for the server's version", client.apiserver_version()).await?;
    Ok(supports_out_of_service(&version.major, &version.minor))
}

/// Which kinds of others there are at the start: they are listed before anything is decided. Others are
/// watched as soon as they are served.
pub(crate) async fn what_is_served(client: &Client, cluster_api: &ServedClusterApi) -> Served {
    loop {
        let asked = tokio::try_join!(
            api_discovery::has_openshift_machines(client),
            cluster_api.ask(client)
        );
        match asked {
            Ok((openshift, version)) => {
                let version = version.map(Version::as_str);
                tracing::info!(
                    openshift,
                    cluster_api = version,
                    "kinds of Machines that are served"
                );
                return Served {
                    openshift,
                    cluster_api: version.is_some(),
                };
            }
            Err(error) => {
                tracing::warn!(error = %crate::report::chain(&error), "cannot ask the API server what it serves");
            }
        }
        tokio::time::sleep(SERVED_RECHECK).await;
    }
}

/// Which label names failure domains, by the policy that there is at the start. Hosts that are off do not wait for it.
pub(crate) async fn domain_label(client: &Client) -> DomainLabel {
    let policies = Api::<Guarded<RemediationPolicy>>::all(client.clone());
    match api_call::within("reading the RemediationPolicy", policies.get_opt(POLICY_NAME)).await {
        Ok(policy) => DomainLabel::of(policy.as_ref()),
        Err(error) => {
            tracing::warn!(error = %crate::report::chain(&error), "cannot read the RemediationPolicy");
            DomainLabel::of(None)
        }
    }
}

/// Waits until the installed definitions of our kinds have every field that we write.
async fn wait_for_our_fields(client: &Client) {
    let mut told = Vec::new();
    loop {
        match served_schema::missing_fields(client).await {
            Ok(missing) if missing.is_empty() => return,
            Ok(missing) if missing != told => {
                tracing::warn!(
                    fields = missing.join(", "),
                    "the installed CustomResourceDefinitions are older than this daemon; apply deploy/crds"
                );
                told = missing;
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = %crate::report::chain(&error), "cannot read the served schemas");
            }
        }
        tokio::time::sleep(SERVED_RECHECK).await;
    }
}
