//! What a remediation and a template share.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::Kinds;

/// The same for everything that a remediation and a template share.
fn bad_strategies() -> Vec<(Value, Vec<&'static str>)> {
    let mut bad = vec![
        (
            json!({"fencingMode": "Hope"}),
            vec!["fencingMode", "OutOfServiceTaint"],
        ),
        (json!({"hostControl": "Mine"}), vec!["hostControl", "Direct"]),
        (
            json!({"escalation": "Reinstall"}),
            vec!["escalation", "MachineDeletion"],
        ),
        (json!({"retries": {"attempts": 0}}), vec!["retries.attempts", "1"]),
        (
            json!({"retries": {"attempts": 11}}),
            vec!["retries.attempts", "10"],
        ),
        (
            json!({"retries": {"backoff": "0s"}}),
            vec!["retries.backoff", "must be between 1s and 24h"],
        ),
        (
            json!({"retries": {"maxBackoff": "25h"}}),
            vec!["retries.maxBackoff", "must be between 1s and 24h"],
        ),
        (
            json!({"deadlines": {"pending": "169h"}}),
            vec!["deadlines.pending", "must be between 1s and 168h"],
        ),
    ];
    for (deadline, field) in [
        ("powerOff", "deadlines.powerOff"),
        ("fencing", "deadlines.fencing"),
        ("powerOn", "deadlines.powerOn"),
        ("boot", "deadlines.boot"),
    ] {
        let range = "must be between 10s and 24h";
        bad.push((json!({"deadlines": {deadline: "9s"}}), vec![field, range]));
        bad.push((json!({"deadlines": {deadline: "24h1s"}}), vec![field, range]));
        bad.push((
            json!({"deadlines": {deadline: "soon"}}),
            vec![field, "should match"],
        ));
        bad.push((
            json!({"deadlines": {deadline: "-5m"}}),
            vec![field, "should match"],
        ));
    }
    bad
}

#[tokio::test]
async fn a_bad_strategy_is_refused_by_field_in_remediations_and_templates() -> world::Outcome {
    let kinds = Kinds::new().await?;
    for (strategy, says) in bad_strategies() {
        let (first, rest) = says.split_first().context("names a field")?;
        let field = format!("spec.{first}");
        let says: Vec<&str> = std::iter::once(field.as_str())
            .chain(rest.iter().copied())
            .collect();
        kinds
            .refuses("PowerCycleRemediation", "bad", &strategy, &says)
            .await?;
        let field = format!("spec.template.spec.{first}");
        let says: Vec<&str> = std::iter::once(field.as_str())
            .chain(rest.iter().copied())
            .collect();
        let template = json!({"template": {"spec": strategy}});
        kinds
            .refuses("PowerCycleRemediationTemplate", "bad", &template, &says)
            .await?;
    }
    Ok(())
}
