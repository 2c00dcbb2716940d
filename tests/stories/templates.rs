//! Templates that no remediation can be made from say so themselves, before a health check needs them.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::{AuditEvent, Cluster, Cursor};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::{World, acts, conditions, objects, refusal};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("templates");
const GROUP: &str = "baremetal-remediator.io";
const KIND: &str = "powercycleremediationtemplates";
const LONG: Duration = Duration::from_mins(1);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// Templates as they are stored, whether or not they can be read.
fn templates(world: &World) -> Api<DynamicObject> {
    objects::ours(world, "PowerCycleRemediationTemplate")
}

fn template(name: &str, spec: &Value) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "PowerCycleRemediationTemplate",
        "metadata": {"name": name}, "spec": {"template": {"spec": spec}},
    }))?)
}

/// Tries to store a template until the API server does, or does not any more: a definition is served a moment
/// after it was changed.
async fn until_stored(world: &World, object: &DynamicObject, wanted: bool) -> Result<()> {
    let dry_run = PostParams {
        dry_run: !wanted,
        ..PostParams::default()
    };
    let attempts = async {
        let mut pause = tokio::time::interval(Duration::from_millis(200));
        loop {
            pause.tick().await;
            match templates(world).create(&dry_run, object).await {
                Ok(_) if wanted => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 422 && !wanted => return Ok(()),
                Ok(_) => {}
                // 503: the server is just putting the changed definition in the place of the one before.
                Err(kube::Error::Api(status)) if status.code == 422 || status.code == 503 => {}
                Err(error) => return Err(error.into()),
            }
        }
    };
    tokio::time::timeout(LONG, attempts)
        .await
        .context("the changed definition is not served")?
}

/// Stores what an earlier definition let in, and puts today's back.
async fn stored_before_the_upgrade(world: &World, olds: &[(&str, Value)]) -> Result<()> {
    world::install::loosen(&world.client, &format!("{KIND}.{GROUP}")).await?;
    for (name, spec) in olds {
        until_stored(world, &template(name, spec)?, true).await?;
    }
    let todays = world::repository().join(format!("deploy/crds/{KIND}.yaml"));
    world.cluster.install_crds_from(todays).await?;
    for (name, spec) in olds {
        until_stored(world, &template(&format!("{name}-again"), spec)?, false).await?;
    }
    Ok(())
}

/// Waits until a template says whether it is accepted in its present form; answers with the condition.
async fn says(world: &World, name: &str, status: &str) -> Result<Condition> {
    let is_said = |one: &Condition| one.status == status;
    conditions::until_current(templates(world), name, "Accepted", LONG, is_said)
        .await
        .with_context(|| format!("{name} does not become {status}"))
}

/// Waits until a template says what is wrong with it, in its status and by an event.
async fn is_refused(world: &World, name: &str, field: &str) -> Result<()> {
    let condition = says(world, name, "False").await?;
    let reason = Reason::SpecInvalid;
    ensure!(condition.reason == reason.as_str(), "{condition:?}");
    let message = condition.message;
    refusal::useful(&message, reason, &[field], name)?;
    let note = objects::event(world, name, reason.as_str()).await?;
    ensure!(
        note == message,
        "the event says {note:?} and the condition {message:?}"
    );
    Ok(())
}

/// The status writes of the daemon, by the template's name.
async fn written(cluster: &Cluster, since: Cursor) -> Result<Vec<String>> {
    let is_status = |event: &AuditEvent| {
        let object = &event.resource;
        object.resource == KIND && object.subresource == "status" && event.response_code < 300
    };
    let events = cluster.audit_of(world::DAEMON_USER, since).await?;
    let mut names: Vec<String> = events
        .into_iter()
        .filter(is_status)
        .map(|event| event.resource.name)
        .collect();
    names.sort();
    Ok(names)
}

#[tokio::test]
async fn a_template_that_nothing_can_be_made_from_says_so_once_and_says_when_it_is_well() -> world::Outcome {
    let cluster = &control_plane().await?;
    let cursor = cluster.audit_cursor()?;
    let world = World::new(cluster, "templates", Vec::new()).await?;
    let olds = [
        ("old-value", json!({"retries": {"attempts": 0}})),
        ("old-word", json!({"fencingMode": "PullThePlug"})),
    ];
    stored_before_the_upgrade(&world, &olds).await?;
    acts::create_template(&world, "good", Value::Null, acts::hasty()).await?;
    let mut digits = template("digits", &json!({"deadlines": {"pending": "0000000000000300s"}}))?;
    let copied = json!({"labels": {"team": "metal"}, "annotations": {"example.org/runbook": "17"}});
    digits.data["spec"]["template"]["metadata"] = copied.clone();
    let stored = templates(&world).create(&PostParams::default(), &digits).await?;
    assert_eq!(stored.data["spec"]["template"]["metadata"], copied);
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;

    let daemon = world::start_daemon(cluster, Path::new(DAEMON))?;

    let accepted = says(&world, "good", "True").await?;
    assert_eq!(accepted.reason, "Accepted", "{accepted:?}");
    is_refused(&world, "old-value", "spec.template.spec.retries.attempts must be").await?;
    is_refused(
        &world,
        "old-word",
        "spec.template.spec.fencingMode: unknown variant `PullThePlug`",
    )
    .await?;
    says(&world, "digits", "True").await?;
    let list = format!("/apis/{GROUP}/v1alpha1/namespaces/{}/{KIND}", world.namespace);
    let table = cluster.get_table(&list).await?;
    let column = |name: &str| table.column(name).unwrap_or_default();
    let shown: Vec<_> = column("Name")
        .into_iter()
        .zip(column("Accepted").into_iter().zip(column("Reason")))
        .collect();
    let line = |name: &str, accepted: &str, reason: &str| {
        (name.to_owned(), (accepted.to_owned(), reason.to_owned()))
    };
    let expected = [
        line("digits", "True", "Accepted"),
        line("good", "True", "Accepted"),
        line("old-value", "False", "SpecInvalid"),
        line("old-word", "False", "SpecInvalid"),
    ];
    assert_eq!(shown, expected);

    let change = Patch::Merge(json!({"spec": {"template": {"spec": {"retries": {"attempts": 2}}}}}));
    templates(&world)
        .patch("old-value", &PatchParams::default(), &change)
        .await?;
    says(&world, "old-value", "True").await?;
    // One that starts anew finds everything said.
    daemon.stop(Duration::from_secs(30)).await?;
    let successor = world::start_daemon(cluster, Path::new(DAEMON))?;
    acts::create_template(&world, "late", Value::Null, acts::hasty()).await?;
    says(&world, "late", "True").await?;
    let expected = ["digits", "good", "late", "old-value", "old-value", "old-word"];
    assert_eq!(written(cluster, cursor).await?, expected);
    let told = objects::event_reasons(&world, "old-word").await?;
    assert_eq!(told, ["SpecInvalid"]);
    successor.stop(Duration::from_secs(30)).await?;
    let unchanged = templates(&world).get("old-word").await?;
    assert_eq!(
        unchanged.metadata.generation,
        Some(1),
        "{:?}",
        unchanged.name_any()
    );
    Ok(())
}
