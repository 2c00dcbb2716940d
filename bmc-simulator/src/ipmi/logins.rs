//! What the journal is told of logins.

use super::handshake::Status;
use super::spec::Privilege;
use super::state::{Awaited, Bmc};
use crate::counters::{RequestClass, bump};
use crate::journal::{Delivery, Event, Tried};

impl Bmc<'_, '_> {
    /// The answer that opened a session is sent again; the console may not have had it before.
    pub(super) fn accepted_again(&mut self, id: u32) {
        let session = self.ipmi.sessions.find(id);
        let Some(of) = session.and_then(|session| session.unanswered) else {
            return;
        };
        match self.delivery {
            Delivery::Sent => self.acting.log_answered([of], Some(0)),
            Delivery::Late => self.awaited.push(Awaited { of, status: 0 }),
            Delivery::Lost => return,
        }
        if let Some(session) = self.ipmi.sessions.find(id) {
            session.unanswered = None;
        }
    }

    pub(super) fn login_failed(&mut self, class: RequestClass, tried: Tried, answer: Status) {
        bump(&mut self.acting.state.counters.ipmi.auth_failures);
        self.tell(answer.number(), |status, delivery| Event::AuthFailed {
            class,
            tried: Some(tried),
            status,
            delivery,
        });
    }

    /// The console found its password wrong itself, by RAKP Message 2, and says so.
    pub(super) fn login_given_up(&mut self, name: &[u8]) {
        let tried = self.acting.core.journal.salt.wrong_password(name);
        bump(&mut self.acting.state.counters.ipmi.auth_failures);
        self.acting.log(Event::AuthFailed {
            class: RequestClass::IpmiRakp3,
            tried: Some(tried),
            status: None,
            delivery: Delivery::Sent,
        });
    }

    /// A login with the right password: the same as one that was refused by its name alone, or over
    /// Redfish.
    pub(super) fn login_succeeded(&mut self, name: &[u8], role: u8) {
        let class = RequestClass::IpmiRakp3;
        let salt = &self.acting.core.journal.salt;
        let by_name = salt.name_only(name, role);
        let known = Privilege::of(role & 0x0f).and_then(|privilege| {
            // Bit 4: the name alone decides (section 13.20).
            let (_, password) = self.user(name, privilege, role & 0x10 != 0)?;
            let end = password
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last.saturating_add(1));
            Some(salt.login(name, password.get(..end).unwrap_or_default()))
        });
        self.acting.log_accepted(class, by_name);
        if let Some(by_password) = known {
            self.acting.log_accepted(class, by_password);
        }
    }
}
