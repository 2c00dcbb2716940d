//! Where a power command stands in a remediation, when it is sent again, and when its outcome is read.

use jiff::{SignedDuration, Timestamp};

use super::{Next, Step};
use crate::decision::Observation;
use crate::facts::Obstacle;
use crate::journal::{Intent, Verb};
use crate::observed::{PowerRead, Sent};
use crate::phase::Reason;
use crate::power::PowerState;
use crate::power_command::{CommandCame, Delivery, POWER_OFFS_LIMIT, Pace};

/// Distance of reads that say Off while the Node reports. Two of them have to be young at once.
const CONTRADICTED_SPACING: SignedDuration = SignedDuration::from_secs(4);

/// The longest distance of reads while a host gets its power back: it is not to wait for a BMC that was away.
const POWER_ON_SPACING: SignedDuration = SignedDuration::from_secs(20);

pub(super) const CAME_ON: &str = "the host went off and came on again before Off was proven";

impl<'a> Step<'a> {
    /// What became of the journalled command.
    pub(super) fn delivery(&self, intent: &Intent) -> Delivery {
        let (key, observed) = (self.journal.intent_key(), &self.facts.observed);
        let of_this = |sent: &&Sent| Some(sent.intent) == key && sent.at >= intent.journalled;
        match observed.sent.as_ref().filter(of_this) {
            Some(sent) => sent.delivery(),
            None if observed.own_intent == key => Delivery::Unsent,
            None => match intent.acknowledged {
                Some(at) => Delivery::Acknowledged(at),
                None => Delivery::Unknown(intent.journalled, None),
            },
        }
    }

    /// Whether no power-off or reset of this attempt can have been sent.
    pub(super) fn nothing_was_sent(&self, intent: &Intent) -> bool {
        let is_first = intent.verb.takes_down() && intent.sends == 1;
        is_first
            && match self.delivery(intent) {
                Delivery::Unsent => true,
                Delivery::Refused(..) => self.never_sent(),
                Delivery::Acknowledged(_) | Delivery::Unknown(..) => false,
            }
    }

    /// Whether the last command found no connection to be sent over.
    pub(super) fn never_sent(&self) -> bool {
        let sent = self.facts.observed.sent.as_ref();
        let of_this = sent.filter(|sent| Some(sent.intent) == self.journal.intent_key());
        of_this.is_some_and(|sent| {
            let error = sent.answer.as_ref().err();
            error.is_some_and(|error| error.came == CommandCame::NotSent)
        })
    }

    /// Tells people that the BMC failed over a command, once it said so.
    pub(super) fn tell_failure(&mut self, delivery: &Delivery) {
        if let Delivery::Unknown(_, Some(why)) = delivery
            && why.reason == Reason::BmcCommandFailed
        {
            self.tell_complaint(why);
        }
    }

    /// Tells what the BMC has against a command. That it could not be asked is no complaint of its own.
    fn tell_complaint(&mut self, why: &Obstacle) {
        self.journal.because_of(why);
        if [Reason::BmcCommandFailed, Reason::BmcCommandRefused].contains(&why.reason) {
            self.journal.command_complaint = Some(why.detail.clone());
        }
    }

    /// What the BMC had against a command of this phase, as the rest of a sentence.
    pub(super) fn complaint(&self) -> String {
        let complaint = self.journal.command_complaint.as_deref();
        complaint.map_or_else(String::new, |said| format!("; of a command it said: {said}"))
    }

    /// Reads, and sends the power-off again only on what is read.
    pub(super) fn poll_or_send_again(&mut self, intent: &Intent, delivery: &Delivery) -> Next {
        let since = delivery.since().unwrap_or(intent.journalled);
        let came_on = self.came_on_again();
        let power = self.facts.observed.last_read_since(since).map(|read| read.power);
        let subject = self.journal.subject.as_ref();
        // An earlier version did not write down whether the host had come on again.
        let is_sent_again = subject.is_some_and(|subject| subject.protocol.is_some())
            && delivery.is_sent_again(intent.verb, power, came_on, intent.sends, self.now);
        // What the reads say against the host is more than what the BMC says against the command.
        if !came_on {
            self.tell_failure(delivery);
        }
        if is_sent_again {
            // One that was never sent is journalled anew under its number.
            let next = i32::from(!self.never_sent());
            return self.journal_again(intent.verb, intent.sends.saturating_add(next));
        }
        // Every acknowledgement was lost, and without one Off is no proof: the host is brought back.
        let is_unproven = matches!(delivery, Delivery::Unknown(..)) && intent.sends >= POWER_OFFS_LIMIT;
        if is_unproven && power == Some(PowerState::Off) && self.while_a_power_off_may_come().is_none() {
            let detail = format!("none of {POWER_OFFS_LIMIT} power-offs was known to be acknowledged");
            return self.attempt_failed(&Obstacle::new(Reason::PowerOffNotConfirmed, detail));
        }
        if let Delivery::Refused(_, why) = delivery
            && !came_on
        {
            self.tell_complaint(why);
        }
        self.poll(intent, since)
    }

    /// Whether the host went off in this attempt and came on: somebody powers it, and a second
    /// power-off would be a second outage. Once noticed it stays in the journal.
    pub(super) fn came_on_again(&mut self) -> bool {
        let begun = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        if self.facts.observed.shows_host_came_on(begun) {
            let came_on = Obstacle::new(Reason::HostCameOn, CAME_ON);
            self.journal.because_of(&came_on);
            self.journal.host_came_on.get_or_insert(self.now);
        }
        self.journal.host_came_on.is_some()
    }

    /// Journals the intent anew; its command may be sent (again) after a live check.
    pub(super) fn journal_again(&mut self, verb: Verb, sends: i32) -> Next {
        self.journal.intent = Some(self.intent(verb, sends));
        Next::observe(Observation::LiveCheck)
    }

    /// The newest read begun at or after a time, unless another host gave it.
    pub(super) fn right_read_since(&self, since: Timestamp) -> Option<&'a PowerRead> {
        let subject = self.journal.subject.as_ref()?;
        self.facts.observed.right_read_since(subject.at_bmc(), since)
    }

    pub(super) fn poll(&self, intent: &Intent, since: Timestamp) -> Next {
        let since = since.max(intent.journalled);
        let begun = self.journal.phase_started.unwrap_or(since);
        // While metal3 had its time the reads became rare; what the daemon does itself after that is read anew.
        let direct = self.journal.hold.as_ref().and_then(|hold| hold.direct);
        let begun = direct.map_or(begun, |direct| begun.max(direct));
        let mut pace = Pace::default();
        // A BMC that contradicts the Node is not worth a read a second.
        if self.journal.node_reported.is_some() {
            pace.off = CONTRADICTED_SPACING;
        }
        if intent.verb == Verb::PowerOn {
            pace.longest = POWER_ON_SPACING;
        }
        let at = self.facts.observed.read_at(begun, since, pace);
        self.observe_at(at, Observation::Power)
    }
}
