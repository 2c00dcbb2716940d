//! How many files this process may have open, so that a fleet that is too large is refused at once and
//! not when half of it listens.

use rustix::process::{Resource, getrlimit};

use crate::SimError;

/// Open files beside those of the BMCs: standard streams, the runtime's, the control API's, a few connections.
const RESERVE: u64 = 32;

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

#[cfg(test)]
mod tests {
    use super::OpenFiles;

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
    fn this_process_has_limits() {
        let now = OpenFiles::now();
        assert!(now.soft > 0 && now.soft <= now.hard, "{now:?}");
    }
}
