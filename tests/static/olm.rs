//! The bundle for the Operator Lifecycle Manager: it gives the daemon what deploy/ gives it, and the validator of those who
//! make that takes it.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use world::rendered::{by_name, find, kustomize, text, tool};
use world::{read_documents, repository};

use crate::{documents, empty_folder};

const NAME: &str = "baremetal-remediator";
const BUNDLE: &str = "deploy/olm";
/// Of the kinds that a bundle may hold, those that deploy/ has. Source: operator-registry v1.55.0,
/// pkg/lib/bundle/supported_resources.go.
const KINDS: [&str; 5] = [
    "ClusterRole",
    "ClusterServiceVersion",
    "CustomResourceDefinition",
    "PodDisruptionBudget",
    "Service",
];
/// What the Operator Lifecycle Manager makes of the ClusterServiceVersion, and what is applied beside the bundle.
const LEFT_OUT: [&str; 11] = [
    "Namespace /baremetal-remediator-system",
    "ServiceAccount /baremetal-remediator",
    "Deployment /baremetal-remediator",
    "ClusterRole /baremetal-remediator",
    "ClusterRoleBinding /baremetal-remediator",
    "Role /baremetal-remediator-leader-election",
    "RoleBinding /baremetal-remediator-leader-election",
    "Role /baremetal-remediator-bmc-credentials",
    "RoleBinding /baremetal-remediator-bmc-credentials",
    "ValidatingAdmissionPolicy /baremetal-remediator-confirm-off",
    "ValidatingAdmissionPolicyBinding /baremetal-remediator-confirm-off",
];

/// The objects of the bundle, one a file.
fn bundle() -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(repository().join(BUNDLE).join("manifests"))? {
        let path = entry?.path();
        let of_file = read_documents(&path)?;
        ensure!(of_file.len() == 1, "{}: only the first is read", path.display());
        objects.extend(of_file);
    }
    Ok(objects)
}

fn version_object() -> Result<Value> {
    let bundle = bundle()?;
    let mut versions = bundle
        .into_iter()
        .filter(|one| text(one, "/kind") == "ClusterServiceVersion");
    let version = versions.next().context("no ClusterServiceVersion")?;
    ensure!(versions.next().is_none(), "two of them");
    Ok(version)
}

