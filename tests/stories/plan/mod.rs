//! `baremetal-remediator plan`: what would be done now and why, said without touching anything.
#![allow(
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "a test that fails says so"
)]

mod command_line;
mod evaluators;
mod node_checks;
mod rights;
mod templates;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{AUDITED_GROUP, Cluster, Cursor};
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use remediator_core::machine_api::MachineApi;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, command, install, leader, node_lease, objects};

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("plan").taking(60);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// Whoever plans: somebody with no other right than the role for it.
const PLANNER: &str = "somebody-who-plans";

/// Policy and Leases are of the whole cluster: each test has them alone.
static CLUSTER: Mutex<()> = Mutex::const_new(());

/// The kubeconfig of whoever plans, and where what is done with it begins in the audit log.
async fn planner(world: &World) -> Result<(PathBuf, Cursor)> {
    install::allow_planning(&world.client, PLANNER).await?;
    let kubeconfig = world.cluster.kubeconfig_for(PLANNER, &[AUDITED_GROUP])?;
    Ok((kubeconfig, world.cluster.audit_cursor()?))
}

async fn plan(world: &World, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
    let mut all = vec!["plan", "-n", &world.namespace];
    all.extend(arguments);
    let (status, out, err) = command::run(PROGRAM, kubeconfig, &all).await?;
    assert_eq!(status, Some(0), "{err}");
    Ok(out)
}

/// What is planned for one host.
async fn outlook(world: &World, kubeconfig: &Path, host: usize) -> Result<Value> {
    let found = outlooks(world, kubeconfig).await?;
    found.get(host).cloned().context("no such host")
}

/// The permissive policy with this `healthChecker`.
async fn health_checker(world: &World, is: &str) -> Result<()> {
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!(is);
    world::set_policy(&world.client, policy).await
}

/// The platform's controllers of MachineHealthChecks do not run.
async fn no_leaders(world: &World) -> Result<()> {
    for api in MachineApi::ALL {
        leader::never_was(&world.client, api).await?;
    }
    Ok(())
}

/// That of an API has renewed its Lease just now.
async fn leads(world: &World, api: MachineApi) -> Result<()> {
    leader::renewed(&world.client, api, SignedDuration::ZERO).await
}

/// All that is planned.
async fn planned(world: &World, kubeconfig: &Path) -> Result<Value> {
    let out = plan(world, kubeconfig, &["-o", "json"]).await?;
    Ok(serde_json::from_str(&out)?)
}

/// What is planned for each host, by its number.
async fn outlooks(world: &World, kubeconfig: &Path) -> Result<Vec<Value>> {
    let found = planned(world, kubeconfig).await?;
    let all = found["machines"].as_array().context("no list of Machines")?;
    let of_host = |name: &str| all.iter().find(|one| one["machine"] == json!(name)).cloned();
    let found: Option<Vec<Value>> = world.hosts.iter().map(|host| of_host(&host.name)).collect();
    found.context("a Machine is missing")
}

/// Plans again when the grace period of a host is over, by the time that its plan names.
async fn past_grace(world: &World, kubeconfig: &Path, host: usize) -> Result<()> {
    loop {
        let found = outlooks(world, kubeconfig).await?;
        let said = found.get(host).map(|outlook| &outlook["checks"][0]);
        let Some(until) = said.and_then(|said| said["until"].as_str()) else {
            return Ok(());
        };
        let left = until.parse::<Timestamp>()?.duration_since(Timestamp::now());
        tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    }
}

fn without_an_endpoint() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..HostOptions::default()
    }
}

