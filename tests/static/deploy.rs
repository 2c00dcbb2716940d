//! What `deploy` ships agrees with itself: overlays, components, the rendered file, the chart.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use world::rendered::{by_name, find, helm, kustomize, text, tool};
use world::{read_documents, repository};

const NAME: &str = "baremetal-remediator";

#[test]
fn the_file_that_is_shipped_is_what_kustomize_renders() -> Result<()> {
    let file = fs::read_to_string(repository().join("deploy/install.yaml"))?;
    let (first, rest) = file.split_once('\n').context("one line")?;
    assert_eq!(
        first,
        "# Generated from deploy/overlays/plain by `make manifests`. Do not edit."
    );
    let rendered = tool("kustomize")?
        .args(["build", "deploy/overlays/plain"])
        .output()?;
    assert!(
        rest.as_bytes() == rendered.stdout && !rendered.stdout.is_empty(),
        "deploy/install.yaml is out of date; run `make manifests`"
    );
    Ok(())
}

/// The folders in a folder of `deploy`.
fn folders(of: &str) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(repository().join("deploy").join(of))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

#[test]
fn components_are_components_and_what_is_of_one_namespace_names_none() -> Result<()> {
    let kind = |of: &str, name: &str| {
        let file = format!("deploy/{of}/{name}/kustomization.yaml");
        let documents = read_documents(&repository().join(file))?;
        Ok::<_, anyhow::Error>(text(documents.first().context("a document")?, "/kind").to_owned())
    };
    for name in folders("components")? {
        assert_eq!(kind("components", &name)?, "Component", "{name}");
        assert!(
            !kustomize(format!("deploy/components/{name}"))?.is_empty(),
            "{name}"
        );
    }
    for name in folders("per-namespace")? {
        assert_eq!(kind("per-namespace", &name)?, "Kustomization", "{name}");
        for document in kustomize(format!("deploy/per-namespace/{name}"))? {
            assert_eq!(text(&document, "/metadata/namespace"), "", "{name}");
        }
    }
    Ok(())
}

#[test]
fn the_guide_names_every_folder_and_the_version_of_kubernetes() -> Result<()> {
    let guide = fs::read_to_string(repository().join("docs/install.md"))?;
    for of in ["overlays", "components", "per-namespace"] {
        for folder in folders(of)? {
            let row = format!("| `deploy/{of}/{folder}` |");
            assert!(
                guide.contains(&row),
                "docs/install.md has no row of deploy/{of}/{folder}"
            );
        }
    }
    let chart = fs::read_to_string(repository().join("deploy/charts/baremetal-remediator/Chart.yaml"))?;
    let oldest = chart.lines().find_map(|line| {
        let version = line.strip_prefix("kubeVersion: \">=")?;
        version.strip_suffix(".0-0\"")
    });
    let needed = format!("needs Kubernetes {} or newer", oldest.context("no kubeVersion")?);
    assert!(guide.contains(&needed), "docs/install.md does not say: {needed}");
    Ok(())
}

/// A copy of `deploy` in a folder of its own, and beside it an overlay of this text, rendered.
fn overlay(name: &str, text: &str) -> Result<Vec<Value>> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(place.join("mine"))?;
    let copied = Command::new("cp")
        .arg("-r")
        .args([repository().join("deploy"), place.join("deploy")])
        .status()?;
    ensure!(copied.success(), "deploy cannot be copied");
    fs::write(place.join("mine/kustomization.yaml"), text)?;
    kustomize(place.join("mine"))
}

