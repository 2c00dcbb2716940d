//! Definitions of others, as if they were of another version.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

/// How long the API server may go by the definition as it was.
const PATIENCE: Duration = Duration::from_mins(1);

/// Lets a field of the spec be anything in a version. The API server does so a moment later.
pub async fn accept_anything(client: &Client, definition: &str, version: &str, field: &str) -> Result<()> {
    let kinds = Api::<CustomResourceDefinition>::all(client.clone());
    let versions = kinds.get(definition).await?.spec.versions;
    let mut versions = versions.iter();
    let index = versions.position(|one| one.name == version);
    let index = index.with_context(|| format!("{definition} has no {version}"))?;
    let field = format!("/spec/versions/{index}/schema/openAPIV3Schema/properties/spec/properties/{field}");
    let anything =
        json!([{"op": "replace", "path": field, "value": {"x-kubernetes-preserve-unknown-fields": true}}]);
    let patch = Patch::Json::<()>(serde_json::from_value(anything)?);
    kinds.patch(definition, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Writes something as soon as the API server takes it; while it changes the definition it serves the kind not
/// at all (404) or not yet (429).
pub async fn until_taken<T>(write: impl AsyncFn() -> kube::Result<T>) -> Result<T> {
    let taken = async {
        let mut pause = tokio::time::interval(Duration::from_millis(200));
        loop {
            pause.tick().await;
            match write().await {
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 422 | 429) => {}
                taken => return taken,
            }
        }
    };
    let taken = tokio::time::timeout(PATIENCE, taken).await;
    Ok(taken.context("the definition was not loosened")??)
}
