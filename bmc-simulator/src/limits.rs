//! How many files this process may have open, so that a fleet that is too large is refused at once and
//! not when half of it listens.

use rustix::process::{Resource, getrlimit};

use crate::SimError;

/// Open files beside those of the BMCs: standard streams, the runtime's, the control API's, a few connections.
const RESERVE: u64 = 32;
/// Those of them that connections to BMCs never take, at least and at most; a quarter of what there is in between.
const OTHERS: [u64; 2] = [16, 256];

/// Connections to the control API at one time, at most.
const MOST_CONTROL: u64 = 64;

/// How many connections to BMCs may be open at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Of each BMC, whatever the others have.
    pub(crate) of_each: usize,
    /// Of all together, beside those.
    pub(crate) shared: usize,
}

/// `RLIMIT_NOFILE` (getrlimit(2)); `u64::MAX` = no limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFiles {
    /// What holds now.
    soft: u64,
    /// What this process may raise it to.
    hard: u64,
}

impl OpenFiles {
    /// Of this process.
    pub(crate) fn now() -> Self {
        let limits = getrlimit(Resource::Nofile);
        Self {
            soft: limits.current.unwrap_or(u64::MAX),
            hard: limits.maximum.unwrap_or(u64::MAX),
        }
    }

    /// What is left for connections beside so many listeners.
    pub(crate) fn share(self, listeners: u64, hosts: u64) -> Share {
        let left = self.soft.saturating_sub(listeners);
        let connections = left.saturating_sub(of_others(left));
        // With one for some of them only, first come is first served.
        match connections.checked_sub(hosts) {
            Some(shared) => Share {
                of_each: 1,
                shared: to_usize(shared),
            },
            None => Share {
                of_each: 0,
                shared: to_usize(connections),
            },
        }
    }

    /// How many connections to the control API may be open at one time: half of what is not for the BMCs at
    /// most, so that the rest of the process has the other half.
    pub(crate) fn control_connections(self) -> usize {
        to_usize((of_others(self.soft) / 2).min(MOST_CONTROL))
    }

    /// Checks that as many listeners can be opened.
    ///
    /// # Errors
    /// [`SimError::OpenFilesLimit`].
    pub(crate) fn check(self, listeners: u64, hosts: u64) -> Result<(), SimError> {
        let needed = listeners.saturating_add(RESERVE);
        if needed <= self.soft {
            return Ok(());
        }
        Err(SimError::OpenFilesLimit {
            needed,
            limit: self.soft,
            most: self.hard,
            // A connection to each BMC, too.
            comfortable: needed.saturating_add(hosts),
        })
    }
}

/// Open files that connections to BMCs never take.
fn of_others(left: u64) -> u64 {
    let [least, most] = OTHERS;
    (left / 4).clamp(least, most)
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{OpenFiles, Share};

    #[test]
    fn too_low_a_limit_is_told_with_how_to_raise_it() {
        let limits = |soft, hard| OpenFiles { soft, hard };
        assert!(limits(1024, 1024).check(992, 496).is_ok());
        assert!(limits(u64::MAX, u64::MAX).check(u64::MAX, u64::MAX).is_ok());
        let told = |limits: OpenFiles| limits.check(2000, 1000).unwrap_err().to_string();
        assert_eq!(
            told(limits(1024, 4096)),
            "these BMCs need 2032 open files, of which this process may have 1024: raise the limit (ulimit -n 3032, \
             which leaves room for a connection to each) or run fewer hosts"
        );
        for hard in [1024, 3031] {
            assert_eq!(
                told(limits(1024, hard)),
                "these BMCs need 2032 open files, of which this process may have 1024: raise the hard limit (as root \
                 ulimit -n 3032, or LimitNOFILE=3032 of its systemd unit, which leaves room for a connection to each) \
                 or run fewer hosts"
            );
        }
    }

    #[test]
    fn what_is_left_is_shared_out() {
        let share = |soft, listeners, hosts| {
            let Share { of_each, shared } = OpenFiles { soft, hard: soft }.share(listeners, hosts);
            (of_each, shared)
        };
        assert_eq!(share(1024, 2, 1), (1, 1024 - 2 - 255 - 1));
        assert_eq!(share(100_000, 2000, 1000), (1, 100_000 - 2000 - 256 - 1000));
        assert_eq!(share(33, 1, 1), (1, 15), "the least that is taken");
        assert_eq!(share(1032, 1000, 1000), (0, 16));
        assert_eq!(share(10, 20, 5), (0, 0));
    }

    #[test]
    fn the_control_api_takes_no_more_than_half_of_the_rest() {
        let of = |soft| OpenFiles { soft, hard: soft }.control_connections();
        assert_eq!([of(33), of(256), of(1024), of(u64::MAX)], [8, 32, 64, 64]);
    }

    #[test]
    fn this_process_has_limits() {
        let now = OpenFiles::now();
        assert!(now.soft > 0 && now.soft <= now.hard, "{now:?}");
    }
}
