//! How soon a host may be power-cycled once more: a condition that a reboot does not clear must not
//! power-cycle it again and again, whoever puts the trigger back and however many attempts each remediation took.
//! And how soon that is tried again, where a remediation failed without having touched it.

use jiff::{SignedDuration, Timestamp};

use super::{Ineligible, Rule};
use crate::phase::Reason;
use crate::{after, doubling};

/// Pause after the first power cycle; each further one within [`WINDOW`] doubles it.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// For how long a power cycle is counted.
const WINDOW: SignedDuration = SignedDuration::from_hours(24);

/// Power cycles of one host within [`WINDOW`].
const MOST: usize = 3;

/// What forbids another power cycle now, and until when. Only remediations that still exist count: who deletes them
/// lifts this.
pub(super) fn too_soon(machine: &str, power_cycles: &[Timestamp], now: Timestamp) -> Option<Ineligible> {
    let counted = |ended: &Timestamp| after(*ended, WINDOW) > now;
    let mut ended: Vec<Timestamp> = power_cycles.iter().copied().filter(counted).collect();
    ended.sort_unstable_by(|one, other| other.cmp(one));
    let newest = ended.first()?;
    let number = u32::try_from(ended.len()).unwrap_or(u32::MAX);
    let (reason, until) = match ended.get(MOST.saturating_sub(1)) {
        Some(first_of_most) => (Reason::TooManyPowerCycles, after(*first_of_most, WINDOW)),
        None => (
            Reason::PowerCycledRecently,
            after(*newest, doubling(FIRST_PAUSE, number, WINDOW)),
        ),
    };
    let times = if ended.len() == 1 { "once" } else { "repeatedly" };
    let detail = format!(
        "the host of Machine {machine} was power-cycled {times} within 24 h, last until {newest}; \
         not before {until} again"
    );
    (until > now).then(|| Rule::NotTooOften.because(reason, detail).until(until))
}

/// What forbids another remediation now, and until when, after those that failed without having touched the host.
/// Three of them are kept, so that the pause is 20 min at the most.
pub(super) fn in_vain(machine: &str, failed: &[Timestamp], now: Timestamp) -> Option<Ineligible> {
    let counted = failed.iter().filter(|at| after(**at, WINDOW) > now);
    let number = u32::try_from(counted.clone().count()).unwrap_or(u32::MAX);
    let newest = counted.max()?;
    let until = after(*newest, doubling(FIRST_PAUSE, number, WINDOW));
    let detail = format!(
        "a remediation of Machine {machine} failed at {newest} without having touched its host; not before {until} again"
    );
    let too_soon = Rule::NotTooOften.because(Reason::RemediationFailedRecently, detail);
    (until > now).then(|| too_soon.until(until))
}
