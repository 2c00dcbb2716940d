//! What a process has used so far.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Ticks of `/proc/<pid>/stat` in a second (proc(5): `sysconf(_SC_CLK_TCK)`, which Linux has fixed for programs).
const TICKS: u64 = 100;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Of all its threads, in user mode and in the kernel.
    pub(crate) cpu: Duration,
    /// Memory that is resident, in bytes.
    pub(crate) resident: u64,
    /// The most that was.
    pub(crate) peak: u64,
}

pub(crate) fn usage(pid: u32) -> Result<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Its name may have anything in it, but ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |field: usize| -> Result<u64> { Ok(fields.get(field).context("too short")?.parse()?) };
    let cpu = Duration::from_millis((ticks(11)? + ticks(12)?) * 1_000 / TICKS);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kibibytes = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let line = line.with_context(|| format!("no {name}"))?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1_024)
    };
    Ok(Usage {
        cpu,
        resident: kibibytes("VmRSS:")?,
        peak: kibibytes("VmHWM:")?,
    })
}
