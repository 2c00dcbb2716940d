//! How busy the processors are. Stories mostly wait, but not all of them, and not all the time: a fixed number of them
//! either leaves processors idle or has stories starve, whose deadlines then pass.

use std::fs;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Between two looks. Long enough for a story that has begun to be seen, short beside what stories take.
pub(super) const PAUSE: Duration = Duration::from_secs(3);
/// Per cent of the time idle: with more there is room for one story more, with less there is one too many.
const IDLE: RangeInclusive<u64> = 15..=30;

/// What the processors have done until now, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    all: u64,
}

/// What the processors did since the last look.
pub(super) struct Processors(Option<Ticks>);

/// Whether there are too many stories at once, or too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    ForMore,
    Enough,
    ForLess,
}

impl Processors {
    pub(super) fn new() -> Self {
        Self(read())
    }

    /// Since the last time. Where it cannot be known there is enough.
    pub(super) fn room(&mut self) -> Room {
        let now = read();
        let before = std::mem::replace(&mut self.0, now);
        now.zip(before)
            .map_or(Room::Enough, |(now, before)| room(now, before))
    }
}

fn read() -> Option<Ticks> {
    parse(&fs::read_to_string("/proc/stat").ok()?)
}

/// Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
fn parse(stat: &str) -> Option<Ticks> {
    let mut fields = stat.lines().next()?.split_whitespace();
    if fields.next()? != "cpu" {
        return None;
    }
    let ticks: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
    Some(Ticks {
        idle: *ticks.get(3)?,
        all: ticks.iter().sum(),
    })
}

fn room(now: Ticks, before: Ticks) -> Room {
    let (idle, all) = (
        now.idle.saturating_sub(before.idle),
        now.all.saturating_sub(before.all),
    );
    let Some(percent) = idle.saturating_mul(100).checked_div(all) else {
        return Room::Enough;
    };
    if percent > *IDLE.end() {
        Room::ForMore
    } else if percent < *IDLE.start() {
        Room::ForLess
    } else {
        Room::Enough
    }
}

#[cfg(test)]
mod tests {
    use super::{Room, Ticks, parse, room};

    #[test]
    fn the_line_of_all_processors_is_read() {
        let stat = "cpu  10 1 5 80 2 1 1 0 0 0\ncpu0 5 0 2 40 1 0 0 0 0 0\n";
        assert_eq!(parse(stat), Some(Ticks { idle: 80, all: 100 }));
        assert_eq!(parse("cpu0 5 0 2 40 1 0 0 0 0 0"), None);
        assert_eq!(parse("cpu  10 1"), None);
    }

    #[test]
    fn idle_processors_have_room_and_busy_ones_have_not() {
        let before = Ticks { idle: 50, all: 100 };
        let after = |idle: u64| {
            room(
                Ticks {
                    idle: 50 + idle,
                    all: 200,
                },
                before,
            )
        };
        assert_eq!(after(31), Room::ForMore);
        assert_eq!(after(30), Room::Enough);
        assert_eq!(after(15), Room::Enough);
        assert_eq!(after(14), Room::ForLess);
        assert_eq!(room(before, before), Room::Enough);
    }
}
