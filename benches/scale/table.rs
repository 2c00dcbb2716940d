//! What was measured, for people and for machines, beside the goals.

use serde_json::json;

use crate::Measured;

pub(crate) const HEAD: &str = "   hosts  decides  CPU start  rests after   RSS at rest  peak, first start  CPU / report  CPU / lost Node";

const MEBIBYTE: f64 = 1_048_576.0;

pub(crate) fn row(measured: &Measured) -> String {
    format!(
        "{:>8} {:>6.2} s {:>8.2} s {:>10.1} s {:>9.1} MiB {:>14.1} MiB {:>10.3} ms {:>13.3} ms",
        measured.hosts,
        measured.decides_after.as_secs_f64(),
        measured.start.cpu.as_secs_f64(),
        measured.rests_after.as_secs_f64(),
        measured.at_rest.resident as f64 / MEBIBYTE,
        measured.first_peak as f64 / MEBIBYTE,
        measured.per_report.as_secs_f64() * 1_000.0,
        measured.per_lost.as_secs_f64() * 1_000.0,
    )
}

/// The goals beside what was measured, a line each.
pub(crate) fn goals(all: &[Measured], binary: u64) -> Vec<String> {
    let mut lines = vec![format!("{:<58} {:>12} {:>12}", "", "goal", "measured")];
    let mut line = |what: String, goal: &str, found: String| {
        lines.push(format!("{what:<58} {goal:>12} {found:>12}"));
    };
    for one in all {
        let hosts = one.hosts;
        let resident = one.at_rest.resident as f64;
        let most = match hosts {
            ..=100 => Some("12 MiB"),
            10_000 => Some("32 MiB"),
            _ => None,
        };
        if let Some(most) = most {
            line(
                format!("memory at rest, {hosts} hosts"),
                most,
                format!("{:.1} MiB", resident / MEBIBYTE),
            );
        }
        line(
            format!("peak of a start : at rest, {hosts} hosts"),
            "1.30",
            format!("{:.2}", one.start.peak as f64 / resident),
        );
        line(
            format!("processor for a report of a healthy Node, {hosts} hosts"),
            "0.050 ms",
            format!("{:.3} ms", one.per_report.as_secs_f64() * 1_000.0),
        );
        if hosts == 10_000 {
            line(
                format!("from the start until it decides, {hosts} hosts"),
                "5.0 s",
                format!("{:.1} s", one.decides_after.as_secs_f64()),
            );
            line(
                format!("from there until it rests, {hosts} hosts"),
                "1.0 s",
                format!("{:.1} s", one.rests_after.as_secs_f64()),
            );
        }
    }
    if let (Some(few), Some(many)) = (all.first(), all.last())
        && few.hosts < many.hosts
    {
        let more = (many.hosts - few.hosts) as f64;
        let slope = (many.at_rest.resident as f64 - few.at_rest.resident as f64) / more / 1_024.0;
        line(
            "memory for each host".to_owned(),
            "2.0 KiB",
            format!("{slope:.1} KiB"),
        );
        let exponent = |few_cost: f64, many_cost: f64| {
            (many_cost / few_cost).ln() / (many.hosts as f64 / few.hosts as f64).ln()
        };
        let cpu = exponent(few.start.cpu.as_secs_f64(), many.start.cpu.as_secs_f64());
        line(
            "scaling exponent of a start".to_owned(),
            "1.05",
            format!("{cpu:.2}"),
        );
        let report = exponent(few.per_report.as_secs_f64(), many.per_report.as_secs_f64());
        line(
            "scaling exponent of a report".to_owned(),
            "0.10",
            format!("{report:.2}"),
        );
    }
    line(
        "program as it is built here".to_owned(),
        "15.0 MiB",
        format!("{:.1} MiB", binary as f64 / MEBIBYTE),
    );
    lines
}

pub(crate) fn for_machines(measured: &Measured) -> serde_json::Value {
    json!({
        "hosts": measured.hosts,
        "decidesAfterSeconds": measured.decides_after.as_secs_f64(),
        "startCpuSeconds": measured.start.cpu.as_secs_f64(),
        "restsAfterSeconds": measured.rests_after.as_secs_f64(),
        "residentBytes": measured.at_rest.resident,
        "residentAfterReportsBytes": measured.after_reports.resident,
        "peakBytes": measured.after_reports.peak,
        "peakOfFirstStartBytes": measured.first_peak,
        "cpuSecondsPerReport": measured.per_report.as_secs_f64(),
        "cpuSecondsPerLostNode": measured.per_lost.as_secs_f64(),
    })
}
