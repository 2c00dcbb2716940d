//! What has to be true at the end. An error says what was expected and what was seen.

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;

use crate::cost::Baseline;
use crate::stage::{POD, Stage};

pub(super) fn untouched(stage: &Stage) -> Result<()> {
    let truth = stage.host()?.bmc.truth();
    let seen = format!(
        "{} power-offs, {} resets, power {:?}",
        truth.on_to_off, truth.resets, truth.power
    );
    let is = truth.on_to_off == 0 && truth.resets == 0;
    expect(is, "the host was in truth never switched off", &seen)
}

/// Asks the judge, and counts the releases.
pub(super) async fn released(stage: &Stage, baseline: &Baseline, wanted: usize) -> Result<()> {
    let breaches = world::truth::breaches(&stage.world).await?;
    let seen = breaches
        .iter()
        .map(|breach| format!("{}: {}", breach.host, breach.what));
    let seen = seen.collect::<Vec<_>>().join("; ");
    expect(
        breaches.is_empty(),
        "no workload is released while its host is not off in truth",
        &seen,
    )?;
    let releases = world::truth::releases(&stage.world, baseline.cursor, stage.host()?).await?;
    expect(
        releases == wanted,
        &format!("{wanted} releases in the audit log"),
        &format!("{releases}"),
    )
}

pub(super) async fn pod_runs_on(stage: &Stage) -> Result<String> {
    let pods = Api::<Pod>::namespaced(stage.world.client.clone(), &stage.world.namespace);
    let pod = pods
        .get(POD)
        .await
        .with_context(|| format!("expected: pod {POD}\nseen"))?;
    let node = pod.spec.and_then(|spec| spec.node_name);
    node.with_context(|| format!("expected: {POD} runs on a Node\nseen:     it waits for one"))
}

pub(super) fn expect(is: bool, expected: &str, seen: &str) -> Result<()> {
    if !is {
        bail!("expected: {expected}\nseen:     {seen}");
    }
    Ok(())
}