/// The blocks of YAML in a document.
fn blocks(document: &str) -> Vec<&str> {
    let begun = document.split("```yaml\n").skip(1);
    begun.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_overlay_that_the_guide_shows_is_one() -> Result<()> {
    let guide = fs::read_to_string(repository().join("docs/install.md"))?;
    let mut blocks = blocks(&guide).into_iter();
    let shown = blocks
        .find(|block| block.contains("kind: Kustomization"))
        .context("no overlay")?;
    let documents = overlay("of-the-guide", shown)?;
    let reaches = |name: &str| {
        let policy = find(&documents, "NetworkPolicy", name)?;
        let to = policy["spec"]["egress"][0]["to"].as_array().context("to")?;
        Ok::<_, anyhow::Error>(
            to.iter()
                .map(|one| text(one, "/ipBlock/cidr").to_owned())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(reaches("baremetal-remediator-bmcs")?, ["10.20.0.0/22"]);
    assert_eq!(
        reaches("baremetal-remediator-api-servers")?,
        ["10.96.0.1/32", "10.10.0.0/28"]
    );
    let image = "/spec/template/spec/containers/0/image";
    let image = text(find(&documents, "Deployment", NAME)?, image);
    assert_eq!(image, "registry.example.com/baremetal-remediator:0.1.0");
    let leases = find(&documents, "Role", "baremetal-remediator-node-leases")?;
    assert_eq!(text(leases, "/metadata/namespace"), "medik8s-leases");
    Ok(())
}

#[test]
fn pods_leave_the_user_to_the_platform_and_keep_their_probes_patient() -> Result<()> {
    let documents = read_documents(&repository().join("deploy/base/deployment.yaml"))?;
    let pod = &find(&documents, "Deployment", NAME)?["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    // What SecurityContextConstraints restricted-v2 of OpenShift allows: no user, no group, no more than this.
    let seccomp = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    assert_eq!(pod["securityContext"], seccomp);
    let nothing = json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(container["securityContext"], nothing);
    let probe = |name: &str| {
        let probe = &container[name];
        (
            text(probe, "/httpGet/path"),
            probe["periodSeconds"].clone(),
            probe["failureThreshold"].clone(),
        )
    };
    assert_eq!(probe("livenessProbe"), ("/livez", json!(10), json!(3)));
    assert_eq!(probe("readinessProbe"), ("/readyz", json!(5), Value::Null));
    Ok(())
}

/// What is different, by JSON pointer.
fn differences(at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let [one, other] = [left, right].map(|map| map.get(key).unwrap_or(&Value::Null));
                differences(&format!("{at}/{key}"), one, other, found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (one, other)) in left.iter().zip(right).enumerate() {
                differences(&format!("{at}/{index}"), one, other, found);
            }
        }
        // Kustomize writes 10.0 as 10.
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
        _ if one == other => {}
        _ => found.push(format!("{at}: {one} and {other}")),
    }
}

/// The chart makes what kustomize does, but for the namespace.
fn chart_is(options: &[&str], documents: Vec<Value>) -> Result<()> {
    let mut expected = by_name(documents)?;
    expected.retain(|name, _| !name.starts_with("Namespace "));
    let made = by_name(helm(options)?)?;
    let names =
        |all: &std::collections::BTreeMap<String, Value>| all.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&made), names(&expected));
    let mut found = Vec::new();
    for (name, object) in &made {
        differences(name, object, &expected[name], &mut found);
    }
    assert!(
        found.is_empty(),
        "chart and kustomize differ:\n{}",
        found.join("\n")
    );
    Ok(())
}

#[test]
fn the_chart_makes_what_kustomize_makes() -> Result<()> {
    chart_is(&[], kustomize("deploy/overlays/plain")?)
}

