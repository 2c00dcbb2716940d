//! What a command of ours may still do: until when it may be carried out, and what the reads since then say.

use jiff::{SignedDuration, Timestamp};

use super::{RECHECK, Step, after};
use crate::journal::{Intent, Verb};
use crate::observed::PowerRead;
use crate::power::PowerState;
use crate::power_command::SETTLE;
use crate::proof;

/// For how long Ironic tries to power a host off that it has begun with: what has stopped baremetal-operator since, such
/// as a pause, stops no Ironic. Source: `power_state_change_timeout` of metal3's ironic-image, 120 s.
const LATE_POWER_OFF: SignedDuration = SignedDuration::from_mins(3);

impl Step<'_> {
    /// Whether a command of ours may have been carried out, or not carried out, so that the host is or goes off.
    pub(super) fn may_still_be_off(&self) -> bool {
        let Some(intent) = &self.journal.intent else {
            return false;
        };
        if intent.verb.takes_down() && self.nothing_was_sent(intent) {
            return false;
        }
        let sent = self.delivery(intent).since().unwrap_or(intent.journalled);
        // The only power-off there was is over once Off was seen; else it may come late.
        let is_done = intent.verb.takes_down()
            && !self.is_held_by_metal3()
            && intent.sends == 1
            && self.was_seen_off(sent);
        let over = if is_done { Some(sent) } else { self.over_at(intent) };
        let seen_on = over.and_then(|over| self.right_read_since(over));
        seen_on.is_none_or(|read| read.power != PowerState::On)
    }

    /// Whether the BMC has said nothing but On for a while since a command was over, whatever the Node says.
    pub(super) fn is_on_for_long(&self, intent: &Intent) -> bool {
        let since = self.over_at(intent).zip(self.said_since(PowerState::On));
        let newest = self.facts.observed.last_read().map(|read| read.began);
        let long = since.map(|(over, on)| after(over.max(on), RECHECK));
        long.zip(newest).is_some_and(|(long, newest)| long <= newest)
    }

    /// From when on a command of ours is not carried out any more. `None`: metal3 may at any time.
    pub(super) fn over_at(&self, intent: &Intent) -> Option<Timestamp> {
        match intent.verb {
            Verb::PowerOn => Some(intent.journalled),
            Verb::PowerOff if self.is_held_by_metal3() => self.metal3_may_power_off_until(),
            Verb::PowerOff | Verb::Restart => {
                let sent = self.delivery(intent).since().unwrap_or(intent.journalled);
                Some(after(sent, SETTLE))
            }
        }
    }

    /// Whether metal3 was asked in this attempt to power the host off.
    fn is_held_by_metal3(&self) -> bool {
        let hold = self.journal.hold.as_ref();
        hold.is_some_and(|hold| hold.held.is_some())
    }

    /// Until when metal3 may carry out what our hold has asked for. `None`: the hold stands.
    fn metal3_may_power_off_until(&self) -> Option<Timestamp> {
        let released = self.journal.hold.as_ref()?.released?;
        Some(after(released, LATE_POWER_OFF))
    }

    fn was_seen_off(&self, since: Timestamp) -> bool {
        let Some(subject) = &self.journal.subject else {
            return false;
        };
        let is_right = |read: &&PowerRead| proof::another_host(read, subject.at_bmc()).is_none();
        let reads = self.facts.observed.reads.iter();
        let mut after_it = reads.filter(|read| read.began >= since).filter(is_right);
        self.journal.evidence.is_some() || after_it.any(|read| read.power == PowerState::Off)
    }

    /// Until when a host that is read Off is not powered on: a power-off that was sent may be carried out late.
    pub(super) fn while_a_power_off_may_come(&self) -> Option<Timestamp> {
        Some(self.off_long_enough(self.off_since())).filter(|until| *until > self.now)
    }

    /// Since when every read has said Off.
    pub(super) fn off_since(&self) -> Timestamp {
        self.said_since(PowerState::Off).unwrap_or(self.now)
    }

    /// Since when every read has said this, if the newest has.
    fn said_since(&self, power: PowerState) -> Option<Timestamp> {
        let reads = self.facts.observed.reads.iter().rev();
        let said = reads.take_while(|read| read.power == power);
        said.last().map(|first| first.began)
    }
}
