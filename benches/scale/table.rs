//! What was measured, for people and for machines, beside the goals.

use std::time::Duration;

use crate::Measured;
use crate::figure::Figure;

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

/// The figures that there are goals for.
pub(crate) fn figures(all: &[Measured], binary: u64) -> Vec<Figure> {
    let mut figures: Vec<Figure> = all.iter().flat_map(of_one).collect();
    if let (Some(few), Some(many)) = (all.first(), all.last())
        && few.hosts < many.hosts
    {
        figures.extend(slopes(few, many));
    }
    let binary = binary as f64 / MEBIBYTE;
    figures.push(Figure::new("program as it is built here", binary, "MiB").at_most(15.0));
    figures
}

fn of_one(one: &Measured) -> Vec<Figure> {
    let hosts = one.hosts;
    let of = |what: &str, measured, unit| Figure::new(format!("{what}, {hosts} hosts"), measured, unit);
    let resident = one.at_rest.resident as f64;
    let memory = of("memory at rest", resident / MEBIBYTE, "MiB");
    let mut figures = vec![
        match hosts {
            ..=100 => memory.at_most(12.0),
            10_000 => memory
                .at_most(32.0)
                .beside("312 MiB, a typed cache of Nodes alone"),
            _ => memory,
        },
        of("processor of a start", one.start.cpu.as_secs_f64(), "s"),
        of("peak of a start : at rest", one.start.peak as f64 / resident, "").at_most(1.3),
        of(
            "processor for a report of a healthy Node",
            milliseconds(one.per_report),
            "ms",
        )
        .at_most(0.05),
        of(
            "processor for a Node that is lost",
            milliseconds(one.per_lost),
            "ms",
        ),
    ];
    if hosts == 10_000 {
        let (decides, rests) = (one.decides_after.as_secs_f64(), one.rests_after.as_secs_f64());
        figures.push(of("from the start until it decides", decides, "s").at_most(5.0));
        figures.push(of("from there until it rests", rests, "s").at_most(1.0));
        // A kubelet of a healthy Node reports every five minutes (Kubernetes, `nodeStatusReportFrequency`).
        let share = one.per_report.as_secs_f64() * hosts as f64 / 300.0 * 100.0;
        figures.push(of("share of a core, nothing happens", share, "%").at_most(2.0));
    }
    figures
}

/// How the figures grow from few hosts to many.
fn slopes(few: &Measured, many: &Measured) -> Vec<Figure> {
    let more = (many.hosts - few.hosts) as f64;
    let memory = (many.at_rest.resident as f64 - few.at_rest.resident as f64) / more / 1_024.0;
    let exponent = |of: fn(&Measured) -> Duration| {
        let cost = of(many).as_secs_f64() / of(few).as_secs_f64();
        cost.ln() / (many.hosts as f64 / few.hosts as f64).ln()
    };
    vec![
        Figure::new("memory for each host", memory, "KiB").at_most(2.0),
        Figure::new("scaling exponent of a start", exponent(|one| one.start.cpu), "").at_most(1.05),
        Figure::new("scaling exponent of a report", exponent(|one| one.per_report), "").at_most(0.1),
    ]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
