//! Lays the cost out beside what it may be.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use crate::cost::{Baseline, Cost};
use crate::narrate::print;
use crate::stage::Stage;

/// One line: what, how much, and how much it may be.
struct Row {
    what: String,
    measured: String,
    goal: Option<(String, bool)>,
}

/// Prints what the remediation cost.
pub(crate) async fn show(stage: &Stage, baseline: &Baseline) -> Result<()> {
    let cost = Cost::measure(stage, baseline).await?;
    stage
        .narrator
        .heading("What this remediation cost, and what it may cost");
    let mut rows = bmc(&cost);
    rows.extend(api(&cost));
    rows.extend(process(&cost));
    for row in rows {
        let (goal, mark) = match row.goal {
            Some((goal, ok)) => (goal, stage.narrator.mark(ok)),
            None => (String::new(), String::new()),
        };
        let line = format!("  {:<62} {:>9}   {goal:<11} {mark}", row.what, row.measured);
        print(line.trim_end());
    }
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

fn timed(what: &str, measured: Duration, limit: Duration) -> Row {
    Row {
        what: what.to_owned(),
        measured: format!("{} ms", measured.as_millis()),
        goal: Some((format!("{} ms", limit.as_millis()), measured <= limit)),
    }
}

fn bmc(cost: &Cost) -> Vec<Row> {
    let (counters, talk) = (&cost.counters, &cost.conversation);
    let apart = talk.off_polls.saturating_add(talk.watch);
    // With a session there are two more than with Basic: opening and closing it.
    let floor = if counters.session_create > 0 { 8 } else { 6 };
    let sorted = [
        counters.session_create,
        counters.session_delete,
        talk.identity,
        talk.force_off,
        talk.off_proof,
        talk.on,
        talk.on_reads,
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
        count("GET System: identity and state", talk.identity),
        count("POST ForceOff", talk.force_off),
        count("GET System: proof of Off", talk.off_proof),
        count("POST On", talk.on),
        count("GET System: On", talk.on_reads),
        count("session closed", counters.session_delete),
        count("anything else", others),
        limited(
            &format!(
                "BMC requests apart: polls while the host goes off ({:.1} s)",
                talk.off_took.as_secs_f64()
            ),
            talk.off_polls,
            polls_allowed(talk.off_took),
        ),
        limited(
            &format!(
                "BMC requests apart: watch during release ({:.1} s)",
                cost.fencing.as_secs_f64()
            ),
            talk.watch,
            cost.fencing.as_secs().div_ceil(5).max(1),
        ),
        limited("TLS handshakes", counters.tls_handshakes, 1),
    ]
}

/// 4 + log2(T_off / 0.5 s).
fn polls_allowed(off_took: Duration) -> u64 {
    let halves = u64::try_from(off_took.as_millis()).unwrap_or(u64::MAX) / 500;
    u64::from(halves.max(1).ilog2()).saturating_add(4)
}

fn api(cost: &Cost) -> Vec<Row> {
    let calls = &cost.calls;
    let mut rows = vec![limited("API writes", calls.writes.values().sum(), 6)];
    rows.extend(calls.writes.iter().map(|(what, count_of)| count(what, *count_of)));
    if calls.refused > 0 {
        rows.push(count("of these refused by the API server", calls.refused));
    }
    rows.push(limited("API writes apart: events", calls.events, 2));
    rows.push(limited("API reads: live GETs", calls.gets.values().sum(), 6));
    rows.extend(by_kind(&calls.gets));
    rows.push(Row {
        what: "API reads: LISTs".to_owned(),
        measured: calls.lists.values().sum::<u64>().to_string(),
        goal: None,
    });
    rows.extend(by_kind(&calls.lists));
    rows
}

fn by_kind(counts: &BTreeMap<String, u64>) -> impl Iterator<Item = Row> + '_ {
    counts.iter().map(|(what, count_of)| count(what, *count_of))
}

fn process(cost: &Cost) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(took) = cost.trigger_to_off {
        rows.push(timed(
            "trigger written to power-off accepted",
            took,
            Duration::from_millis(100),
        ));
    }
    if let Some(took) = cost.proof_to_release {
        rows.push(timed(
            "Off proven to workloads released",
            took,
            Duration::from_millis(50),
        ));
    }
    let tenths = cost.peak_bytes.saturating_mul(10) / (1024 * 1024);
    rows.push(Row {
        what: "daemon's peak RSS (this is a debug build)".to_owned(),
        measured: format!("{}.{} MiB", tenths / 10, tenths % 10),
        goal: Some(("12 MiB".to_owned(), tenths <= 120)),
    });
    rows
}
