//! Hosts whose BMC is dead: a person says that the host is off, who has the right to, and its workloads are released.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "a test that fails says so"
)]

mod vanished;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Fault, Power};
use harness::Cluster;
use harness::process::ChildDaemon;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_core::confirmation::TOLERANCE;
use remediator_core::journal::{Basis, Journal};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::node_health::{NodeHealthCheck, not_ready};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, command, conditions, install, truth};

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("confirm-off").taking(110);
const LONG: Duration = Duration::from_mins(3);

/// May edit remediations, and no more.
const EDITOR: &str = "somebody-who-edits";
/// May say that hosts are off.
const ON_CALL: &str = "jane";
const NAME: &str = "baremetal-remediator-confirm-off";

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

fn strategy() -> Value {
    json!({
        "deadlines": {"pending": "1s", "powerOff": "10s", "powerOn": "10s", "boot": "2m"},
        "retries": {"attempts": 1},
    })
}

/// A host whose Node is silent and whose BMC is dead, and was never checked.
async fn world_of(cluster: &Cluster, name: &str) -> Result<World> {
    let world = World::new(cluster, name, vec![HostOptions::default()]).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    dies(&world).await?;
    Ok(world)
}

/// The host of a world dies together with its BMC.
async fn dies(world: &World) -> Result<()> {
    let host = &world.hosts[0];
    host.bmc.set_faults(vec![Fault::RefuseConnections.into()])?;
    world.falls_silent(host).await
}

/// A host whose BMC was checked, and a daemon; then both the host and its BMC die.
async fn checked_before(cluster: &Cluster, name: &str) -> Result<(World, ChildDaemon)> {
    let world = World::new(cluster, name, vec![HostOptions::default()]).await?;
    let mut policy = world::daemon::permissive_policy();
    policy["bmc"]["readiness"] = json!({"interval": "1m"});
    world::set_policy(&world.client, policy).await?;
    let daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    let endpoints = Api::<BMCEndpoint>::namespaced(world.client.clone(), &world.namespace);
    let is_found = |endpoint: Option<&BMCEndpoint>| {
        endpoint.is_some_and(|one| one.status.as_ref().is_some_and(|status| status.found.is_some()))
    };
    let found = harness::await_condition(endpoints, &world.hosts[0].name, is_found);
    tokio::time::timeout(LONG, found)
        .await
        .context("its BMC is not checked")??;
    dies(&world).await?;
    Ok((world, daemon))
}

async fn awaits(world: &World, name: &str) -> Result<PowerCycleRemediation> {
    is_in(world, name, Phase::AwaitingConfirmation).await
}

async fn is_in(world: &World, name: &str, phase: Phase) -> Result<PowerCycleRemediation> {
    world
        .remediation_until(name, LONG, |journal| journal.phase == phase)
        .await
}

/// Lets two users patch remediations of a world, of whom one may say that hosts are off.
async fn let_people_in(world: &World) -> Result<()> {
    let_people_in_here(world).await?;
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ON_CALL}],
    }))?;
    let bindings = Api::<ClusterRoleBinding>::all(world.client.clone());
    bindings.create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// The same in the namespace of the world only.
async fn let_people_in_here(world: &World) -> Result<()> {
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": "edits-remediations"},
        "rules": [{
            "apiGroups": ["baremetal-remediator.io"], "resources": ["powercycleremediations"],
            "verbs": ["get", "patch", "update", "create"],
        }],
    }))?;
    let made = Api::<ClusterRole>::all(world.client.clone())
        .create(&PostParams::default(), &role)
        .await;
    made.context("the role")?;
    for (role, user) in [("edits-remediations", EDITOR), (NAME, ON_CALL)] {
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }))?;
        let bindings = Api::<RoleBinding>::namespaced(world.client.clone(), &world.namespace);
        bindings.create(&PostParams::default(), &binding).await?;
    }
    Ok(())
}

/// A word counts only if its admission policy has been there for a while.
async fn is_guarded(client: &Client) -> Result<()> {
    let policies = Api::<ValidatingAdmissionPolicy>::all(client.clone());
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
    let (policy, binding) = tokio::try_join!(policies.get(NAME), bindings.get(NAME))?;
    let created = policy.creation_timestamp().max(binding.creation_timestamp());
    let from = created.context("no time")?.0 + TOLERANCE;
    let left = from.duration_since(Timestamp::now()) + SignedDuration::from_secs(1);
    tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    Ok(())
}