#[tokio::test]
async fn what_would_be_done_is_said_with_its_reasons_and_nothing_is_touched() -> world::Outcome {
    let _alone = CLUSTER.lock().await;
    let cluster = &control_plane().await?;
    let options = vec![
        HostOptions::default(),
        HostOptions::default(),
        without_an_endpoint(),
        HostOptions::default(),
        HostOptions {
            has_node: false,
            ..HostOptions::default()
        },
    ];
    let world = World::new(cluster, "plan", options).await?;
    no_leaders(&world).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    let [well, silent, no_bmc, grace, absent] = &world.hosts[..] else {
        panic!("five hosts were asked for");
    };
    objects::create_health_check(&world, "workers", |check| {
        check["spec"]["unhealthyConditions"] = json!([
            {"type": "Ready", "status": "Unknown", "timeout": "1s"}, {"type": "Slow", "status": "True", "timeout": "1h"},
        ]);
        check["spec"]["maxUnhealthy"] = json!(4);
    })
    .await?;
    let long_ago = json!({"status": {"lastUpdated": "2026-01-01T00:00:00Z"}});
    objects::machines(&world)
        .patch_status(&absent.name, &PatchParams::default(), &Patch::Merge(long_ago))
        .await?;
    world.falls_silent(silent).await?;
    world.falls_silent(no_bmc).await?;
    let kubelet = grace.kubelet.as_ref().context("it has a Node")?;
    kubelet.report_condition("Slow", "True", "Slow").await?;

    past_grace(&world, &kubeconfig, 1).await?;
    past_grace(&world, &kubeconfig, 2).await?;

    // Without a policy nothing would begin.
    world::install::without_policy(&world.client).await?;
    let found = outlooks(&world, &kubeconfig).await?;
    assert_eq!(
        found[1]["remediation"]["outcome"], "PolicyMissing",
        "{}",
        found[1]
    );

    health_checker(&world, "Auto").await?;
    let found = outlooks(&world, &kubeconfig).await?;
    for (outlook, verdict, outcome) in [
        (&found[0], "Healthy", "NotNeeded"),
        (&found[1], "Unhealthy", "Begins"),
        (&found[2], "Unhealthy", "HostNotFound"),
        (&found[3], "Waiting", "Later"),
        (&found[4], "Unhealthy", "IdentityUnproven"),
    ] {
        assert_eq!(outlook["checks"][0]["check"], "workers", "{outlook}");
        assert_eq!(outlook["checks"][0]["verdict"], verdict, "{outlook}");
        assert_eq!(outlook["remediation"]["outcome"], outcome, "{outlook}");
    }
    assert_eq!(found[1]["host"], json!(format!("BMCEndpoint/{}", silent.name)));
    assert!(found[3]["checks"][0]["until"].is_string(), "{}", found[3]);

    node_lease::agree_by_leases(&world.client).await?;
    node_lease::hold(&world, silent, "node-maintenance", 3_600).await?;
    let held = outlooks(&world, &kubeconfig).await?;
    assert_eq!(held[1]["remediation"]["outcome"], "NodeLeaseHeld", "{}", held[1]);
    node_lease::give_back(&world, silent).await?;

    let text = plan(&world, &kubeconfig, &[&silent.name]).await?;
    for part in [
        "remediation: Begins: as soon as the trigger is set for MachineHealthCheck workers",
        "next: read power state and identity at ",
        &format!(
            "power off only if the system UUID is {}",
            silent.bmc.system_uuid()
        ),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    what_the_policy_forbids(&world, &kubeconfig, silent).await?;

    // Without a Node a person has to say which host it is.
    assert_eq!(found[4]["noNode"], "NeverJoined", "{}", found[4]);
    without_a_node(&world, &kubeconfig, absent).await?;

    // One more is one too many.
    let check = json!({"spec": {"maxUnhealthy": 3}});
    objects::health_checks(&world)
        .patch("workers", &PatchParams::default(), &Patch::Merge(check))
        .await?;
    let found = outlooks(&world, &kubeconfig).await?;
    assert_eq!(found[1]["remediation"]["outcome"], "Forbidden", "{}", found[1]);
    let table = plan(&world, &kubeconfig, &[]).await?;
    let row = table
        .lines()
        .find(|line| line.contains(&well.name))
        .context("no row")?;
    assert!(row.contains("Healthy") && row.contains("NotNeeded"), "{row}");
    command_line::is_that_of_kubectl(&world, &kubeconfig).await?;
    assert!(table.contains("(NeverJoined)"), "{table}");

    for host in &world.hosts {
        assert_eq!(host.bmc.counters().tcp_connections, 0, "{} was asked", host.name);
    }
    Ok(rights::has_only_read(&world, cursor).await?)
}

/// Nothing is said to begin where the policy does not let the BMC be reached.
async fn what_the_policy_forbids(world: &World, kubeconfig: &Path, silent: &WorldHost) -> Result<()> {
    let address = silent.bmc.address().ip().to_string();
    let as_it_is = || json!({});
    let unverified = json!({"tls": {"insecureSkipVerify": true}});
    let named = json!({"address": "redfish://bmc.example.org", "tls": {"insecureSkipVerify": null}});
    let networks = |networks: Value| json!({ "allowedNetworks": networks });
    let transport = |least: &str| json!({ "minimumTransport": least });
    let ipmi = json!({"protocols": ["IPMI"]});
    let (protocol_forbidden, elsewhere) = ("BmcProtocolNotAllowed", "BmcAddressNotAllowed");
    let (untrusted, empty) = ("BmcTlsUntrusted", "spec.bmc.allowedNetworks is empty");
    let other = || networks(json!(["192.0.2.0/24"]));
    for (endpoint, rules, outcome, part) in [
        (as_it_is(), ipmi, protocol_forbidden, "does not allow Redfish"),
        (as_it_is(), other(), elsewhere, address.as_str()),
        // A network that only happens to contain a reserved range does not open it.
        (as_it_is(), networks(json!(["0.0.0.0/0"])), elsewhere, &address),
        (as_it_is(), networks(json!([])), elsewhere, empty),
        (unverified, transport("VerifiedTLS"), untrusted, "unverified TLS"),
        (as_it_is(), transport("UnverifiedTLS"), "Begins", "as soon as"),
        // Names are not resolved.
        (named, other(), "Begins", "as soon as"),
        (as_it_is(), networks(json!([])), elsewhere, empty),
    ] {
        objects::patch_endpoint(world, &silent.name, endpoint).await?;
        let mut policy = world::daemon::permissive_policy();
        policy["healthChecker"] = json!("Auto");
        for (field, value) in rules.as_object().into_iter().flatten() {
            policy["bmc"][field] = value.clone();
        }
        world::set_policy(&world.client, policy).await?;
        let remediation = outlook(world, kubeconfig, 1).await?["remediation"].clone();
        assert_eq!(remediation["outcome"], outcome, "{rules}: {remediation}");
        let why = remediation["why"].as_str().unwrap_or_default();
        assert!(why.contains(part), "{part}: {remediation}");
    }
    health_checker(world, "Auto").await
}

/// What is said of a Machine without a Node once a person has said which host it is.
async fn without_a_node(world: &World, kubeconfig: &Path, absent: &WorldHost) -> Result<()> {
    let uuid = json!({"systemUUID": absent.bmc.system_uuid()});
    objects::patch_endpoint(world, &absent.name, uuid).await?;
    let text = plan(world, kubeconfig, &[&absent.name]).await?;
    for part in [
        "no Node: no Node ever joined",
        "remediation: Begins",
        &format!(
            "power off only if the system UUID is {}",
            absent.bmc.system_uuid()
        ),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    Ok(())
}
