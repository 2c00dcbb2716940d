//! How many files this process may have open, so that a fleet that is too large is refused at once and
//! not when half of it listens.

use crate::SimError;

/// Open files beside those of the BMCs: standard streams, the runtime's, a few connections.
const RESERVE: u64 = 32;

/// Checks that as many listeners can be opened. Where the limit cannot be learned, all can.
///
/// # Errors
/// [`SimError::OpenFilesLimit`].
pub(crate) fn check(listeners: u64, hosts: u64) -> Result<(), SimError> {
    // `getrlimit` without unsafe code and without a dependency; only Linux has the file.
    let limits = std::fs::read_to_string("/proc/self/limits");
    let limit = limits.ok().as_deref().and_then(open_files);
    match limit {
        Some(limit) => compare(limit, listeners, hosts),
        None => Ok(()),
    }
}

fn compare(limit: u64, listeners: u64, hosts: u64) -> Result<(), SimError> {
    let needed = listeners.saturating_add(RESERVE);
    if needed <= limit {
        return Ok(());
    }
    Err(SimError::OpenFilesLimit {
        needed,
        limit,
        // A connection to each BMC, too.
        comfortable: needed.saturating_add(hosts),
    })
}

/// The soft limit in `/proc/self/limits` (proc(5)); `None` when there is none.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    line?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{compare, open_files};

    #[test]
    fn the_limit_is_read_and_compared() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             63432                63432                processes \n\
                      Max open files            1024                 1048576              files     \n";
        assert_eq!(open_files(limits), Some(1024));
        assert_eq!(
            open_files("Max open files            unlimited            unlimited            files"),
            None
        );
        assert_eq!(open_files(""), None);
        assert!(compare(1024, 992, 496).is_ok());
        let error = compare(1024, 2000, 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "these BMCs need 2032 open files, of which this process may have 1024: raise the limit (ulimit -n 3032, \
             which leaves room for a connection to each) or run fewer hosts"
        );
    }
}
