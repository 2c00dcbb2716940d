//! The alerts and the dashboard that are shipped: promtool accepts and tests them, and where they lead is there.

#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use world::rendered::tool;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The document of a file of the component.
fn document(file: &str) -> Result<Value> {
    let text = std::fs::read_to_string(root().join("deploy/components/monitoring").join(file))?;
    // JSON is YAML.
    serde_saphyr::from_str(&text).with_context(|| format!("{file} cannot be read"))
}

fn rules() -> Result<Vec<Value>> {
    let rule = document("prometheus-rule.yaml")?;
    let groups = rule["spec"]["groups"].as_array().context("has groups")?;
    let of_group = |group: &Value| group["rules"].as_array().cloned().unwrap_or_default();
    Ok(groups.iter().flat_map(of_group).collect())
}

/// Runs promtool in a folder that has the rules as Prometheus reads them.
fn promtool(arguments: &[&str], folder: &Path) -> Result<()> {
    let ran = tool("promtool")?.args(arguments).current_dir(folder).output()?;
    let told = String::from_utf8_lossy(&ran.stdout);
    let why = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "promtool {arguments:?}: {told}{why}");
    Ok(())
}

/// As GitHub makes it of a heading.
fn anchor(heading: &str) -> String {
    let kept = |one: &char| one.is_alphanumeric() || [' ', '-', '_'].contains(one);
    let text: String = heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(kept)
        .collect();
    text.to_lowercase().replace(' ', "-")
}

#[test]
fn promtool_accepts_the_alerts_and_each_fires_on_what_it_is_for() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alerts");
    std::fs::create_dir_all(&folder)?;
    let rule = document("prometheus-rule.yaml")?;
    std::fs::write(folder.join("alerts.yaml"), rule["spec"].to_string())?;
    let tests = "tests/static/monitoring/alerts.test.yaml";
    std::fs::copy(root().join(tests), folder.join("alerts.test.yaml"))?;
    promtool(&["check", "rules", "--lint-fatal", "alerts.yaml"], &folder)?;
    promtool(&["test", "rules", "alerts.test.yaml"], &folder)?;

    let tested = std::fs::read_to_string(root().join(tests))?;
    for rule in rules()? {
        let name = rule["alert"].as_str().context("is an alert")?;
        let fires = format!("alertname: {name}\n        exp_alerts:");
        assert!(tested.contains(&fires), "{name} has no test in which it fires");
    }
    Ok(())
}

#[test]
fn each_runbook_is_there() -> Result<()> {
    for rule in rules()? {
        let name = rule["alert"].as_str().context("is an alert")?;
        let link = rule["annotations"]["runbook_url"].as_str();
        let link = link.with_context(|| format!("{name} has no runbook_url"))?;
        let (file, wanted) = link
            .split_once('#')
            .with_context(|| format!("{link} has no anchor"))?;
        let text = std::fs::read_to_string(root().join(file)).with_context(|| format!("{link} of {name}"))?;
        let mut headings = text.lines().filter(|line| line.starts_with('#'));
        assert!(
            headings.any(|heading| anchor(heading) == wanted),
            "{link} of {name}: no such heading"
        );
    }
    Ok(())
}