async fn annotate(
    client: &Client,
    world: &World,
    name: &str,
    said: (&str, &str, Timestamp),
) -> kube::Result<()> {
    annotate_of((client, &world.hosts[0].name), world, name, said).await
}

async fn annotate_of(
    (client, node): (&Client, &str),
    world: &World,
    name: &str,
    said: (&str, &str, Timestamp),
) -> kube::Result<()> {
    let (why, by, at) = said;
    let patch = Patch::Merge(json!({"metadata": {"annotations": {
        "baremetal-remediator.io/confirm-off": why,
        "baremetal-remediator.io/confirm-off-by": by,
        "baremetal-remediator.io/confirm-off-at": at.to_string(),
        "baremetal-remediator.io/confirm-off-node": node,
    }}}));
    let remediations = Api::<PowerCycleRemediation>::namespaced(client.clone(), &world.namespace);
    remediations
        .patch(name, &PatchParams::default(), &patch)
        .await
        .map(drop)
}

async fn confirm(world: &World, user: &str, name: &str) -> Result<(Option<i32>, String, String)> {
    said_to("table", &world.hosts[0].name, world, user, name).await
}

/// The same, told to a program.
async fn confirm_of(
    node: &str,
    world: &World,
    user: &str,
    name: &str,
) -> Result<(Option<i32>, String, String)> {
    said_to("json", node, world, user, name).await
}

async fn said_to(
    output: &str,
    node: &str,
    world: &World,
    user: &str,
    name: &str,
) -> Result<(Option<i32>, String, String)> {
    let kubeconfig = world.cluster.kubeconfig_for(user, &[])?;
    let arguments = [
        "confirm-off",
        name,
        "-n",
        &world.namespace,
        "--node",
        node,
        "--reason",
        "both plugs are out",
        "-o",
        output,
    ];
    command::run(PROGRAM, &kubeconfig, &arguments).await
}

fn said(remediation: &PowerCycleRemediation, kind: &str) -> Option<String> {
    conditions::of(remediation, kind).map(|(status, _)| status)
}

fn is_denied(answer: kube::Result<()>, why: &str) {
    match answer {
        Err(kube::Error::Api(status)) => {
            assert!(
                [403, 422].contains(&status.code) && status.message.contains(why),
                "{status:?}"
            );
        }
        other => panic!("it is to be refused because of {why}: {other:?}"),
    }
}

/// Asked for as a NodeHealthCheck does.
async fn requested(world: &World, host: &WorldHost) -> Result<String> {
    let check = NodeHealthCheck::create(world, not_ready()).await?;
    let mut strategy = strategy();
    // Longer than the grace period of its conditions.
    strategy["deadlines"]["pending"] = json!("20s");
    let template = json!({"metadata": {"name": "cycle"}, "spec": {"template": {"spec": strategy}}});
    let request = check.request(world, host, &template)?;
    world
        .remediations()
        .create(&PostParams::default(), &request)
        .await?;
    Ok(request.name_any())
}

