//! What `clusterctl` makes of a release: it takes it as an add-on provider, and installs what kustomize renders.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use world::rendered::{by_name, text, tool};
use world::repository;

use crate::empty_folder;

const NAME: &str = "baremetal-remediator";
const LABEL: &str = "addon-baremetal-remediator";
const OVERLAY: &str = "deploy/overlays/cluster-api-metal3";
const METADATA: &str = "deploy/clusterctl/metadata.yaml";
/// Cluster-wide kinds that clusterctl does not know as such. It names a namespace, which the API server drops. Source:
/// cluster-api v1.14, cmd/clusterctl/internal/util/objs.go.
const TAKEN_FOR_NAMESPACED: [&str; 2] = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];

/// What clusterctl makes of a release with these files, in a folder of its own, without a network.
fn installed(folder: &Path, version: &str, components: &str, metadata: &str) -> Result<Vec<Value>> {
    let release = folder.join(LABEL).join(format!("v{version}"));
    fs::create_dir_all(&release)?;
    fs::write(release.join("addon-components.yaml"), components)?;
    fs::write(release.join("metadata.yaml"), metadata)?;
    let url = folder.join(LABEL).join("latest/addon-components.yaml");
    let provider = json!({"name": NAME, "type": "AddonProvider", "url": url});
    let settings = json!({"providers": [provider], "CLUSTERCTL_DISABLE_VERSIONCHECK": "true"});
    let file = folder.join("clusterctl.yaml");
    fs::write(&file, settings.to_string())?;
    let made = tool("clusterctl")?
        .args(["generate", "provider", "--addon", NAME, "--config"])
        .arg(&file)
        .env("XDG_CONFIG_HOME", folder)
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .output()?;
    if !made.status.success() {
        bail!("{}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(serde_saphyr::from_multiple(std::str::from_utf8(&made.stdout)?)?)
}

fn rendered() -> Result<String> {
    let rendered = tool("kustomize")?.args(["build", OVERLAY]).output()?;
    ensure!(rendered.status.success(), "{rendered:?}");
    Ok(String::from_utf8(rendered.stdout)?)
}

/// As in a release, which names a registry: without one, clusterctl refuses the image.
fn released(rendered: &str) -> Result<String> {
    let shipped = format!(" image: {NAME}:{}\n", env!("CARGO_PKG_VERSION"));
    ensure!(rendered.matches(&shipped).count() == 1, "no {shipped}");
    let image = format!(" image: registry.example.com/{NAME}@sha256:{}\n", "0".repeat(64));
    Ok(rendered.replace(&shipped, &image))
}

fn metadata() -> Result<String> {
    fs::read_to_string(repository().join(METADATA)).context(METADATA)
}

/// What reads a kind and writes it again leaves out, and adds.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                !field.is_null() && (name, &*field) != (&"nullable".to_owned(), &json!(false))
            });
            fields.values_mut().for_each(tidy);
        }
        Value::Array(entries) => entries.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// clusterctl makes these objects, with what it puts on them.
fn are_installed(folder: &str, rendered: &str) -> Result<()> {
    let components = released(rendered)?;
    let mut expected: Vec<Value> = serde_saphyr::from_multiple(&components)?;
    expected.retain(|object| !object.is_null());
    for object in &mut expected {
        let labels = &mut object["metadata"]["labels"];
        labels["cluster.x-k8s.io/provider"] = json!(LABEL);
        labels["clusterctl.cluster.x-k8s.io"] = json!("");
        if TAKEN_FOR_NAMESPACED.contains(&text(object, "/kind")) {
            object["metadata"]["namespace"] = json!("baremetal-remediator-system");
        }
        tidy(object);
    }
    let mut made = installed(
        &empty_folder(folder)?,
        env!("CARGO_PKG_VERSION"),
        &components,
        &metadata()?,
    )?;
    for object in &mut made {
        // Of no object that is yet to be made.
        object.as_object_mut().context("an object")?.remove("status");
        tidy(object);
    }
    let (made, expected) = (by_name(made)?, by_name(expected)?);
    assert!(expected.len() > 15, "{}", expected.len());
    for (name, object) in &expected {
        assert_eq!(made.get(name), Some(object), "{name}");
    }
    assert_eq!(made.len(), expected.len());
    Ok(())
}

#[test]
fn a_release_is_an_add_on_provider() -> Result<()> {
    are_installed("clusterctl-release", &rendered()?)
}

#[test]
fn the_file_for_any_cluster_is_taken_as_well() -> Result<()> {
    let file = fs::read_to_string(repository().join("deploy/install.yaml"))?;
    are_installed("clusterctl-install", &file)
}

#[test]
fn a_release_that_the_metadata_does_not_know_is_refused() -> Result<()> {
    let (shipped, metadata, version) = (rendered()?, metadata()?, env!("CARGO_PKG_VERSION"));
    let earlier = metadata.replace("v1beta2", "v1alpha4");
    assert_ne!(earlier, metadata);
    let components = released(&shipped)?;
    let cases = [
        ("9.9.9", &components, &metadata, "failed to find releases"),
        (version, &components, &earlier, "is only compatible with"),
        (version, &shipped, &metadata, "repository name must be canonical"),
    ];
    for (version, components, metadata, why) in cases {
        let folder = empty_folder("clusterctl-refused")?;
        let refused = installed(&folder, version, components, metadata).err();
        let refused = refused.map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(refused.contains(why), "{version}: {refused}");
    }
    Ok(())
}

#[test]
fn clusterctl_is_of_the_version_of_the_manager_that_stories_run_with() -> Result<()> {
    let read = |file: &str| fs::read_to_string(repository().join(file));
    let (programs, upstream) = (read("tests/programs/go.mod")?, read("tests/upstream/build.sh")?);
    let pinned = programs
        .lines()
        .find_map(|line| line.trim().strip_prefix("sigs.k8s.io/cluster-api "));
    let pinned = pinned.context("no version")?;
    assert!(upstream.contains(&format!("CLUSTER_API=(sigs.k8s.io/cluster-api {pinned} ")));
    Ok(())
}
