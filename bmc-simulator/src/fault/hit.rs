//! What faults do to a single request or connection.

use std::time::Duration;

use super::effect::{Aftermath, Answer, Connection, Effect, TaskCourse};
use super::{Asked, FaultSet, IpmiEffect};
use crate::RequestClass;

impl FaultSet {
    /// What becomes of a connection that was just accepted.
    pub(crate) fn take_connection(&mut self) -> Option<(&'static str, Connection)> {
        self.take(&RequestClass::Connect.into(), |effect| {
            if let Effect::Connection(what) = effect {
                Some(what)
            } else {
                None
            }
        })
    }

    /// Whether a connection is reset because a request came over it before.
    pub(crate) fn take_reuse(&mut self, asked: Asked<'_>) -> Option<&'static str> {
        self.take(&asked, |effect| (effect == Effect::Reuse).then_some(()))
            .map(|(name, ())| name)
    }

    /// Whether this makes the BMC reboot.
    pub(crate) fn take_reboot<'a>(&mut self, asked: impl Into<Asked<'a>>) -> Option<&'static str> {
        self.take(&asked.into(), |effect| (effect == Effect::Reboot).then_some(()))
            .map(|(name, ())| name)
    }

    /// Whether an On that comes so long after the machine went off is refused.
    pub(crate) fn take_too_soon(&mut self, asked: Asked<'_>, off_for: Duration) -> Option<&'static str> {
        let too_soon = |effect| {
            if let Effect::TooSoon(within) = effect {
                (off_for < within).then_some(())
            } else {
                None
            }
        };
        self.take(&asked, too_soon).map(|(name, ())| name)
    }

    /// The answer to give in place of the real one.
    pub(crate) fn take_answer<'a>(&mut self, asked: impl Into<Asked<'a>>) -> Option<(&'static str, Answer)> {
        self.take(&asked.into(), |effect| {
            if let Effect::Answer(answer) = effect {
                Some(answer)
            } else {
                None
            }
        })
    }

    /// Whether the connection is closed instead of an answer, once what was asked is done.
    pub(crate) fn take_drop(&mut self, asked: Asked<'_>) -> Option<&'static str> {
        self.take(&asked, |effect| (effect == Effect::Drop).then_some(()))
            .map(|(name, ())| name)
    }

    /// What to do to the real answer; `wanted` tells what it comes to, and of what comes to nothing none.
    pub(crate) fn take_aftermath<T>(
        &mut self,
        asked: Asked<'_>,
        wanted: impl Fn(Aftermath) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        self.take(&asked, |effect| {
            if let Effect::Aftermath(what) = effect {
                wanted(what)
            } else {
                None
            }
        })
    }

    /// Whether something could be done to the real answer.
    pub(crate) fn may_change_answers(&self) -> bool {
        self.any(|fault| matches!(fault.effect(), Effect::Aftermath(_)))
    }

    /// Whether credentials that are right are refused.
    pub(crate) fn take_rejection<'a>(&mut self, asked: impl Into<Asked<'a>>) -> Option<&'static str> {
        self.take(&asked.into(), |effect| (effect == Effect::Login).then_some(()))
            .map(|(name, ())| name)
    }

    /// Whether a reset to the present state is refused.
    pub(crate) fn take_conflict(&mut self, asked: Asked<'_>) -> Option<&'static str> {
        self.take(&asked, |effect| (effect == Effect::Conflict).then_some(()))
            .map(|(name, ())| name)
    }

    /// The system that a reset of another one reaches.
    pub(crate) fn take_rewiring(&mut self, asked: Asked<'_>) -> Option<(&'static str, String)> {
        self.take(&asked, |effect| {
            if let Effect::Rewire(system) = effect {
                // Where it is what was asked for, nothing is wrong.
                (asked.system != Some(&system)).then_some(system)
            } else {
                None
            }
        })
    }

    /// What becomes of the task that a reset is answered with.
    pub(crate) fn take_task(&mut self, asked: Asked<'_>) -> Option<(&'static str, TaskCourse)> {
        self.take(&asked, |effect| {
            if let Effect::Task(course) = effect {
                Some(course)
            } else {
                None
            }
        })
    }

    /// What is done to a request over IPMI, of what is wanted.
    pub(crate) fn take_ipmi<T>(
        &mut self,
        class: RequestClass,
        wanted: impl Fn(IpmiEffect) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        self.take(&class.into(), |effect| {
            if let Effect::Ipmi(effect) = effect {
                wanted(effect)
            } else {
                None
            }
        })
    }
}
