//! The rules about logins.

use super::History;
use crate::journal::{Entry, Event, Tried};
use crate::oracle::Oracle;

impl History<'_> {
    pub(super) fn of_login(&self, entry: &Entry) -> Vec<Oracle> {
        let (tried, failed) = match &entry.event {
            Event::AuthFailed {
                tried: Some(tried), ..
            } => (tried, true),
            Event::LoginAccepted { tried, .. } => (tried, false),
            _ => return Vec::new(),
        };
        let held_against = |same_credentials: bool| {
            let rejections = self.0.iter().filter(|other| {
                self.is_held_against(other, entry.seq, same_credentials)
                    && matches!(&other.event, Event::AuthFailed { tried: Some(earlier), .. }
                        if if same_credentials { earlier == tried } else { earlier.user == tried.user })
            });
            rejections.count()
        };
        let mut broken = Vec::new();
        if held_against(true) > 0 {
            broken.push(Oracle::TryAfterRejection);
        }
        if failed && held_against(false) >= 2 {
            broken.push(Oracle::ThirdRejection);
        }
        broken
    }

    /// Whether a rejection is known and nothing made up for it before `now`.
    fn is_held_against(&self, rejection: &Entry, now: u64, same_credentials: bool) -> bool {
        let Event::AuthFailed {
            class,
            tried: Some(tried),
            delivery,
            ..
        } = &rejection.event
        else {
            return false;
        };
        let Some(known) = self
            .answered(rejection.seq, *delivery)
            .filter(|known| *known < now)
        else {
            return false;
        };
        let between = |from: u64, what: &dyn Fn(&Event) -> bool| {
            self.0
                .iter()
                .any(|entry| from < entry.seq && entry.seq < now && what(&entry.event))
        };
        let accepted = |fits: &dyn Fn(&Tried) -> bool, event: &Event| matches!(event, Event::LoginAccepted { tried, .. } if fits(tried));
        let rotated = between(
            rejection.seq,
            &|event| matches!(event, Event::CredentialsRotated { users } if users.contains(&tried.user)),
        );
        let itself = between(rejection.seq, &|event| accepted(&|other| other == tried, event));
        let user = between(known, &|event| accepted(&|other| other.user == tried.user, event));
        !rotated && !itself && !(user && (!same_credentials || class.is_ipmi()))
    }
}
