//! A plan as it is printed.

use std::io::Write as _;

use crate::cli::plan::outlook::Outlook;
use crate::cli::plan::said::Said;
use crate::cli::show::{Output, table};

/// One line a Machine, then what there is to say of those that are not well.
///
/// # Errors
/// When standard output is gone.
pub(super) fn all(output: Output, outlooks: &[Outlook]) -> anyhow::Result<()> {
    if output == Output::Json {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(outlooks)?)?;
        return Ok(());
    }
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows: Vec<Vec<String>> = outlooks
        .iter()
        .map(|outlook| {
            let worst = outlook.checks.iter().max_by_key(|said| weight(said));
            vec![
                outlook.namespace.clone(),
                outlook.machine.clone().unwrap_or_else(|| "-".to_owned()),
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
    for outlook in outlooks.iter().filter(|outlook| is_worth_a_word(outlook)) {
        writeln!(out)?;
        words(&mut out, outlook)?;
    }
    Ok(())
}

/// Everything about one Machine.
///
/// # Errors
/// When standard output is gone.
pub(super) fn one(output: Output, outlook: &Outlook) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if output == Output::Json {
        writeln!(out, "{}", serde_json::to_string(outlook)?)?;
        return Ok(());
    }
    words(&mut out, outlook)?;
    for (number, step) in (1..).zip(&outlook.steps) {
        writeln!(out, "  {number}. {step}")?;
    }
    Ok(())
}

/// The Node, or why there is none.
fn node(outlook: &Outlook) -> String {
    match (&outlook.node, outlook.no_node) {
        (Some(node), None) => node.clone(),
        (Some(node), Some(why)) => format!("{node} ({why})"),
        (None, Some(why)) => format!("({why})"),
        (None, None) => "-".to_owned(),
    }
}

fn words(out: &mut impl std::io::Write, outlook: &Outlook) -> std::io::Result<()> {
    let namespace = &outlook.namespace;
    match (&outlook.machine, &outlook.node) {
        (Some(machine), _) => writeln!(out, "Machine {namespace}/{machine}")?,
        (None, node) => {
            let node = node.as_deref().unwrap_or_default();
            writeln!(
                out,
                "Node {node}, which has no Machine, with its requests in {namespace}"
            )?;
        }
    }
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
            "  {} {}: {}{why}{until}",
            said.kind, said.check, said.verdict
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
    Ok(())
}

fn is_worth_a_word(outlook: &Outlook) -> bool {
    outlook.triggered
        || outlook.remediation.outcome != "NotNeeded"
        || outlook.checks.iter().any(|said| weight(said) > 0)
}

/// What is told of a Machine that several checks select.
fn weight(said: &Said) -> u8 {
    match said.verdict {
        "Unhealthy" => 4,
        "Unknown" => 3,
        "Waiting" => 2,
        "Skipped" => 1,
        _ => 0,
    }
}