#[tokio::test]
async fn workloads_are_released_on_the_word_of_a_person_who_may_say_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let cursor = cluster.audit_cursor()?;
    let (world, daemon) = checked_before(cluster, "confirmed").await?;
    let host = &world.hosts[0];
    let_people_in_here(&world).await?;
    let name = requested(&world, host).await?;

    let asked = awaits(&world, &name).await?;
    // To a NodeHealthCheck it is under way.
    let told = ["Processing", "Succeeded", "OffConfirmed", "PowerOffProven"].map(|kind| said(&asked, kind));
    assert_eq!(
        told.map(Option::unwrap_or_default),
        ["True", "Unknown", "False", "False"]
    );
    assert!(
        world::journal(&asked).message.contains("BmcUnreachable"),
        "{:?}",
        asked.status
    );

    let (editor, on_call) = (
        cluster.client_as(EDITOR, &[]).await?,
        cluster.client_as(ON_CALL, &[]).await?,
    );
    let why = "both plugs are out";
    is_denied(
        annotate(&editor, &world, &name, (why, EDITOR, Timestamp::now())).await,
        "confirm-off",
    );
    is_denied(
        annotate(&editor, &world, &name, (why, ON_CALL, Timestamp::now())).await,
        "confirm-off",
    );
    is_denied(
        annotate(&on_call, &world, &name, (why, EDITOR, Timestamp::now())).await,
        ON_CALL,
    );
    is_denied(
        annotate(&on_call, &world, &name, (" ", ON_CALL, Timestamp::now())).await,
        "why",
    );
    let ago = |seconds| Timestamp::now() - SignedDuration::from_secs(seconds);
    is_denied(
        annotate(&on_call, &world, &name, (why, ON_CALL, ago(-120))).await,
        "clock",
    );
    is_denied(
        annotate(&on_call, &world, &name, (why, ON_CALL, ago(3600))).await,
        "AwaitingConfirmation",
    );
    is_denied(
        annotate_of(
            (&on_call, "another"),
            &world,
            &name,
            (why, ON_CALL, Timestamp::now()),
        )
        .await,
        "asks about",
    );
    let (status, _, err) = confirm(&world, EDITOR, &name).await?;
    assert!(status == Some(1) && err.contains("may not confirm-off"), "{err}");
    let (status, _, err) = confirm_of("another", &world, ON_CALL, &name).await?;
    assert!(
        status == Some(1) && err.contains("asks about the host of Node"),
        "{err}"
    );
    assert_eq!(truth::releases(&world, cursor, host).await?, 0);

    is_guarded(&world.client).await?;
    host.bmc.press_power(Power::Off)?;
    let (status, out, err) = confirm(&world, ON_CALL, &name).await?;
    assert!(status == Some(0) && out.contains(ON_CALL), "{out}{err}");
    world.is_tainted(host, LONG).await?;
    let released = is_in(&world, &name, Phase::Booting).await?;
    let journal = world::journal(&released);
    let release = journal.release.as_ref().context("no release")?;
    assert!(
        release.basis == Basis::Confirmation && journal.evidence.is_none(),
        "{journal:?}"
    );
    let taken = &journal.confirmation.as_ref().context("not kept")?.word;
    assert_eq!((taken.by.as_str(), taken.why.as_str()), (ON_CALL, why));
    assert_eq!(journal.reason, Reason::PowerOnByHand.as_str());
    assert_eq!(said(&released, "OffConfirmed").as_deref(), Some("True"));
    let (status, _, err) = confirm(&world, ON_CALL, &name).await?;
    assert!(status == Some(1) && err.contains("phase Booting"), "{err}");

    host.bmc.set_faults(Vec::new())?;
    let ended = world.remediation_ended(&name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    world.is_untainted(host, LONG).await?;
    assert_eq!(host.transitions(), (1, 1));
    assert_eq!(truth::releases(&world, cursor, host).await?, 1);
    daemon.stop(Duration::from_secs(30)).await?;
    let events = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    assert!(
        events.iter().all(|event| event.response_code != 403),
        "its role is enough"
    );
    Ok(())
}

