//! Locking an account after failed logins. Pure: every call is told the instant at which it happens.

use std::time::Duration;

use crate::redfish::quirks::LockoutBy;
use crate::redfish::spec::LockoutSpec;

/// When an account is locked. `AccountService` shows it and can change all but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) struct Policy {
    /// Failures until the lock; 0 = never.
    pub(in crate::redfish) threshold: u64,
    /// Seconds of the lock; 0 = never locked.
    pub(in crate::redfish) duration: u64,
    /// Seconds after which failures are forgotten.
    pub(in crate::redfish) reset_after: u64,
    pub(in crate::redfish) tries_prolong: bool,
    pub(in crate::redfish) by: LockoutBy,
}

impl Policy {
    pub(in crate::redfish) fn of(spec: &LockoutSpec) -> Self {
        Self {
            threshold: u64::from(spec.threshold),
            duration: spec.duration.as_secs(),
            reset_after: spec.reset_after.as_secs(),
            tries_prolong: spec.tries_prolong,
            by: spec.by,
        }
    }
}

/// The failed logins of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lock {
    failures: u64,
    last_failure: Duration,
    until: Option<Duration>,
}

impl Lock {
    pub(super) fn is_locked(&self, now: Duration) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Takes one try and says whether it gets in: with the right password, and not during a lock.
    pub(super) fn admits(&mut self, right: bool, policy: Policy, now: Duration) -> bool {
        let span = Duration::from_secs(policy.duration);
        if self.is_locked(now) {
            if policy.tries_prolong {
                self.until = Some(now.saturating_add(span));
            }
            return false;
        }
        if right {
            *self = Self::default();
            return true;
        }
        let apart = now.saturating_sub(self.last_failure);
        let forgotten = self.until.is_some() || apart > Duration::from_secs(policy.reset_after);
        self.failures = if forgotten {
            1
        } else {
            self.failures.saturating_add(1)
        };
        self.last_failure = now;
        let reached = policy.threshold > 0 && self.failures >= policy.threshold;
        self.until = (reached && policy.duration > 0).then(|| now.saturating_add(span));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, LockoutBy, Policy};
    use std::time::Duration;

    const POLICY: Policy = Policy {
        threshold: 3,
        duration: 60,
        reset_after: 30,
        tries_prolong: false,
        by: LockoutBy::Account,
    };

    /// Feeds tries (second, right password) and returns which got in.
    fn tries(policy: Policy, tries: &[(u64, bool)]) -> Vec<bool> {
        let mut lock = Lock::default();
        let admit = |(second, right): &(u64, bool)| lock.admits(*right, policy, Duration::from_secs(*second));
        tries.iter().map(admit).collect()
    }

    #[test]
    fn locks_after_the_threshold_for_the_duration() {
        let story = [
            (0, false),
            (1, false),
            (2, false),
            (3, true),
            (61, true),
            (62, true),
        ];
        assert_eq!(tries(POLICY, &story), [false, false, false, false, false, true]);
    }

    #[test]
    fn a_success_or_a_pause_forgets_failures() {
        let success = [(0, false), (1, false), (2, true), (3, false), (4, true)];
        assert_eq!(tries(POLICY, &success), [false, false, true, false, true]);
        let pause = [(0, false), (1, false), (32, false), (33, true)];
        assert_eq!(tries(POLICY, &pause), [false, false, false, true]);
    }

    #[test]
    fn tries_during_the_lock_prolong_it_only_if_told_to() {
        let story = [(0, false), (0, false), (0, false), (50, true), (70, true)];
        assert_eq!(tries(POLICY, &story).last(), Some(&true));
        let prolonging = Policy {
            tries_prolong: true,
            ..POLICY
        };
        assert_eq!(tries(prolonging, &story).last(), Some(&false));
    }

    #[test]
    fn zero_means_never_and_one_failure_after_a_lock_is_the_first() {
        for never in [
            Policy {
                threshold: 0,
                ..POLICY
            },
            Policy {
                duration: 0,
                ..POLICY
            },
        ] {
            let story = [(0, false), (0, false), (0, false), (0, false), (0, true)];
            assert_eq!(tries(never, &story).last(), Some(&true));
        }
        let story = [(0, false), (0, false), (0, false), (61, false), (62, true)];
        assert_eq!(tries(POLICY, &story).last(), Some(&true));
    }
}