#[test]
fn the_values_of_the_chart_make_what_components_make() -> Result<()> {
    let everything = "resources: [../deploy/overlays/plain, of-machines]
components:
  - ../deploy/components/node-deletion
  - ../deploy/components/machine-deletion
  - ../deploy/components/medik8s-leases
  - ../deploy/components/monitoring
  - ../deploy/components/network-policy
images: [{name: baremetal-remediator, newName: registry.example.com/it, newTag: 1.2.3}]
";
    let of_machines = "namespace: metal
resources: [../../deploy/per-namespace/bmc-credentials, ../../deploy/per-namespace/bmc-secrets-held]
";
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("everything");
    // The first rendering makes the folders.
    overlay("everything", "resources: [../deploy/base]\n")?;
    fs::create_dir(place.join("mine/of-machines"))?;
    fs::write(place.join("mine/of-machines/kustomization.yaml"), of_machines)?;
    fs::write(place.join("mine/kustomization.yaml"), everything)?;
    let options = [
        "--set=nodeDeletion=true,machineDeletion=true,medik8sLeases=true,holdSecrets=true",
        "--set=bmcNamespaces={metal},image.repository=registry.example.com/it,image.tag=1.2.3",
        "--set=networkPolicy.enabled=true,networkPolicy.apiServers={192.0.2.0/24}",
        "--set=networkPolicy.bmcs={198.51.100.0/24}",
        "--set=monitoring.podMonitor=true,monitoring.prometheusRule=true,monitoring.dashboard=true",
    ];
    chart_is(&options, kustomize(place.join("mine"))?)
}

#[test]
fn the_chart_installs_into_the_namespace_of_its_release() -> Result<()> {
    let documents = helm(&["--namespace=elsewhere", "--set=bmcNamespaces={metal}"])?;
    let all = serde_json::to_string(&documents)?;
    assert!(!all.contains("baremetal-remediator-system"));
    let binding = find(&documents, "RoleBinding", "baremetal-remediator-bmc-credentials")?;
    assert_eq!(text(binding, "/metadata/namespace"), "metal");
    assert_eq!(text(binding, "/subjects/0/namespace"), "elsewhere");
    Ok(())
}

#[test]
fn each_value_of_monitoring_makes_one_object_with_the_labels_that_prometheus_selects_by() -> Result<()> {
    let all = [
        ("podMonitor", "PodMonitor"),
        ("prometheusRule", "PrometheusRule"),
        ("dashboard", "ConfigMap"),
    ];
    for (value, kind) in all {
        let option = format!("--set=monitoring.{value}=true,monitoring.labels.release=prometheus");
        let mut made = helm(&[&option])?;
        made.retain(|one| all.iter().any(|(_, kind)| text(one, "/kind") == *kind));
        let kinds: Vec<&str> = made.iter().map(|one| text(one, "/kind")).collect();
        assert_eq!(kinds, [kind], "{value}");
        let labels = match kind {
            "ConfigMap" => json!({"grafana_dashboard": "1"}),
            _ => json!({"app.kubernetes.io/name": NAME, "release": "prometheus"}),
        };
        assert_eq!(made[0]["metadata"]["labels"], labels, "{value}");
    }
    Ok(())
}

#[test]
fn values_that_mean_nothing_are_refused() {
    let bad = [
        ("--set=replicaCount=3", "replicaCount"),
        ("--set=replicas=many", "replicas"),
        ("--set=networkPolicy.enabled=true", "apiServers"),
        ("--set=bmcNamespaces={Not_A_Name}", "bmcNamespaces"),
        ("--set=image.digest=latest", "digest"),
        ("--set=log.format=xml", "format"),
        ("--set=monitoring.podMonitor=yes", "podMonitor"),
    ];
    for (option, named) in bad {
        let refused = helm(&[option]).err().map(|error| format!("{error:#}"));
        assert!(
            refused.as_ref().is_some_and(|why| why.contains(named)),
            "{option}: {refused:?}"
        );
    }
}

#[test]
fn the_chart_is_of_the_version_of_the_program() -> Result<()> {
    let chart = read_documents(&repository().join(world::rendered::CHART).join("Chart.yaml"))?;
    let chart = chart.first().context("a document")?;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        [text(chart, "/version"), text(chart, "/appVersion")],
        [version; 2]
    );
    let mut base = read_documents(&repository().join("deploy/base/deployment.yaml"))?.into_iter();
    let deployment = base.next().context("a document")?;
    let image = text(&deployment, "/spec/template/spec/containers/0/image");
    assert_eq!(image, format!("baremetal-remediator:{version}"));
    Ok(())
}
