//! A plan as it is printed.

use std::io::{self, Write};

use serde::Serialize;

use crate::cli::plan::checks::CheckReport;
use crate::cli::plan::entry::Entry;
use crate::cli::plan::node_health_checks::CheckEntry;
use crate::cli::show::{Output, table};

/// Everything that is to be said.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    pub(super) machines: Vec<Entry>,
    pub(super) node_health_checks: Vec<CheckEntry>,
}

const HEADINGS: [&str; 8] = [
    "NAMESPACE",
    "MACHINE",
    "NODE",
    "HEALTH",
    "CHECK",
    "REMEDIATION",
    "HOST",
    "BMC",
];

/// One line a Machine, then what there is to say of those that are not well, then the NodeHealthChecks.
pub(super) fn all(output: Output, plan: &Plan) -> anyhow::Result<()> {
    if output.for_programs(plan)? {
        return Ok(());
    }
    let rows: Vec<Vec<String>> = plan.machines.iter().map(row).collect();
    table(&HEADINGS, &rows)?;
    let mut out = io::stdout().lock();
    for entry in plan.machines.iter().filter(|entry| is_told(entry)) {
        writeln!(out)?;
        machine(&mut out, entry)?;
    }
    for check in &plan.node_health_checks {
        writeln!(out, "\nNodeHealthCheck {}", check.name)?;
        for template in &check.templates {
            writeln!(out, "  makes requests from {template}")?;
        }
        if let Some(obstacle) = &check.obstacle {
            writeln!(out, "  {}: {}", obstacle.reason, obstacle.why)?;
        }
        writeln!(out, "  status, as its operator wrote it:")?;
        for line in serde_saphyr::to_string(&check.status)?.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// Everything about one Machine.
pub(super) fn one(output: Output, entry: &Entry) -> anyhow::Result<()> {
    if output.for_programs(entry)? {
        return Ok(());
    }
    Ok(machine(&mut io::stdout().lock(), entry)?)
}

fn row(entry: &Entry) -> Vec<String> {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let worst = entry.checks.iter().max_by_key(|check| weight(check));
    let no_node = entry.no_node.map(|why| format!(" ({why})")).unwrap_or_default();
    vec![
        entry.namespace.clone(),
        entry.machine.clone(),
        format!("{}{no_node}", or_none(&entry.node)),
        worst.map_or("-", |check| check.verdict).to_owned(),
        or_none(&worst.map(|check| check.check.clone())),
        entry.remediation.outcome.clone(),
        or_none(&entry.host),
        or_none(&entry.bmc),
    ]
}

fn machine(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    writeln!(out, "Machine {}/{}", entry.namespace, entry.machine)?;
    if let Some(cluster) = &entry.cluster {
        writeln!(out, "  Cluster API, with its Node in workload cluster {cluster}")?;
    }
    match (entry.no_node, &entry.node) {
        (None, _) => {}
        (Some(_), None) => writeln!(out, "  no Node: no Node ever joined")?,
        (Some(_), Some(node)) => writeln!(out, "  no Node: Node {node} does not exist")?,
    }
    for check in &entry.checks {
        write!(out, "  MachineHealthCheck {}: {}", check.check, check.verdict)?;
        if let Some(why) = &check.why {
            write!(out, ", {why}")?;
        }
        if let Some(until) = check.until {
            write!(out, ", until {until}")?;
        }
        writeln!(out)?;
        if let Some(template) = &check.template {
            writeln!(out, "    makes requests from {template}")?;
        }
        let by = &check.evaluated_by;
        writeln!(out, "    evaluated by {}: {}", by.who, by.why)?;
        if !check.limit.is_empty() {
            writeln!(out, "    {}", check.limit)?;
        }
    }
    let bmc = entry.bmc.as_deref().unwrap_or("no BMC is known");
    let host = entry.host.as_deref().unwrap_or("no host is known");
    writeln!(out, "  host: {host} at {bmc}")?;
    if let Some(quarantine) = &entry.quarantine {
        let (since, names) = (quarantine.since, quarantine.remediations.join(", "));
        writeln!(
            out,
            "  in quarantine since {since:.0} by {names}. {}",
            quarantine.until
        )?;
    }
    let remediation = &entry.remediation;
    writeln!(out, "  remediation: {}: {}", remediation.outcome, remediation.why)?;
    if let Some(template) = &remediation.template {
        writeln!(out, "  as PowerCycleRemediationTemplate {template} has it")?;
    }
    if let Some(next) = &remediation.next {
        writeln!(out, "  next: {next}")?;
    }
    Ok(())
}

/// Whether there is more to say of a Machine than its row.
fn is_told(entry: &Entry) -> bool {
    entry.triggered
        || entry.quarantine.is_some()
        || entry.remediation.outcome != "NotNeeded"
        || entry.checks.iter().any(|check| weight(check) > 0)
}

/// Of several checks the one that weighs most is shown in the row.
fn weight(check: &CheckReport) -> u8 {
    match check.verdict {
        "Unhealthy" => 4,
        "Unknown" => 3,
        "Waiting" => 2,
        "Skipped" => 1,
        _ => 0,
    }
}
