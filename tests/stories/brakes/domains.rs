//! Failure domains: the policy says which label of Nodes names them.

use serde_json::{Value, json};
use world::{HostOptions, World, pool};

use super::{DAEMON, LONG, SETTING, policy, spans};

const LABEL: &str = "example.org/rack";

fn in_a_rack() -> HostOptions {
    HostOptions {
        node: Box::new(|mut node| {
            node.labels.insert(LABEL.to_owned(), "7".to_owned());
            node
        }),
        ..HostOptions::default()
    }
}

/// All of a rack may be power-cycled at once, but for the domain.
fn limits(domain: Value) -> Value {
    let mut limits = json!({
        "maxConcurrent": 5, "maxPerWindow": "100%", "maxUnhealthy": 5, "startupHold": "0s", "coolDown": "0s",
    });
    limits["failureDomain"] = domain;
    limits
}

#[tokio::test]
async fn any_label_may_name_failure_domains_and_another_one_has_the_daemon_begin_anew() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let world = World::new(cluster, "rack", vec![in_a_rack(), in_a_rack()]).await?;
    world.health_check().await?;
    world::set_policy(&world.client, policy(&world, limits(json!({"maxConcurrent": 5})))).await?;
    let before = world::daemon::start(cluster, DAEMON, "info")?;
    before.wait_for_line(" ready ", LONG).await?;
    let by_rack = limits(json!({"label": LABEL, "maxConcurrent": 1}));
    world::set_policy(&world.client, policy(&world, by_rack)).await?;
    assert!(before.exited(LONG).await?.success(), "it begins anew");

    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let mut names = Vec::new();
    for host in &world.hosts {
        world.falls_silent(host).await?;
    }
    for host in &world.hosts {
        world::objects::trigger(&world, &host.name).await?;
        names.push(host.remediation());
    }
    let spans = spans(&world, &names).await?;
    let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    assert!(apart, "{spans:?}");
    Ok(())
}
