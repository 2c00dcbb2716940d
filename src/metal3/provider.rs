//! Objects of cluster-api-provider-metal3, as far as they are read.

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};

use crate::api::views::Machine;
use crate::controller::{ShellError, within};
use crate::core::facts::Obstacle;
use crate::core::metal3::{HOST_ANNOTATION, annotated_host};
use crate::core::phase::Reason;

/// Versions of its kinds; the older one is deprecated.
/// Source: cluster-api-provider-metal3 `config/crd/bases`.
const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];

/// The Metal3Remediation of a Machine; it bears the Machine's name.
/// Source: cluster-api-provider-metal3 `controllers/metal3remediation_controller.go`.
///
/// # Errors
/// A failed call.
pub(super) async fn remediation(client: &Client, machine: &Machine) -> Result<Option<String>, ShellError> {
    let namespace = machine.namespace().unwrap_or_default();
    let call = "reading the Metal3Remediation";
    let found = get(client, call, "Metal3Remediation", &namespace, &machine.name_any()).await?;
    Ok(found.map(|found| found.name_any()))
}

/// The name of the BareMetalHost that a Metal3Machine has taken.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the Metal3Machine.
pub(super) async fn host_name(
    client: &Client,
    namespace: &str,
    metal3_machine: &str,
) -> Result<Result<String, Obstacle>, ShellError> {
    let call = "reading the Metal3Machine";
    match get(client, call, "Metal3Machine", namespace, metal3_machine).await {
        Ok(Some(found)) => {
            let annotation = found.annotations().get(HOST_ANNOTATION);
            Ok(annotated_host(metal3_machine, annotation.map(String::as_str)))
        }
        Ok(None) => {
            let detail = format!("Metal3Machine {namespace}/{metal3_machine} does not exist");
            Ok(Err(Obstacle::new(Reason::HostNotFound, detail)))
        }
        Err(error) if error.is_forbidden() => {
            let name = format!("Metal3Machine {namespace}/{metal3_machine}");
            let detail = format!("this daemon's role does not let it read {name}");
            Ok(Err(Obstacle::new(Reason::HostUnreadable, detail)))
        }
        Err(error) => Err(error),
    }
}

/// An object of a kind, in the newest version that is served; none also where the kind is not served:
/// OpenShift has metal3 without it.
async fn get(
    client: &Client,
    call: &'static str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Result<Option<DynamicObject>, ShellError> {
    for version in VERSIONS {
        let kind = GroupVersionKind::gvk("infrastructure.cluster.x-k8s.io", version, kind);
        let resource = ApiResource::from_gvk(&kind);
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &resource);
        match within(call, api.get(name)).await {
            Ok(found) => return Ok(Some(found)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use axum::extract::Path;
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    use axum::routing::get;
    use axum::{Json, Router};
    use serde_json::json;

    use super::*;
    use crate::test_server::served;

    /// A server that has a Metal3Remediation in one version, or in none.
    async fn server(version: Option<&'static str>) -> Client {
        let answer = move |Path((asked, name)): Path<(String, String)>| async move {
            if version != Some(asked.as_str()) {
                return (StatusCode::NOT_FOUND, "404 page not found\n").into_response();
            }
            let version = format!("infrastructure.cluster.x-k8s.io/{asked}");
            let metadata = json!({"name": name, "namespace": "metal"});
            Json(json!({"apiVersion": version, "kind": "Metal3Remediation", "metadata": metadata}))
                .into_response()
        };
        let path =
            "/apis/infrastructure.cluster.x-k8s.io/{version}/namespaces/metal/metal3remediations/{name}";
        let router = Router::new().route(path, get(answer));
        Client::try_from(served(router).await).unwrap()
    }

    #[tokio::test]
    async fn a_metal3_remediation_is_seen_in_whichever_version_it_is_served() {
        let machine: Machine =
            serde_json::from_value(json!({"metadata": {"name": "one", "namespace": "metal"}, "spec": {}}))
                .unwrap();
        for (version, found) in [
            (Some("v1beta1"), Some("one")),
            (Some("v1beta2"), Some("one")),
            (None, None),
        ] {
            let client = server(version).await;
            let seen = remediation(&client, &machine).await.unwrap();
            assert_eq!(seen.as_deref(), found, "{version:?}");
        }
    }
}
