//! Two invariants that concern the whole cluster: the policy that pauses everybody, and secrets that
//! are nowhere to be found.

use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bmc_simulator::{Fault, Power};
use harness::{Cluster, Cursor};
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams};
use remediator_core::phase::Phase;
use serde_json::json;
use world::pool::{self, Setting};
use world::{HostOptions, World, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("invariants");
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// The password that every simulated BMC has.
const CANARY: &str = "canary-Pa55word";

fn hosts(count: usize) -> Vec<HostOptions> {
    (0..count).map(|_| HostOptions::default()).collect()
}

#[tokio::test]
async fn invariant_8_recovery_is_never_blocked_by_a_pause() -> world::Outcome {
    let cluster = &control_plane().await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let world = World::new(cluster, "pause", hosts(2)).await?;
    world.health_check().await?;
    let (off, late) = (&world.hosts[0], &world.hosts[1]);
    let remediation = world.falls_silent_and_is_reported(off).await?;
    off.bmc.wait_for(|now| now.truth.power == Power::Off).await?;

    let mut paused = world::daemon::permissive_policy();
    paused["paused"] = json!(true);
    world::set_policy(&world.client, paused).await?;
    let too_late = world.falls_silent_and_is_reported(late).await?;
    let ended = world.remediation_ended(&remediation, LONG).await?;
    let waiting = world.remediation_waits(&too_late, "PolicyPaused").await?;
    let while_paused = (off.transitions(), late.bmc.counters().reset);
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded);
    assert_eq!(while_paused, ((1, 1), 0), "off and on again; the other one waits");
    assert_eq!(world::phase(&waiting), Phase::Pending);
    assert!(!objects::has_out_of_service_taint(
        &objects::node(&world, &off.name).await?
    ));
    let ended = world.remediation_ended(&too_late, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "after the pause");
    Ok(())
}

/// The canary in every form in which it travels.
fn forms() -> Vec<String> {
    let basic = STANDARD.encode(format!("admin:{CANARY}"));
    let unpadded = |text: String| text.trim_end_matches('=').to_owned();
    vec![
        CANARY.to_owned(),
        unpadded(STANDARD.encode(CANARY)),
        unpadded(basic),
    ]
}

pub(crate) fn assert_clean(place: &str, text: &str) {
    for form in forms() {
        assert!(!text.contains(&form), "{place} contains the password as {form}");
    }
}

/// Everything that is stored about a world, besides its Secrets.
async fn stored(world: &World) -> Result<Vec<(&'static str, String)>> {
    let all = ListParams::default();
    let client = world.client.clone();
    let events = Api::<Event>::all(client.clone()).list(&all).await?;
    anyhow::ensure!(!events.items.is_empty(), "there are no events to look at");
    let nodes = Api::<Node>::all(client.clone()).list(&all).await?;
    let pods = Api::<Pod>::all(client.clone()).list(&all).await?;
    let mut texts = vec![
        ("an Event", serde_json::to_string(&events)?),
        ("a Node", serde_json::to_string(&nodes)?),
        ("a Pod", serde_json::to_string(&pods)?),
    ];
    for (what, path) in [
        (
            "a remediation",
            "baremetal-remediator.io/v1alpha1/powercycleremediations",
        ),
        ("a BMCEndpoint", "baremetal-remediator.io/v1alpha1/bmcendpoints"),
        (
            "the policy",
            "baremetal-remediator.io/v1alpha1/remediationpolicies",
        ),
        ("a Machine", "machine.openshift.io/v1beta1/machines"),
        (
            "a health check",
            "machine.openshift.io/v1beta1/machinehealthchecks",
        ),
    ] {
        let request = http::Request::get(format!("/apis/{path}")).body(Vec::new())?;
        let list: kube::core::ObjectList<DynamicObject> = client.request(request).await?;
        anyhow::ensure!(!list.items.is_empty(), "there is no {what} to look at");
        texts.push((what, serde_json::to_string(&list)?));
    }
    Ok(texts)
}

#[tokio::test]
async fn invariant_11_the_password_is_nowhere_but_in_its_secret() -> world::Outcome {
    let cluster = &control_plane().await?;
    let daemon = world::daemon::shared(cluster, DAEMON).await?;
    let world = World::new(cluster, "canary", hosts(6)).await?;
    world.health_check().await?;
    let elsewhere = format!("{}/redfish/v1/", world.hosts[0].bmc.redfish_url());
    let faults = [
        None,
        Some(Fault::NoSessionService),
        Some(Fault::RejectCredentials),
        Some(Fault::HtmlInsteadOfJson),
        Some(Fault::Redirect { to: elsewhere }),
        Some(Fault::TruncatedJson),
    ];
    for (host, fault) in world.hosts.iter().zip(faults) {
        host.bmc.set_faults(fault.into_iter().map(Into::into).collect())?;
    }

    let ends = |index: usize| index < 2;
    let plays = world.hosts.iter().enumerate().map(async |(index, host)| {
        let remediation = world.falls_silent_and_is_reported(host).await?;
        if ends(index) {
            return world.remediation_ended(&remediation, LONG).await;
        }
        let named = |journal: &remediator_core::journal::Journal| journal.reason.starts_with("Bmc");
        world.remediation_until(&remediation, LONG, named).await
    });
    let told = futures::future::try_join_all(plays).await?;

    for (index, remediation) in told.iter().enumerate() {
        let succeeded = world::phase(remediation) == Phase::Succeeded;
        assert_eq!(succeeded, ends(index), "{:?}", world::journal(remediation));
        assert!(world.hosts[index].bmc.counters().requests > 0, "it was asked");
    }
    let (log, _) = daemon.output().lines_since(Cursor::default())?;
    assert!(log.len() > 20, "the log is there to be looked at");
    assert_clean("the log", &log.join("\n"));
    let page = world::daemon::status_page(&daemon).await?;
    let shown = reqwest::get(format!("{page}/api/status")).await?.text().await?;
    assert!(
        shown.contains(&told[2].name_any()),
        "it is there to be looked at: {shown}"
    );
    assert_clean("the status page", &shown);
    for (what, text) in stored(&world).await? {
        assert_clean(what, &text);
    }
    let requests = cluster.audit_of(world::DAEMON_USER, Cursor::default()).await?;
    let bodies: Vec<String> = requests.iter().map(|event| format!("{event:?}")).collect();
    assert!(bodies.len() > 20, "requests are there to be looked at");
    assert_clean("a request to the API server", &bodies.join("\n"));
    for what in ["cmdline", "environ"] {
        let bytes = std::fs::read(format!("/proc/{}/{what}", daemon.pid())).context("the daemon runs")?;
        assert_clean(what, &String::from_utf8_lossy(&bytes));
    }
    let redirected = &world.hosts[4].bmc.counters();
    assert_eq!(redirected.auth_failures, 0);
    for host in &world.hosts[2..] {
        objects::untrigger(&world, &host.name).await?;
    }
    Ok(())
}
