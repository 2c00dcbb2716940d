//! What Machines of Cluster API say of their health checks.

use anyhow::{Context as _, Result};
use harness::await_condition;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use world::World;
use world::cluster_api::{self, condition, health_check_says};

use super::cluster_api::{healthy, world_of};
use super::{CLUSTER, PATIENCE};

const SAID: &str = "HealthCheckSucceeded";

/// Waits until a Machine says this of its health checks; answers its status.
pub(crate) async fn machine_says(world: &World, machine: &str, wanted: &'static str) -> Result<Value> {
    let status = |machine: Option<&DynamicObject>| machine.map(|machine| machine.data["status"].clone());
    let is = |machine: Option<&DynamicObject>| {
        let status = status(machine).unwrap_or_default();
        condition(&status, SAID).is_some_and(|said| said["status"] == wanted)
    };
    let wait = await_condition(cluster_api::machines(world), machine, is);
    let found = tokio::time::timeout(PATIENCE, wait)
        .await
        .with_context(|| format!("{machine} did not say {wanted}"))??;
    status(found.as_ref()).context("no Machine")
}

/// What it says in the form of v1beta1.
fn in_the_older_form(status: &Value) -> Option<&Value> {
    let mut conditions = status["deprecated"]["v1beta1"]["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == SAID)
}

/// How often the daemon has written the status of each of its Machines.
async fn writes(world: &World, since: harness::Cursor) -> Result<Vec<usize>> {
    let events = world.cluster.audit_of(world::DAEMON_USER, since).await?;
    let of = |name: &str| {
        let of_machine = events.iter().filter(|event| {
            let object = &event.resource;
            event.response_code < 300
                && (object.resource.as_str(), object.subresource.as_str()) == ("machines", "status")
                && (&object.namespace, object.name.as_str()) == (&world.namespace, name)
        });
        of_machine.count()
    };
    Ok(world.hosts.iter().map(|host| of(&host.name)).collect())
}

#[tokio::test]
async fn machines_say_in_both_forms_whether_they_have_passed_and_are_written_to_when_that_changes()
-> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-said", 2).await?;
    let (dead, well) = (&world.hosts[0].name, &world.hosts[1].name);
    let since = world.cluster.audit_cursor()?;
    // What is said does not depend on whether the limit allows to remediate.
    let never = || json!({"triggerIf": {"unhealthyInRange": "[2-2]"}});
    cluster_api::create_health_check(&world, "workers", "blue", never()).await?;
    for name in [dead, well] {
        let status = machine_says(&world, name, "True").await?;
        let said = condition(&status, SAID).context("it is there")?;
        assert_eq!(said["reason"], SAID);
        let older = in_the_older_form(&status).context("it is there, too")?;
        assert_eq!(
            (&older["status"], &older["severity"]),
            (&json!("True"), &Value::Null)
        );
        assert!(condition(&status, "InfrastructureReady").is_some(), "{status}");
    }

    world.falls_silent(&world.hosts[0]).await?;

    let status = machine_says(&world, dead, "False").await?;
    for said in [condition(&status, SAID), in_the_older_form(&status)] {
        let said = said.context("it is there")?;
        assert_eq!(said["reason"], "UnhealthyNode");
        let message = said["message"].as_str().unwrap_or_default();
        assert!(message.contains("condition Ready"), "{message}");
    }
    assert!(condition(&status, "InfrastructureReady").is_some(), "{status}");
    // One more check, and with it one more pass, has nothing else to say.
    cluster_api::create_health_check(&world, "late", "blue", never()).await?;
    health_check_says(&world, "late", healthy(1)).await?;
    machine_says(&world, well, "True").await?;
    assert_eq!(writes(&world, since).await?, [2, 1]);
    Ok(())
}
