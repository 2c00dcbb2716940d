//! The objects that the documents show: the API server takes each, and knows each of their fields.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that fails says so"
)]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kube::api::{Api, DynamicObject, Patch, PatchParams, ValidationDirective};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{self, Scope};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use serde_json::{Value, json};
use world::repository;

use super::Kinds;

/// What a reader fills in, and what passes for it.
const TO_FILL_IN: (&str, &str) = (
    "<SHA-256 of the BMC's certificate>",
    "4f:61:7c:2b:88:0d:1e:93:5a:c4:7f:e2:36:b9:08:dd:11:62:a5:f7:3c:90:4e:bb:27:d8:6f:15:e0:9a:43:cc",
);

fn documents(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            documents(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(())
}

/// The blocks of YAML that hold whole objects.
fn blocks(markdown: &str) -> Vec<String> {
    let (mut blocks, mut open) = (Vec::new(), None::<String>);
    for event in Parser::new(markdown) {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) = &event {
            open = (&**language == "yaml").then(String::new);
        } else if let (Event::Text(text), Some(block)) = (&event, &mut open) {
            block.push_str(text);
        } else if let Event::End(TagEnd::CodeBlock) = event {
            blocks.extend(open.take().filter(|block| block.starts_with("apiVersion:")));
        }
    }
    blocks
}

/// As `kubectl apply --server-side --dry-run=server --validate=strict` does it, in the namespace of the test.
async fn is_taken(kinds: &Kinds, mut object: Value) -> Result<()> {
    let types: TypeMeta = serde_json::from_value(object.clone())?;
    let kind = GroupVersionKind::try_from(&types)?;
    let (resource, capabilities) = discovery::pinned_kind(&kinds.client, &kind).await?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(kinds.client.clone(), &resource),
        Scope::Namespaced => {
            object["metadata"]["namespace"] = json!(kinds.namespace);
            Api::namespaced_with(kinds.client.clone(), &kinds.namespace, &resource)
        }
    };
    let parameters = PatchParams {
        dry_run: true,
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("a-reader").force()
    };
    let name = object["metadata"]["name"].as_str().context("no name")?.to_owned();
    let taken = api.patch(&name, &parameters, &Patch::Apply(object)).await;
    taken.map(drop).with_context(|| format!("{} {name}", types.kind))
}

#[tokio::test]
async fn every_object_in_the_documents_is_taken() -> world::Outcome {
    let kinds = Kinds::new().await?;
    let mut files = vec![repository().join("README.md")];
    documents(&repository().join("docs"), &mut files)?;
    let mut taken = 0_usize;
    for file in files {
        for block in blocks(&fs::read_to_string(&file)?) {
            let block = block.replace(TO_FILL_IN.0, TO_FILL_IN.1);
            let objects: Vec<Value> = serde_saphyr::from_multiple(&block)
                .with_context(|| format!("{}: {block}", file.display()))?;
            // An overlay is of kustomize; tests/static renders it.
            for object in objects.into_iter().filter(|one| one["kind"] != "Kustomization") {
                is_taken(&kinds, object)
                    .await
                    .with_context(|| file.display().to_string())?;
                taken += 1;
            }
        }
    }
    assert!(taken > 20, "only {taken} objects were found");
    Ok(())
}
