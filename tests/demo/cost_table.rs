//! Lays the cost out beside what it may be.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use world::conversation::watch_allowed;

use crate::cost::{Baseline, Cost};
use crate::narrate::print;
use crate::stage::Stage;

/// What the protocol needs at the API server, as counted in `tests/counting/cost`.
const WRITES: u64 = 9;
const LIVE_READS: u64 = 7;

/// One line: what, how much, and how much it may be.
struct Row {
    what: String,
    measured: String,
    goal: Option<(String, bool)>,
}

/// Prints what the remediation cost, and fails where that is more than it may be.
pub(crate) async fn show(stage: &Stage, baseline: &Baseline) -> Result<()> {
    let cost = Cost::measure(stage, baseline).await?;
    stage
        .narrator
        .heading("What this remediation cost, and what it may cost");
    let mut rows = bmc(&cost);
    rows.extend(api(&cost));
    rows.extend(process(&cost));
    let mut over = Vec::new();
    for row in rows {
        if row.goal.as_ref().is_some_and(|(_, ok)| !ok) {
            over.push(row.what.trim().to_owned());
        }
        let (goal, mark) = match row.goal {
            Some((goal, ok)) => (goal, stage.narrator.mark(ok)),
            None => (String::new(), String::new()),
        };
        let line = format!("  {:<62} {:>9}   {goal:<11} {mark}", row.what, row.measured);
        print(line.trim_end());
    }
    ensure!(over.is_empty(), "more than it may cost: {}", over.join("; "));
    Ok(())
}

fn count(what: &str, measured: u64) -> Row {
    Row {
        what: format!("    {what}"),
        measured: measured.to_string(),
        goal: None,
    }
}

fn limited(what: &str, measured: u64, limit: u64) -> Row {
    Row {
        what: what.to_owned(),
        measured: measured.to_string(),
        goal: Some((format!("at most {limit}"), measured <= limit)),
    }
}

/// What this run took. It is a debug build beside everything else that the demo runs: that is nothing to judge by.
fn told(what: &str, measured: String) -> Row {
    Row {
        what: what.to_owned(),
        measured,
        goal: None,
    }
}

fn bmc(cost: &Cost) -> Vec<Row> {
    let (counters, asked) = (&cost.counters, &cost.conversation);
    let apart = asked.apart();
    // With a session there are two more than with Basic: opening and closing it.
    let floor = if counters.session_create > 0 { 8 } else { 6 };
    let sorted = [
        counters.session_create,
        counters.session_delete,
        asked.identity,
        asked.force_off,
        asked.off_proof,
        asked.on,
        asked.on_reads,
        apart,
    ];
    let others = counters.requests.saturating_sub(sorted.iter().sum());
    vec![
        limited(
            "BMC requests, without those counted apart",
            counters.requests.saturating_sub(apart),
            floor,
        ),
        count("session opened", counters.session_create),
        count("GET System: identity and state", asked.identity),
        count("POST ForceOff", asked.force_off),
        count("GET System: proof of Off", asked.off_proof),
        count("POST On", asked.on),
        count("GET System: On", asked.on_reads),
        count("session closed", counters.session_delete),
        count("anything else", others),
        limited(
            &format!(
                "BMC requests apart: polls while the host goes off ({:.1} s)",
                asked.off_took.as_secs_f64()
            ),
            asked.off_polls,
            asked.polls_allowed(),
        ),
        limited(
            &format!(
                "BMC requests apart: watch during release ({:.1} s)",
                cost.fencing.as_secs_f64()
            ),
            asked.watch,
            watch_allowed(cost.fencing),
        ),
        limited("TLS handshakes", counters.tls_handshakes, 1),
    ]
}

fn api(cost: &Cost) -> Vec<Row> {
    let calls = &cost.calls;
    let mut rows = vec![limited("API writes", calls.writes.values().sum(), WRITES)];
    rows.extend(calls.writes.iter().map(|(what, count_of)| count(what, *count_of)));
    let apart = [
        ("refused, as others wrote first", calls.refused),
        ("denied by the role, tried once by a process", calls.denied),
        ("conditions of the policy", calls.of_policy),
        ("told whom the release waits for", calls.waiting),
        ("and reads of who evaluates health checks", calls.of_evaluators),
    ];
    let apart = apart.map(|(what, count)| told(&format!("API writes apart: {what}"), count.to_string()));
    rows.extend(apart);
    rows.push(limited("API writes apart: events", calls.events, 2));
    rows.push(limited(
        "API reads: live GETs",
        calls.gets.values().sum(),
        LIVE_READS.saturating_add(calls.denied.min(1)),
    ));
    rows.extend(by_kind(&calls.gets));
    let lists: u64 = calls.lists.values().sum();
    rows.push(told("API reads: LISTs", lists.to_string()));
    rows.extend(by_kind(&calls.lists));
    rows
}

fn by_kind(counts: &BTreeMap<String, u64>) -> impl Iterator<Item = Row> + '_ {
    counts.iter().map(|(what, count_of)| count(what, *count_of))
}

fn process(cost: &Cost) -> Vec<Row> {
    let took = |took: Duration| format!("{} ms", took.as_millis());
    let tenths = cost.peak_bytes.saturating_mul(10) / (1024 * 1024);
    let timed = [
        ("trigger written to power-off accepted", cost.trigger_to_off),
        ("Off proven to workloads released", cost.proof_to_release),
    ];
    let mut rows = vec![told("This debug build, on this machine:", String::new())];
    rows.extend(
        timed
            .into_iter()
            .filter_map(|(what, time)| Some(told(&format!("    {what}"), took(time?)))),
    );
    let peak = format!("{}.{} MiB", tenths / 10, tenths % 10);
    rows.push(told("    peak RSS", peak));
    rows
}
