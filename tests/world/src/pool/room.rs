//! How many stories have room at once: as many as the processors bear. Where too many run, a control plane takes minutes to
//! start, and what a story waits for comes too late; where too few run, the processors wait.

use std::thread;
use std::time::Duration;

/// Stories at once by what they weigh: at first, at least and at most.
pub(super) const FIRST: usize = 14;
const BOUNDS: std::ops::RangeInclusive<usize> = 8..=28;
/// Below the one there is room for a story more, above the other for one fewer: per cent of the time of all processors.
const BUSY: (u64, u64) = (70, 90);
const INTERVAL: Duration = Duration::from_secs(5);

/// What the processors did since the start of the machine, in ticks of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    all: u64,
}

/// Tells how many stories have room, as often as it changes, for as long as the process runs. Where the processors of
/// `/proc/stat` are not those that we may use, nobody knows, and it tells nothing.
pub(super) fn watch(tell: impl Fn(usize) + Send + 'static) {
    thread::spawn(move || {
        let (mut room, mut before) = (FIRST, None);
        while let Some(now) = std::fs::read_to_string("/proc/stat")
            .ok()
            .as_deref()
            .and_then(read)
        {
            let changed = before.map_or(room, |before| next(room, before, now));
            if changed != room {
                room = changed;
                tell(room);
            }
            before = Some(now);
            thread::sleep(INTERVAL);
        }
    });
}

/// The room after an interval.
fn next(room: usize, before: Ticks, now: Ticks) -> usize {
    let busy = now.busy.saturating_sub(before.busy).saturating_mul(100);
    let per_cent = busy.checked_div(now.all.saturating_sub(before.all));
    let changed = match per_cent {
        Some(busy) if busy < BUSY.0 => room.saturating_add(1),
        Some(busy) if busy > BUSY.1 => room.saturating_sub(1),
        Some(_) | None => room,
    };
    changed.clamp(*BOUNDS.start(), *BOUNDS.end())
}

/// Reads `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal. What is nice takes only what is
/// left over (tests/run.py), so it does not count as busy.
fn read(stat: &str) -> Option<Ticks> {
    let processors = stat
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    if processors.count() != thread::available_parallelism().ok()?.get() {
        return None;
    }
    let of_all = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = of_all
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let [user, nice, system, idle, waiting, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let busy = [user, system, irq, softirq, steal].iter().sum();
    let all = [busy, nice, idle, waiting].iter().sum();
    Some(Ticks { busy, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_more_where_processors_wait_and_for_fewer_where_all_are_busy() {
        let after = |room, busy| {
            let before = Ticks {
                busy: 500,
                all: 1_000,
            };
            let now = Ticks {
                busy: before.busy + busy,
                all: before.all + 100,
            };
            next(room, before, now)
        };
        assert_eq!([after(14, 20), after(14, 80), after(14, 95)], [15, 14, 13]);
        assert_eq!([after(28, 0), after(8, 100)], [28, 8]);
    }

    #[test]
    fn what_is_nice_leaves_room() {
        let count = thread::available_parallelism().expect("known").get();
        let of_each = "cpu0 1 1 1 1\n";
        let stat = format!("cpu  10 20 30 40 50 6 7 8 0 0\n{}intr 1\n", of_each.repeat(count));
        assert_eq!(read(&stat), Some(Ticks { busy: 61, all: 171 }));
        assert_eq!(read(&format!("{stat}{of_each}")), None);
    }
}