#[test]
fn what_is_rendered_is_not_stale() -> Result<()> {
    let checked = Command::new(repository().join("tests/deploy/render.sh"))
        .arg("--check")
        .output()?;
    let said = [checked.stdout, checked.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(checked.status.success(), "{said}");
    Ok(())
}

#[test]
fn the_daemon_gets_the_rules_of_the_base_and_the_deployment_of_the_overlay() -> Result<()> {
    let version = version_object()?;
    let install = &version["spec"]["install"];
    let rules = |file: &str, kind: &str, name: &str| {
        let documents = read_documents(&repository().join("deploy/base").join(file))?;
        let rules = find(&documents, kind, name)?["rules"].clone();
        Ok::<_, anyhow::Error>(json!([{"serviceAccountName": NAME, "rules": rules}]))
    };
    assert_eq!(
        install["spec"]["clusterPermissions"],
        rules("rbac.yaml", "ClusterRole", NAME)?
    );
    let leader = rules("leader-election.yaml", "Role", &format!("{NAME}-leader-election"))?;
    assert_eq!(install["spec"]["permissions"], leader);

    let overlay = kustomize("deploy/overlays/openshift")?;
    let deployment = find(&overlay, "Deployment", NAME)?;
    let expected =
        json!([{"name": NAME, "label": deployment["metadata"]["labels"], "spec": deployment["spec"]}]);
    assert_eq!(install["spec"]["deployments"], expected);
    assert_eq!(install["strategy"], "deployment");
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(&version["spec"]["relatedImages"][0]["image"], image);
    assert_eq!(&version["metadata"]["annotations"]["containerImage"], image);
    Ok(())
}

/// By kind and name; what is of the daemon's namespace is put by the Operator Lifecycle Manager where that is.
fn without_namespace(mut documents: Vec<Value>) -> Result<BTreeMap<String, Value>> {
    for document in &mut documents {
        let metadata = document["metadata"].as_object_mut().context("metadata")?;
        metadata.remove("namespace");
    }
    by_name(documents)
}

#[test]
fn the_bundle_holds_what_is_installed_but_for_what_it_may_not() -> Result<()> {
    let mut expected = without_namespace(kustomize("deploy/overlays/openshift")?)?;
    for name in LEFT_OUT {
        assert!(expected.remove(name).is_some(), "{name} is not in the overlay");
    }
    let bundle = bundle()?;
    for one in &bundle {
        assert!(KINDS.contains(&text(one, "/kind")), "{one}");
        assert_eq!(text(one, "/metadata/namespace"), "");
    }
    let mut held = by_name(bundle)?;
    held.retain(|name, _| !name.starts_with("ClusterServiceVersion "));
    assert_eq!(held, expected);
    Ok(())
}

#[test]
fn every_kind_is_owned_described_and_has_an_example_that_the_documents_show() -> Result<()> {
    let (version, bundle) = (version_object()?, bundle()?);
    let mut definitions = BTreeMap::new();
    for one in bundle
        .iter()
        .filter(|one| text(one, "/kind") == "CustomResourceDefinition")
    {
        definitions.insert(text(one, "/metadata/name"), text(one, "/spec/names/kind"));
    }
    let owned = version["spec"]["customresourcedefinitions"]["owned"]
        .as_array()
        .context("owned")?;
    let mut names = BTreeMap::new();
    for one in owned {
        names.insert(text(one, "/name"), text(one, "/kind"));
        for field in ["displayName", "description"] {
            assert!(
                !one[field].as_str().unwrap_or_default().is_empty(),
                "{field} of {one}"
            );
        }
    }
    assert_eq!(names, definitions);

    // A story has a real API server take each object that the documents show.
    let examples = text(&version, "/metadata/annotations/alm-examples");
    let examples: Vec<Value> = serde_json::from_str(examples)?;
    let endpoint = find(&examples, "BMCEndpoint", "worker-7")?;
    let shown = documents::objects(text(endpoint, "/spec/tls/fingerprints/0"))?;
    for example in &examples {
        assert!(shown.contains(example), "no document shows {example}");
    }
    let kinds: BTreeSet<&str> = examples.iter().map(|one| text(one, "/kind")).collect();
    assert_eq!(kinds, definitions.into_values().collect());
    Ok(())
}

#[test]
fn the_bundle_is_of_the_version_of_the_program() -> Result<()> {
    let (version, program) = (version_object()?, env!("CARGO_PKG_VERSION"));
    assert_eq!(text(&version, "/metadata/name"), format!("{NAME}.v{program}"));
    assert_eq!(text(&version, "/spec/version"), program);
    let chart = read_documents(&repository().join(world::rendered::CHART).join("Chart.yaml"))?;
    let oldest = text(chart.first().context("a document")?, "/kubeVersion");
    let expected = format!(">={}-0", text(&version, "/spec/minKubeVersion"));
    assert_eq!(oldest, expected);
    Ok(())
}

#[test]
fn the_image_of_the_bundle_says_what_its_annotations_say() -> Result<()> {
    let folder = repository().join(BUNDLE);
    let annotations = read_documents(&folder.join("metadata/annotations.yaml"))?;
    let annotations = annotations.first().context("a document")?["annotations"].clone();
    let recipe = fs::read_to_string(folder.join("bundle.Containerfile"))?;
    let mut labels = serde_json::Map::new();
    for line in recipe.lines() {
        let line = line.trim_start_matches("LABEL").trim().trim_end_matches(" \\");
        if let Some((name, value)) = line.split_once('=') {
            labels.insert(name.to_owned(), json!(value));
        }
    }
    assert_eq!(Value::Object(labels), annotations);
    let judged = tool("hadolint")?
        .arg("deploy/olm/bundle.Containerfile")
        .output()?;
    assert!(
        judged.status.success(),
        "{}",
        String::from_utf8_lossy(&judged.stdout)
    );
    Ok(())
}

/// What the validator says of a bundle, a line each: it ends well whatever it finds.
fn verdict(checks: &str, bundle: &Path) -> Result<Vec<String>> {
    let judged = tool("operator-verify")?
        .args(["manifests", checks])
        .arg(bundle)
        .output()?;
    ensure!(judged.status.success(), "{judged:?}");
    let said = String::from_utf8([judged.stdout, judged.stderr].concat())?;
    Ok(said.lines().map(str::to_owned).collect())
}

#[test]
fn the_validator_finds_no_error_and_no_warning() -> Result<()> {
    let bundle = repository().join(BUNDLE);
    assert_eq!(verdict("--object_validate", &bundle)?, [""; 0]);
    // What a public catalog asks for as well. There is no icon, and that is no error.
    let mut said = verdict("--operatorhub_validate", &bundle)?;
    said.retain(|line| !line.contains("Icon not specified"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("validator is deprecated"), "{said:?}");
    Ok(())
}

#[test]
fn the_validator_notices_a_kind_that_is_not_owned_and_one_without_an_example() -> Result<()> {
    let place = empty_folder("spoilt-bundle")?;
    let copied = Command::new("cp")
        .arg("-r")
        .args([repository().join(BUNDLE).join("manifests"), place.clone()])
        .status()?;
    ensure!(copied.success(), "the bundle cannot be copied");
    let mut version = version_object()?;
    let owned = version
        .pointer_mut("/spec/customresourcedefinitions/owned")
        .and_then(Value::as_array_mut);
    owned.context("owned")?.remove(0);
    let file = format!("{}.clusterserviceversion.yaml", text(&version, "/metadata/name"));
    let file = place.join("manifests").join(file);
    ensure!(file.is_file(), "{}", file.display());
    // JSON is YAML.
    fs::write(&file, version.to_string())?;
    let said = verdict("--object_validate", &place)?;
    let is_error = |line: &String| line.contains("level=error") && line.contains("not defined in CSV");
    assert!(said.iter().any(is_error), "{said:?}");

    let mut version = version_object()?;
    version["metadata"]["annotations"]["alm-examples"] = json!("[]");
    fs::write(&file, version.to_string())?;
    let said = verdict("--object_validate", &place)?;
    assert!(said.iter().any(|line| line.contains("level=warning")), "{said:?}");
    Ok(())
}
