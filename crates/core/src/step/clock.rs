//! A predecessor whose clock was ahead of ours: what it dated lies in our future, and happened all the same.

use jiff::Timestamp;

use crate::journal::Journal;

/// Takes what a journal says to have happened after `now` for something that happened now, and moves the ends of
/// waits with their beginnings. Else nothing that is seen from now on would count as seen after it: a host would
/// be left off, or not be noticed to come on, for as long as the clocks differ. What counts as old expires no later
/// by it. The record (`timeline`, `failedAttempts`) stays as it was written.
pub(super) fn bring_back(journal: &mut Journal, now: Timestamp) {
    if let Some(intent) = &mut journal.intent {
        // `notAfter` stays: by it one can tell an intent that is journalled anew from one that is only dated back.
        intent.journalled = intent.journalled.min(now);
        intent.acknowledged = intent.acknowledged.map(|time| time.min(now));
    }
    // Of what has ended nothing is read any more.
    let is_over =
        journal.phase.is_final() && journal.standing_hold().is_none() && !journal.may_have_left_off();
    if let Some(hold) = journal.hold.as_mut().filter(|_| !is_over) {
        let times = [
            &mut hold.held,
            &mut hold.kicked,
            &mut hold.detached,
            &mut hold.direct,
            &mut hold.left_to_others,
            &mut hold.undone,
            &mut hold.released,
        ];
        for time in times {
            *time = time.map(|time| time.min(now));
        }
    }
    if journal.phase.is_final() {
        if journal.standing_hold().is_some() {
            // Its BareMetalHost is read since then.
            journal.phase_started = journal.phase_started.map(|time| time.min(now));
        }
        if let Some(escalation) = journal.escalation.as_mut().filter(|one| one.is_open()) {
            escalation.decided = escalation.decided.min(now);
            escalation.held_up_since = escalation.held_up_since.min(now);
        }
        return;
    }
    if let Some(started) = journal.phase_started.filter(|started| *started > now) {
        let ahead = started.duration_since(now);
        let sooner = |time: Timestamp| time.saturating_sub(ahead).unwrap_or(Timestamp::MIN);
        journal.phase_started = Some(now);
        journal.deadline = journal.deadline.map(sooner);
        journal.next_attempt = journal.next_attempt.map(sooner);
    }
    if let Some(evidence) = &mut journal.evidence {
        evidence.acknowledged = evidence.acknowledged.min(now);
        evidence.node_silent = evidence.node_silent.map(|time| time.min(now));
    }
    if let Some(confirmation) = &mut journal.confirmation {
        confirmation.accepted = confirmation.accepted.min(now);
    }
    if let Some(release) = &mut journal.release {
        release.decided = release.decided.min(now);
        release.finished = release.finished.map(|time| time.min(now));
        release.withdrawn = release.withdrawn.map(|time| time.min(now));
    }
}
