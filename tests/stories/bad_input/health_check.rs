//! Health checks that do not vouch for a trigger. Each case has a namespace of its own.

use anyhow::{Result, ensure};
use futures::future::join_all;
use remediator_api::keys;
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::{HostOptions, World, objects, refusal};

use super::daemon;

/// A change to each health check of the namespace.
type Change = fn(&mut Value);

struct Case {
    what: &'static str,
    checks: &'static [Change],
    reason: Reason,
    says: &'static [&'static str],
    /// What makes the check named `workers-1` vouch.
    correction: Option<fn() -> Value>,
}

fn strategy(check: &mut Value, value: &str) {
    check["metadata"]["annotations"][keys::STRATEGY_ANNOTATION] = json!(value);
}

/// The definition allows it: it has a pattern and no bound.
const BEYOND_EVERY_BOUND: &str = "99999999999999999999h";

const CASES: &[Case] = &[
    Case {
        what: "none at all",
        checks: &[],
        reason: Reason::NoHealthCheck,
        says: &["no MachineHealthCheck", "selects the Machine"],
        correction: None,
    },
    Case {
        what: "selects nothing of it",
        checks: &[|check| check["spec"]["selector"]["matchLabels"] = json!({"role": "other"})],
        reason: Reason::NoHealthCheck,
        says: &["no MachineHealthCheck", "selects the Machine"],
        correction: Some(
            || json!({"spec": {"selector": {"matchLabels": {"role": null, keys::MACHINE_ROLE_LABEL: "worker"}}}}),
        ),
    },
    Case {
        what: "wrong strategy",
        checks: &[|check| strategy(check, "External-Baremetal")],
        reason: Reason::NoHealthCheck,
        says: &["workers-1", keys::STRATEGY_ANNOTATION, "external-baremetal"],
        correction: Some(
            || json!({"metadata": {"annotations": {keys::STRATEGY_ANNOTATION: keys::STRATEGY_EXTERNAL_BAREMETAL}}}),
        ),
    },
    Case {
        what: "template besides the strategy",
        checks: &[|check| {
            check["spec"]["remediationTemplate"] = json!({"kind": "SomeTemplate", "name": "some"});
        }],
        reason: Reason::NoHealthCheck,
        says: &["workers-1", "spec.remediationTemplate"],
        correction: Some(|| json!({"spec": {"remediationTemplate": null}})),
    },
    Case {
        what: "paused, if only by \"false\"",
        checks: &[|check| check["metadata"]["annotations"][keys::PAUSED_ANNOTATION] = json!("false")],
        reason: Reason::HealthCheckPaused,
        says: &["MachineHealthCheck workers-1", "is paused"],
        correction: Some(|| json!({"metadata": {"annotations": {keys::PAUSED_ANNOTATION: null}}})),
    },
    Case {
        what: "two that disagree",
        checks: &[|_| {}, |check| strategy(check, "none")],
        reason: Reason::ConflictingHealthChecks,
        says: &["workers-1", "workers-2"],
        correction: None,
    },
    Case {
        what: "unknown operator in the selector",
        checks: &[|check| {
            check["spec"]["selector"] = json!({"matchExpressions": [{"key": "role", "operator": "Near"}]});
        }],
        reason: Reason::HealthCheckUnreadable,
        says: &["spec.selector", "MachineHealthCheck workers-1"],
        correction: Some(
            || json!({"spec": {"selector": {"matchExpressions": null, "matchLabels": {keys::MACHINE_ROLE_LABEL: "worker"}}}}),
        ),
    },
    Case {
        what: "an operator of the selector without its values",
        checks: &[|check| {
            check["spec"]["selector"] = json!({"matchExpressions": [{"key": "role", "operator": "NotIn"}]});
        }],
        reason: Reason::HealthCheckUnreadable,
        says: &[
            "MachineHealthCheck workers-1 cannot be followed",
            "spec.selector lists no values for \"role\"",
        ],
        correction: Some(
            || json!({"spec": {"selector": {"matchExpressions": null, "matchLabels": {keys::MACHINE_ROLE_LABEL: "worker"}}}}),
        ),
    },
    Case {
        what: "condition without a timeout",
        checks: &[|check| {
            check["spec"]["unhealthyConditions"] = json!([{"type": "Ready", "status": "False"}]);
        }],
        reason: Reason::HealthCheckUnreadable,
        says: &[
            "MachineHealthCheck workers-1 cannot be followed",
            "spec.unhealthyConditions[0].timeout is",
        ],
        correction: None,
    },
    Case {
        what: "a time-out beyond every bound",
        checks: &[|check| check["spec"]["unhealthyConditions"][0]["timeout"] = json!(BEYOND_EVERY_BOUND)],
        reason: Reason::HealthCheckUnreadable,
        says: &[
            "MachineHealthCheck workers-1 cannot be followed",
            "timeout is",
            BEYOND_EVERY_BOUND,
        ],
        correction: Some(
            || json!({"spec": {"unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "1s"}]}}),
        ),
    },
    Case {
        what: "a node startup time-out with a sign in its midst",
        checks: &[|check| check["spec"]["nodeStartupTimeout"] = json!("0m-3s")],
        reason: Reason::HealthCheckUnreadable,
        says: &[
            "MachineHealthCheck workers-1 cannot be followed",
            "spec.nodeStartupTimeout is \"0m-3s\"",
        ],
        correction: Some(|| json!({"spec": {"nodeStartupTimeout": "10m"}})),
    },
    Case {
        what: "a good one besides one that cannot be read",
        checks: &[
            |_| {},
            |check| check["spec"]["unhealthyConditions"] = json!([{"type": "Ready", "status": "False"}]),
        ],
        reason: Reason::HealthCheckUnreadable,
        says: &["MachineHealthCheck workers-2 cannot be followed", "timeout"],
        correction: None,
    },
];

async fn examine(case: &Case) -> Result<()> {
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "mhc", vec![HostOptions::default()]).await?;
    for (index, change) in case.checks.iter().enumerate() {
        objects::create_health_check(&world, &format!("workers-{}", index + 1), change).await?;
    }
    let host = &world.hosts[0];
    refusal::fall_ill(&world, host).await?;

    refusal::trigger_refused(&world, &*daemon().await?, host, case.reason, case.says).await?;
    ensure!(
        objects::is_triggered(&world, &host.name).await?,
        "the trigger was removed"
    );
    refusal::never_contacted(&host.bmc)?;

    if let Some(correction) = case.correction {
        objects::patch_health_check(&world, "workers-1", correction()).await?;
        refusal::goes_on(&world, host).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_trigger_that_no_health_check_vouches_for_is_refused_by_name() -> world::Outcome {
    let _daemon = daemon().await?;

    let results = join_all(CASES.iter().map(examine)).await;

    refusal::collect(CASES.iter().map(|case| case.what), results)?;
    Ok(())
}

#[tokio::test]
async fn a_malformed_health_check_of_other_machines_holds_nobody_up() -> world::Outcome {
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "mhc-others", vec![HostOptions::default()]).await?;
    world.health_check().await?;
    let near = json!([{"key": "rack", "operator": "Near"}]);
    for (name, selector) in [
        (
            "of-others",
            json!({"matchLabels": {keys::MACHINE_ROLE_LABEL: "infra"}, "matchExpressions": near}),
        ),
        ("of-nobody", json!({"matchExpressions": near})),
    ] {
        objects::create_health_check(&world, name, |check| check["spec"]["selector"] = selector.clone())
            .await?;
    }
    objects::create_health_check(&world, "of-others-too", |check| {
        check["spec"]["selector"] = json!({"matchLabels": {keys::MACHINE_ROLE_LABEL: "infra"}});
        check["spec"]["unhealthyConditions"][0]["timeout"] = json!(BEYOND_EVERY_BOUND);
    })
    .await?;
    let host = &world.hosts[0];

    refusal::fall_ill(&world, host).await?;

    Ok(refusal::goes_on(&world, host).await?)
}