#[tokio::test]
async fn nobody_is_believed_where_anybody_could_have_said_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = world_of(cluster, "unguarded").await?;
    let host = &world.hosts[0];
    let_people_in(&world).await?;
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(world.client.clone());
    bindings.delete(NAME, &DeleteParams::default()).await?;
    let _daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    let name = world.request(host, strategy()).await?;
    awaits(&world, &name).await?;

    // The API server forgets the binding a moment later.
    let editor = cluster.client_as(EDITOR, &[]).await?;
    tokio::time::timeout(LONG, async {
        while annotate(&editor, &world, &name, ("because", EDITOR, Timestamp::now()))
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await?;
    let refused = world
        .remediation_waits(&name, Reason::ConfirmationRefused.as_str())
        .await?;
    let message = &world::journal(&refused).message;
    assert!(
        message.contains("there is no ValidatingAdmissionPolicyBinding"),
        "{message}"
    );
    install::guard_confirmations(&world.client).await?;

    // What was written then is not believed later, either.
    is_guarded(&world.client).await?;
    host.bmc.press_power(Power::Off)?;
    let (status, _, err) = confirm(&world, ON_CALL, &name).await?;
    assert_eq!(status, Some(0), "{err}");
    let released = is_in(&world, &name, Phase::Booting).await?;
    let taken = world::journal(&released).confirmation.context("not kept")?;
    assert_eq!(taken.word.by, ON_CALL);
    Ok(())
}

/// And so does one that nothing leads to any more but the journal.
#[tokio::test]
async fn a_daemon_that_dies_as_it_takes_the_word_has_a_successor_and_the_host_comes_back_by_hand()
-> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let world = World::new(cluster, "confirmed-crash", options).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    dies(&world).await?;
    let (host, lost) = (&world.hosts[0], &world.hosts[1]);
    let_people_in(&world).await?;
    let daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    let name = world.request(host, strategy()).await?;
    awaits(&world, &name).await?;
    let name_of_lost = vanished::is_asked_about(&world, lost).await?;
    daemon.kill().await?;
    let daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    is_guarded(&world.client).await?;
    let cursor = cluster.audit_cursor()?;
    for (host, name) in [(lost, &name_of_lost), (host, &name)] {
        host.bmc.press_power(Power::Off)?;
        let (status, out, err) = confirm_of(&host.name, &world, ON_CALL, name).await?;
        assert_eq!(status, Some(0), "{err}");
        let metadata = &serde_json::from_str::<Value>(&out)?["metadata"];
        let by = &metadata["annotations"]["baremetal-remediator.io/confirm-off-by"];
        assert_eq!((by, &metadata["managedFields"]), (&json!(ON_CALL), &Value::Null));
    }

    is_in(&world, &name, Phase::Fencing).await?;
    vanished::loses_its_endpoint(&world, lost, &name_of_lost).await?;
    daemon.kill().await?;
    let _daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    is_in(&world, &name, Phase::Booting).await?;
    world.is_tainted(host, LONG).await?;
    assert_eq!(truth::releases(&world, cursor, host).await?, 1);
    host.bmc.press_power(Power::On)?;

    let ended = world.remediation_ended(&name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    world.is_untainted(host, LONG).await?;
    Ok(vanished::comes_back_with_its_secret(&world, lost, &name_of_lost).await?)
}

#[tokio::test]
async fn a_node_that_reports_is_not_released_whatever_a_person_says() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = world_of(cluster, "confirmed-wrongly").await?;
    let host = &world.hosts[0];
    let_people_in(&world).await?;
    let cursor = cluster.audit_cursor()?;
    let _daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    let name = world.request(host, strategy()).await?;
    awaits(&world, &name).await?;
    is_guarded(&world.client).await?;

    // Somebody lets it lead to another BMC after a person was asked: what is said of the first is not about it.
    let read = Timestamp::now();
    let endpoints = Api::<BMCEndpoint>::namespaced(world.client.clone(), &world.namespace);
    let address = "redfish+https://127.0.0.1:1/redfish/v1/Systems/1";
    let change = Patch::Merge(json!({"spec": {"address": address}}));
    endpoints
        .patch(&host.name, &PatchParams::default(), &change)
        .await?;
    let asked = |bmc: &'static str| {
        move |journal: &Journal| {
            journal
                .asked
                .as_ref()
                .is_some_and(|asked| asked.bmc.contains(bmc))
        }
    };
    let anew = world
        .remediation_until(&name, LONG, asked("127.0.0.1:1/"))
        .await?;
    assert!(
        world::journal(&anew).message.contains("has changed"),
        "{:?}",
        anew.status
    );
    let on_call = cluster.client_as(ON_CALL, &[]).await?;
    is_denied(
        annotate(&on_call, &world, &name, ("out", ON_CALL, read)).await,
        "AwaitingConfirmation",
    );

    let (status, _, err) = confirm(&world, ON_CALL, &name).await?;
    assert_eq!(status, Some(0), "{err}");
    let kubelet = host.kubelet.as_ref().context("has a Node")?;
    kubelet.resume("another-boot").await?;

    let ended = world.remediation_ended(&name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Cancelled, "{:?}", ended.status);
    assert_eq!(truth::releases(&world, cursor, host).await?, 0);
    Ok(())
}
