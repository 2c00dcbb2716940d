//! What one report of a healthy Node costs, in instructions: the event is parsed, narrowed, and compared with what is
//! known. Beside it, the same event as a client parses it that keeps Nodes whole.
//!
//! `make report-bench`. The counts are valgrind's (Debian: `valgrind`); nothing is told of them where it is
//! not installed.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "it prints what it measured"
)]

mod figure;
mod node;

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::Node as WholeNode;
use kube::core::WatchEvent;
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use serde_json::{Map, Value, json};

use self::figure::Figure;

/// Says in a process of our own what is to be done, and how often.
const ROUNDS: &str = "BENCH_REPORT_ROUNDS";
const FEW: u64 = 20;
const MANY: u64 = 220;

fn main() -> Result<()> {
    if let Ok(asked) = std::env::var(ROUNDS) {
        let (who, rounds) = asked.split_once(' ').context("who, and how often")?;
        return repeat(who, rounds.parse()?);
    }
    let event = event()?;
    println!("one report is {} bytes long", event.len());
    if Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("valgrind is not installed: no instructions are counted");
        return Ok(());
    }
    let ours = instructions("ours")?;
    let whole = instructions("whole")?;
    let figure = Figure::new("instructions for a report of a healthy Node", ours, "")
        .at_most(150_000.0)
        .beside(format!("{whole:.0}, parsed whole by k8s-openapi"));
    println!("{}", figure.line());
    Ok(())
}

/// What one round takes: what many take beyond few.
fn instructions(who: &str) -> Result<f64> {
    let few = counted(who, FEW)?;
    let many = counted(who, MANY)?;
    Ok(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
}

fn counted(who: &str, rounds: u64) -> Result<u64> {
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .env(ROUNDS, format!("{who} {rounds}"))
        .output()?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(ended.status.success(), "{said}");
    let line = said.lines().find(|line| line.contains("Collected :"));
    let number = line.and_then(|line| line.rsplit(' ').next());
    number.with_context(|| said.clone())?.parse().context("a count")
}

fn repeat(who: &str, rounds: u64) -> Result<()> {
    let event = event()?;
    let known = ours(&event)?;
    for _ in 0..rounds {
        match who {
            "ours" => {
                let now = ours(std::hint::black_box(&event))?;
                ensure!(now.says_the_same_as(&known), "a report is no news");
            }
            "whole" => drop(std::hint::black_box(whole(std::hint::black_box(&event))?)),
            other => bail!("{other} is nobody"),
        }
    }
    Ok(())
}

/// As the watch of Nodes does it.
fn ours(event: &[u8]) -> Result<Node> {
    let WatchEvent::<Guarded<Node>>::Modified(Guarded(Ok(mut node))) = serde_json::from_slice(event)? else {
        bail!("a Node that can be read was modified");
    };
    node.narrow("topology.kubernetes.io/zone");
    Ok(node)
}

fn whole(event: &[u8]) -> Result<WholeNode> {
    let WatchEvent::<WholeNode>::Modified(node) = serde_json::from_slice(event)? else {
        bail!("a Node was modified");
    };
    Ok(node)
}

/// As an API server sends it, with the fields that its writers own.
fn event() -> Result<Vec<u8>> {
    let mut node = node::node(7);
    let metadata = node.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.context("it has metadata")?;
    let owned = |of: &Value| -> Map<String, Value> {
        let keys = of.as_object().into_iter().flat_map(Map::keys);
        keys.map(|key| (format!("f:{key}"), json!({}))).collect()
    };
    let labels = owned(metadata.get("labels").unwrap_or(&Value::Null));
    let condition = json!({"f:lastHeartbeatTime": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}});
    let conditions: Map<String, Value> = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
        .map(|kind| (format!("k:{{\"type\":\"{kind}\"}}"), condition.clone()))
        .into_iter()
        .collect();
    let writer = |name: &str, fields: Value| {
        json!({"manager": name, "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    };
    let written = json!([
        writer(
            "kubelet",
            json!({"f:metadata": {"f:annotations": {".": {}}, "f:labels": labels}})
        ),
        writer(
            "kubelet",
            json!({"f:status": {"f:conditions": conditions, "f:images": {}, "f:nodeInfo": {"f:bootID": {}}}})
        ),
    ]);
    metadata.insert("managedFields".to_owned(), written);
    metadata.insert("uid".to_owned(), json!(node::uuid(8)));
    metadata.insert("resourceVersion".to_owned(), json!("123456789"));
    metadata.insert("creationTimestamp".to_owned(), json!("2026-01-01T00:00:00Z"));
    // The type comes first, as Go writes it.
    Ok(format!(r#"{{"type":"MODIFIED","object":{node}}}"#).into_bytes())
}
