//! Installs custom resource definitions and waits until the server serves them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::await_condition;
use anyhow::{Context, bail, ensure};
use futures::future::try_join_all;
use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::conditions;
use kube::{Api, Client};
use serde_json::Value;

use crate::Cluster;

const ESTABLISHED_WITHIN: Duration = Duration::from_mins(2);

impl Cluster {
    /// Installs definitions that are already typed, for instance those of our own kinds.
    pub async fn install_crds(
        &self,
        definitions: impl IntoIterator<Item = CustomResourceDefinition>,
    ) -> anyhow::Result<()> {
        let documents = definitions
            .into_iter()
            .map(serde_json::to_value)
            .collect::<Result<Vec<_>, _>>()
            .context("a definition is plain data; check its default values")?;
        self.install_crd_documents(documents).await
    }

    /// Installs the definitions in a YAML file, or in all YAML files of a folder.
    pub async fn install_crds_from(&self, path: impl AsRef<Path>) -> anyhow::Result<()> {
        self.install_crd_documents(read(path.as_ref())?).await
    }

    /// Installs the definitions in a YAML text, one or several documents.
    pub async fn install_crd_yaml(&self, yaml: &str) -> anyhow::Result<()> {
        self.install_crd_documents(parse(yaml)?).await
    }

    pub(crate) async fn install_crd_documents(&self, documents: Vec<Value>) -> anyhow::Result<()> {
        let client = self.client().await?;
        try_join_all(documents.iter().map(|document| install(&client, document))).await?;
        Ok(())
    }
}

async fn install(client: &Client, document: &Value) -> anyhow::Result<()> {
    let name = crd_name(document)?;
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    definitions
        .patch(
            name,
            &PatchParams::apply("harness").force(),
            &Patch::Apply(document),
        )
        .await
        .with_context(|| format!("the server refuses CRD {name}; correct its schema"))?;
    let established = await_condition(definitions, name, conditions::is_crd_established());
    tokio::time::timeout(ESTABLISHED_WITHIN, established)
        .await
        .with_context(|| format!("CRD {name} was not established in time; look at its conditions"))?
        .with_context(|| format!("cannot watch CRD {name}"))?;
    tokio::time::timeout(ESTABLISHED_WITHIN, served(client, document))
        .await
        .with_context(|| format!("CRD {name} is established but not served; see the API server's log"))?
}

/// Established is said a moment before the handler has learned of it, and nothing tells when it has.
async fn served(client: &Client, document: &Value) -> anyhow::Result<()> {
    let text = |pointer: &str| {
        document
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    let versions = document
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for version in versions {
        if version.get("served").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let version = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let path = format!("/apis/{group}/{version}/{plural}?limit=1");
        loop {
            let request = Request::get(&path)
                .body(Vec::new())
                .context("a CRD's path is plain")?;
            match client.request::<Value>(request).await {
                Ok(_) => break,
                Err(kube::Error::Api(status)) if status.is_not_found() || status.code == 503 => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(error) => return Err(error).with_context(|| format!("cannot list {path}")),
            }
        }
    }
    Ok(())
}

/// The definitions in a file or folder.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Value>> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let unreadable = || format!("cannot read {}; check its owner", path.display());
        files = std::fs::read_dir(path)
            .with_context(unreadable)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<PathBuf>, _>>()
            .with_context(unreadable)?;
        files.retain(|file| file.extension().is_some_and(|end| end == "yaml" || end == "yml"));
        files.sort();
        ensure!(
            !files.is_empty(),
            "{} has no YAML file; name the folder of the CRDs",
            path.display()
        );
    }
    let mut documents = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}; check the path", file.display()))?;
        documents.extend(parse(&text).with_context(|| format!("in {}", file.display()))?);
    }
    Ok(documents)
}

/// The definitions in a text; anything else in it is an error, so that no typing slip is skipped.
pub(crate) fn parse(yaml: &str) -> anyhow::Result<Vec<Value>> {
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple(yaml).context("not YAML; correct the file")?;
    documents.retain(|document| !document.is_null());
    for document in &documents {
        crd_name(document)?;
    }
    Ok(documents)
}

/// The name of a definition.
pub(crate) fn crd_name(document: &Value) -> anyhow::Result<&str> {
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or("nothing");
    if kind != "CustomResourceDefinition" {
        bail!("expected a CustomResourceDefinition, found {kind}; keep other objects in other files");
    }
    document
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .context("a CustomResourceDefinition without a name; add metadata.name")
}
