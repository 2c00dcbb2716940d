//! A plan as it is printed.

use std::io::Write as _;

use serde::Serialize;

use crate::cli::plan::check_report::CheckReport;
use crate::cli::plan::entry::Entry;
use crate::cli::plan::node_health_checks::Shown;
use crate::cli::show::{Output, table};

/// Everything that is to be said.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    pub(super) machines: Vec<Entry>,
    pub(super) node_health_checks: Vec<Shown>,
}

/// One line a Machine, then what there is to say of those that are not well, then the NodeHealthChecks.
///
/// # Errors
/// When standard output is gone.
pub(super) fn all(output: Output, plan: &Plan) -> anyhow::Result<()> {
    if output == Output::Json {
        return json(plan);
    }
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows: Vec<Vec<String>> = plan
        .machines
        .iter()
        .map(|outlook| {
            let worst = outlook.checks.iter().max_by_key(|said| weight(said));
            vec![
                outlook.namespace.clone(),
                outlook.machine.clone(),
                node(outlook),
                worst.map_or("-", |said| said.verdict).to_owned(),
                worst.map_or_else(|| "-".to_owned(), |said| said.check.clone()),
                outlook.remediation.outcome.clone(),
                shown(&outlook.host),
                shown(&outlook.bmc),
            ]
        })
        .collect();
    let headings = [
        "NAMESPACE",
        "MACHINE",
        "NODE",
        "HEALTH",
        "CHECK",
        "REMEDIATION",
        "HOST",
        "BMC",
    ];
    table(&headings, &rows)?;
    let mut out = std::io::stdout().lock();
    for outlook in plan.machines.iter().filter(|outlook| is_worth_a_word(outlook)) {
        writeln!(out)?;
        words(&mut out, outlook)?;
    }
    for check in &plan.node_health_checks {
        writeln!(out)?;
        node_health_check(&mut out, check)?;
    }
    Ok(())
}

/// Everything about one Machine.
///
/// # Errors
/// When standard output is gone.
pub(super) fn one(output: Output, outlook: &Entry) -> anyhow::Result<()> {
    if output == Output::Json {
        return json(outlook);
    }
    Ok(words(&mut std::io::stdout().lock(), outlook)?)
}

fn json(shown: &impl Serialize) -> anyhow::Result<()> {
    writeln!(std::io::stdout().lock(), "{}", serde_json::to_string(shown)?)?;
    Ok(())
}

/// A NodeHealthCheck, and all that its operator says.
fn node_health_check(out: &mut impl std::io::Write, check: &Shown) -> anyhow::Result<()> {
    writeln!(out, "NodeHealthCheck {}", check.name)?;
    for template in &check.templates {
        writeln!(out, "  makes requests from {template}")?;
    }
    if let Some(hindrance) = &check.obstacle {
        writeln!(out, "  {}: {}", hindrance.reason, hindrance.why)?;
    }
    writeln!(out, "  status, as its operator wrote it:")?;
    for line in serde_saphyr::to_string(&check.status)?.lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// The Node, or why there is none.
fn node(outlook: &Entry) -> String {
    match (&outlook.node, outlook.no_node) {
        (Some(node), None) => node.clone(),
        (Some(node), Some(why)) => format!("{node} ({why})"),
        (None, Some(why)) => format!("({why})"),
        (None, None) => "-".to_owned(),
    }
}

fn words(out: &mut impl std::io::Write, outlook: &Entry) -> std::io::Result<()> {
    writeln!(out, "Machine {}/{}", outlook.namespace, outlook.machine)?;
    if let Some(cluster) = &outlook.cluster {
        writeln!(out, "  Cluster API, with its Node in workload cluster {cluster}")?;
    }
    if outlook.no_node.is_some() {
        let named = outlook.node.as_ref();
        let what = named.map_or_else(
            || "no Node ever joined".to_owned(),
            |node| format!("Node {node} does not exist"),
        );
        writeln!(out, "  no Node: {what}")?;
    }
    for said in &outlook.checks {
        let why = said
            .why
            .as_ref()
            .map(|why| format!(", {why}"))
            .unwrap_or_default();
        let until = said
            .until
            .map(|until| format!(", until {until}"))
            .unwrap_or_default();
        writeln!(
            out,
            "  MachineHealthCheck {}: {}{why}{until}",
            said.check, said.verdict
        )?;
        if let Some(template) = &said.template {
            writeln!(out, "    makes requests from {template}")?;
        }
        let evaluated_by = &said.evaluated_by;
        writeln!(out, "    evaluated by {}: {}", evaluated_by.who, evaluated_by.why)?;
        if !said.limit.is_empty() {
            writeln!(out, "    {}", said.limit)?;
        }
    }
    let bmc = outlook.bmc.as_deref().unwrap_or("no BMC is known");
    let host = outlook.host.as_deref().unwrap_or("no host is known");
    writeln!(out, "  host: {host} at {bmc}")?;
    let remediation = &outlook.remediation;
    writeln!(out, "  remediation: {}: {}", remediation.outcome, remediation.why)?;
    if let Some(template) = &remediation.template {
        writeln!(out, "  as PowerCycleRemediationTemplate {template} has it")?;
    }
    if let Some(next) = &remediation.next {
        writeln!(out, "  next: {next}")?;
    }
    Ok(())
}

fn is_worth_a_word(outlook: &Entry) -> bool {
    outlook.triggered
        || outlook.remediation.outcome != "NotNeeded"
        || outlook.checks.iter().any(|said| weight(said) > 0)
}

/// What is told of a Machine that several checks select.
fn weight(said: &CheckReport) -> u8 {
    match said.verdict {
        "Unhealthy" => 4,
        "Unknown" => 3,
        "Waiting" => 2,
        "Skipped" => 1,
        _ => 0,
    }
}
