//! The management controller itself. It reboots and loses its power apart from the machine that it
//! controls, and takes its time to come back.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a BMC comes up. Real ones answer pings long before they answer logins: 30 s between the two
/// (xcat2/xcat-core issue 3310), with 503 and 401 to right credentials in between
/// and after that (dell/iDRAC-Redfish-Scripting issue 383).
///
/// In JSON and YAML: `{"dead":"20s","notReady":"10s","rejecting":"5s","sporadic":"7m"}`, every field optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BootSequence {
    /// Nothing answers: no TCP connection, no datagram.
    #[serde(with = "crate::human::text")]
    pub dead: Duration,
    /// Then every request is answered with 503.
    #[serde(with = "crate::human::text")]
    pub not_ready: Duration,
    /// Then right credentials are rejected.
    #[serde(with = "crate::human::text")]
    pub rejecting: Duration,
    /// Then it is in service, but for one login in four that is rejected although it is right; never two in
    /// a row. Such 401s came for some 7 minutes from iDRACs (the same issue).
    #[serde(with = "crate::human::text")]
    pub sporadic: Duration,
}

impl Default for BootSequence {
    /// 20 s, 10 s and 5 s; no sporadic rejections.
    fn default() -> Self {
        Self {
            dead: Duration::from_secs(20),
            not_ready: Duration::from_secs(10),
            rejecting: Duration::from_secs(5),
            sporadic: Duration::ZERO,
        }
    }
}

/// Of so many logins one is rejected.
const SPORADIC: u64 = 4;

/// How far a BMC has come up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Nothing answers.
    Dead,
    /// Answers 503.
    NotReady,
    /// Rejects right credentials.
    Rejecting,
    /// In service.
    Up,
}

/// The state of one management controller.
#[derive(Debug)]
pub(crate) struct Controller {
    sequence: BootSequence,
    /// `None`: it has no power.
    booting_since: Option<Duration>,
    powered: bool,
    pub(crate) reboots: u64,
    /// Logins since it is in service and not yet sure of them.
    doubtful: u64,
}

impl Controller {
    /// One that has been up for ever.
    pub(crate) fn new(sequence: BootSequence) -> Self {
        Self {
            sequence,
            booting_since: None,
            powered: true,
            reboots: 0,
            doubtful: 0,
        }
    }

    pub(crate) fn stage(&self, now: Duration) -> Stage {
        if !self.powered {
            return Stage::Dead;
        }
        let Some(since) = self.booting_since else {
            return Stage::Up;
        };
        let [answering, ready, up] = self.edges(since);
        if now < answering {
            Stage::Dead
        } else if now < ready {
            Stage::NotReady
        } else if now < up {
            Stage::Rejecting
        } else {
            Stage::Up
        }
    }

    /// Begins to boot, whatever it was doing.
    pub(crate) fn boot(&mut self, now: Duration) {
        self.powered = true;
        self.booting_since = Some(now);
        self.reboots = self.reboots.saturating_add(1);
        self.doubtful = 0;
    }

    /// Whether a login is rejected, right or not, because the BMC has not come up altogether.
    pub(crate) fn rejects_login(&mut self, now: Duration) -> bool {
        let settled = self.booting_since.map(|since| {
            let [_, _, up] = self.edges(since);
            up.saturating_add(self.sequence.sporadic)
        });
        match self.stage(now) {
            Stage::Dead | Stage::NotReady | Stage::Rejecting => true,
            Stage::Up if settled.is_some_and(|settled| now < settled) => {
                let rejected = self.doubtful.is_multiple_of(SPORADIC);
                self.doubtful = self.doubtful.wrapping_add(1);
                rejected
            }
            Stage::Up => false,
        }
    }

    /// Loses its power.
    pub(crate) fn lose_power(&mut self) {
        self.powered = false;
    }

    pub(crate) fn has_power(&self) -> bool {
        self.powered
    }

    /// The next instant after `now` at which it comes a stage further.
    pub(crate) fn next_edge(&self, now: Duration) -> Option<Duration> {
        let since = self.booting_since.filter(|_| self.powered)?;
        self.edges(since).into_iter().find(|edge| *edge > now)
    }

    fn edges(&self, since: Duration) -> [Duration; 3] {
        let answering = since.saturating_add(self.sequence.dead);
        let ready = answering.saturating_add(self.sequence.not_ready);
        [answering, ready, ready.saturating_add(self.sequence.rejecting)]
    }
}

#[cfg(test)]
mod tests {
    use super::{BootSequence, Controller, Duration, Stage};

    #[test]
    fn rejects_one_login_in_four_until_it_is_sure() {
        let second = Duration::from_secs;
        let mut controller = Controller::new(BootSequence {
            sporadic: second(60),
            ..BootSequence::default()
        });
        assert!(!controller.rejects_login(second(0)));
        controller.boot(second(0));
        assert!(controller.rejects_login(second(34)) && controller.stage(second(35)) == Stage::Up);
        let rejected: Vec<bool> = (35..43).map(|at| controller.rejects_login(second(at))).collect();
        let one_in_four = [true, false, false, false];
        assert_eq!(rejected, [one_in_four, one_in_four].concat());
        assert!(!controller.rejects_login(second(95)));
    }

    #[test]
    fn comes_up_in_stages_and_only_with_power() {
        let second = Duration::from_secs;
        let mut controller = Controller::new(BootSequence::default());
        assert_eq!(
            (controller.stage(second(0)), controller.next_edge(second(0))),
            (Stage::Up, None)
        );
        controller.boot(second(100));
        for (at, stage, edge) in [
            (100, Stage::Dead, Some(120)),
            (120, Stage::NotReady, Some(130)),
            (130, Stage::Rejecting, Some(135)),
            (135, Stage::Up, None),
        ] {
            assert_eq!(controller.stage(second(at)), stage, "at {at}");
            assert_eq!(controller.next_edge(second(at)), edge.map(second), "at {at}");
        }
        controller.lose_power();
        assert_eq!(controller.stage(second(200)), Stage::Dead);
        assert_eq!(controller.next_edge(second(200)), None);
        controller.boot(second(300));
        assert_eq!(controller.stage(second(319)), Stage::Dead);
        assert_eq!(controller.stage(second(335)), Stage::Up);
    }
}
