//! What deploy/ comes to: rendered by kustomize, as `kubectl apply -k` does it, and by Helm.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::install::{SYSTEM, repository};

/// The chart.
pub const CHART: &str = "deploy/charts/baremetal-remediator";

/// A program that `tests/programs/build.sh` makes.
pub fn tool(name: &str) -> Result<Command> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
    let program = target.join("programs").join(name);
    ensure!(
        program.is_file(),
        "{} is missing; run `make deploy-tools`",
        program.display()
    );
    let mut command = Command::new(program.canonicalize()?);
    command.current_dir(repository());
    Ok(command)
}

/// The documents of a kustomization, by its folder from the repository's.
pub fn kustomize(folder: impl AsRef<Path>) -> Result<Vec<Value>> {
    documents(tool("kustomize")?.arg("build").arg(folder.as_ref()))
}

/// The documents of the chart with these options, in the namespace of deploy/base unless they name another.
pub fn helm(options: &[&str]) -> Result<Vec<Value>> {
    let arguments = [
        "template",
        "a-release",
        CHART,
        "--include-crds",
        "--namespace",
        SYSTEM,
    ];
    documents(tool("helm")?.args(arguments).args(options))
}

fn documents(command: &mut Command) -> Result<Vec<Value>> {
    let rendered = command.output()?;
    if !rendered.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&rendered.stderr));
    }
    let mut documents: Vec<Value> = serde_saphyr::from_multiple(std::str::from_utf8(&rendered.stdout)?)?;
    documents.retain(|document| !document.is_null());
    Ok(documents)
}

/// The text of a field, by its JSON pointer; empty where there is none.
pub fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Documents by kind, namespace and name, each once.
pub fn by_name(documents: Vec<Value>) -> Result<BTreeMap<String, Value>> {
    let mut all = BTreeMap::new();
    for document in documents {
        let [kind, namespace, name] =
            ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(&document, pointer));
        let name = format!("{kind} {namespace}/{name}");
        if all.insert(name.clone(), document).is_some() {
            bail!("{name} is there twice");
        }
    }
    Ok(all)
}

/// The document of a kind and name.
pub fn find<'a>(documents: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let mut all = documents.iter();
    all.find(|one| text(one, "/kind") == kind && text(one, "/metadata/name") == name)
        .with_context(|| format!("there is no {kind} {name}"))
}
