//! Whoever plans needs no more than the role for it, and touches nothing.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use harness::{AuditEvent, Cursor};
use serde_json::Value;
use world::{World, install, read_documents, repository};

use super::PLANNER;

const READING: [&str; 2] = ["get", "list"];

/// All that whoever plans did since then was to read, and nothing was refused.
pub(crate) async fn has_only_read(world: &World, since: Cursor) -> Result<()> {
    let done = world.cluster.audit_of(PLANNER, since).await?;
    ensure!(
        done.iter().any(|event| event.resource.resource == "machines"),
        "nothing was read"
    );
    let other: Vec<&AuditEvent> = done
        .iter()
        .filter(|event| !READING.contains(&event.verb.as_str()) || event.response_code == 403)
        .collect();
    ensure!(other.is_empty(), "written or refused: {other:#?}");
    Ok(())
}

#[test]
fn the_role_of_whoever_plans_only_reads_and_reads_no_secret() -> Result<()> {
    let documents = read_documents(&repository().join(install::PLAN))?;
    let rules = documents
        .iter()
        .filter_map(|document| document["rules"].as_array());
    let rules: Vec<&Value> = rules.flatten().collect();
    let texts = |field: &str| -> BTreeSet<&str> {
        let lists = rules.iter().filter_map(|rule| rule[field].as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    };
    assert_eq!(texts("verbs"), BTreeSet::from(READING));
    assert!(!texts("resources").contains("secrets"));
    for field in ["apiGroups", "resources"] {
        assert!(!texts(field).iter().any(|text| text.contains('*')), "{field}");
    }
    Ok(())
}
