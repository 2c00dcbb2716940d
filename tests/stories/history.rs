//! `baremetal-remediator history`: what a remediation did, exported by somebody who may only read, and verified.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::RedfishSpec;
use harness::Cluster;
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::{HostOptions, World, command, install, objects};

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("history").taking(30);
const LONG: Duration = Duration::from_mins(2);

/// Somebody with no other right than the role of whoever plans.
const AUDITOR: &str = "somebody-who-audits";

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// What the program answers to `history`: status, standard output, standard error.
async fn history(kubeconfig: &Path, arguments: &[&str]) -> Result<(Option<i32>, String, String)> {
    command::run(PROGRAM, kubeconfig, &[&["history"], arguments].concat()).await
}

/// A file with this in it, and its path as an argument.
fn file(kubeconfig: &Path, name: &str, text: &str) -> Result<(PathBuf, String)> {
    let path = kubeconfig.with_file_name(name);
    std::fs::write(&path, text)?;
    let argument = path.to_str().context("the path is no text")?.to_owned();
    Ok((path, argument))
}

fn records(export: &str) -> Result<Vec<Value>> {
    let record = |line| Ok(serde_json::from_str::<Value>(line)?["record"].take());
    export.lines().map(record).collect()
}

#[tokio::test]
async fn a_remediation_is_exported_with_its_proof_and_an_edited_byte_is_found() -> world::Outcome {
    let cluster = &control_plane().await?;
    let host = HostOptions {
        simulated: Box::new(|spec| {
            spec.change_redfish(|redfish| RedfishSpec {
                log: (1..=7).map(|number| format!("event {number}")).collect(),
                ..redfish
            })
        }),
        ..HostOptions::default()
    };
    let world = World::new(cluster, "history", vec![host]).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    let name = world.falls_silent_and_is_reported(&world.hosts[0]).await?;
    world.remediation_ended(&name, LONG).await?;
    daemon.stop(LONG).await?;
    install::allow_planning(&world.client, AUDITOR).await?;
    let auditor = &cluster.kubeconfig_for(AUDITOR, &[])?;

    let (status, export, said) = history(auditor, &["export"]).await?;
    assert_eq!(status, Some(0), "{said}");
    let [record] = &records(&export)?[..] else {
        panic!("one remediation: {export}");
    };
    is_evidence(record, &world, &name);

    let (path, argument) = file(auditor, "history.jsonl", &export)?;
    let (status, verified, err) = history(auditor, &["verify", &argument]).await?;
    assert_eq!(status, Some(0), "{err}");
    let last = said
        .trim()
        .strip_prefix("1 records, last hash ")
        .context("no hash")?;
    assert_eq!(verified, format!("1 records, chain whole, last hash {last}\n"));

    // The next day: one is new, one is as it was.
    objects::create_remediation(&world, "by-hand", json!({"machineName": world.hosts[0].name})).await?;
    let go_on = ["export", "--after", &argument, "-n", &world.namespace];
    let (status, more, err) = history(auditor, &go_on).await?;
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(records(&more)?[0]["name"], "by-hand", "{more}");
    let both = export + &more;
    std::fs::write(&path, &both)?;
    let (_, verified, err) = history(auditor, &["verify", &argument]).await?;
    assert!(
        verified.starts_with("2 records, chain whole, "),
        "{verified}{err}"
    );
    let (status, nothing, _) = history(auditor, &go_on).await?;
    assert_eq!((status, nothing.as_str()), (Some(0), ""));

    let (_, edited) = file(auditor, "edited.jsonl", &both.replacen("\"Off\"", "\"On \"", 1))?;
    for verb in [&["verify"][..], &["export", "--after"]] {
        let (status, out, err) = history(auditor, &[verb, &[&edited]].concat()).await?;
        assert_eq!((status, out.as_str()), (Some(1), ""), "{err}");
        assert!(
            err.contains("line 1 is wrong: \"hash\" was expected to be "),
            "{err}"
        );
    }
    let (status, _, err) = history(auditor, &["verify", "/nowhere"]).await?;
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("/nowhere: the export could not be read"), "{err}");
    Ok(())
}

/// What happened, to whom, when, because of whom and by which proof.
fn is_evidence(record: &Value, world: &World, name: &str) {
    let host = &world.hosts[0];
    assert_eq!(record["namespace"], json!(world.namespace), "{record}");
    assert_eq!(record["name"], json!(name), "{record}");
    for target in ["machine", "node"] {
        assert_eq!(record[target], json!(host.name), "{record}");
    }
    let origin = &record["requestedBy"]["annotations"]["baremetal-remediator.io/trigger"];
    assert_eq!(origin, "external-remediation", "{record}");
    let status = &record["status"];
    assert_eq!(status["phase"], "Succeeded", "{record}");
    assert_eq!(status["attempt"], 1, "{record}");
    assert_eq!(
        status["subject"]["systemUUID"],
        json!(host.bmc.system_uuid()),
        "{record}"
    );
    let before = &status["beforePowerOff"];
    assert_eq!(before["power"], "On", "{record}");
    assert_eq!(before["health"], "OK", "{record}");
    assert_eq!(before["bootProgress"], "OSRunning", "{record}");
    assert!(before["lastReset"].is_string(), "{record}");
    let entries = before["bmcLog"]["entries"].as_array();
    let messages = entries.map(|entries| entries.iter().map(|entry| &entry["message"]).collect::<Vec<_>>());
    let newest: Vec<_> = (3..=7)
        .rev()
        .map(|number| json!(format!("event {number}")))
        .collect();
    assert_eq!(messages, Some(newest.iter().collect()), "{record}");
    let reads = status["evidence"]["reads"].as_array();
    assert!(reads.is_some_and(|reads| reads.len() >= 2), "{record}");
    let phases = status["timeline"].as_array();
    assert!(
        phases.is_some_and(|phases| phases.iter().all(|one| one["at"].is_string())),
        "{record}"
    );
    assert!(
        status["conditions"].is_array() && status["bmcSession"].is_null(),
        "{record}"
    );
    assert!(record["unreadable"].is_null(), "{record}");
}
