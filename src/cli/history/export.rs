//! `history export`.

use std::io::Write as _;

use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use remediator_api::PowerCycleRemediation;

use super::chain::Chain;
use super::record::Record;
use crate::api_call::each;
use crate::cli::cluster::ClusterArguments;
use crate::cli::progress::Progress;

pub(super) async fn export(cluster: &ClusterArguments, mut chain: Chain) -> anyhow::Result<()> {
    let lines = lines(&mut chain, records(cluster).await?)?;
    std::io::stdout().lock().write_all(lines.as_bytes())?;
    let told = format!("{} records, last hash {}", chain.count, chain.last);
    Ok(writeln!(std::io::stderr().lock(), "{told}")?)
}

/// The records of a namespace, or of all.
async fn records(cluster: &ClusterArguments) -> anyhow::Result<Vec<Record>> {
    let (client, _) = cluster.connect().await?;
    let kind = ApiResource::erase::<PowerCycleRemediation>(&());
    let objects: Api<DynamicObject> = match &cluster.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &kind),
        None => Api::all_with(client, &kind),
    };
    let mut records = Vec::new();
    let progress = Progress::begin();
    let note = |object| {
        records.push(Record::of(&object));
        progress.say(&format!("{} records read", records.len()));
    };
    each(
        "listing PowerCycleRemediations",
        &objects,
        &ListParams::default(),
        note,
    )
    .await?;
    Ok(records.into_iter().collect::<Result<_, _>>()?)
}

/// What is appended to a chain: each record that does not stand there unchanged, the oldest object first.
pub(super) fn lines(chain: &mut Chain, mut records: Vec<Record>) -> anyhow::Result<String> {
    records.retain(|record| !chain.has(&record.uid, &record.resource_version));
    records.sort_by(|a, b| (a.created, &a.namespace, &a.name).cmp(&(b.created, &b.namespace, &b.name)));
    let mut lines = String::new();
    for record in &records {
        lines.push_str(&chain.link(&serde_json::to_string(record)?));
        lines.push('\n');
    }
    Ok(lines)
}
