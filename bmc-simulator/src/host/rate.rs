//! How often a BMC is asked.

use std::collections::VecDeque;
use std::time::Duration;

const SPAN: Duration = Duration::from_secs(1);

/// When the requests of the last second came.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    requests: VecDeque<Duration>,
}

impl Rate {
    /// Counts one request; whether there were more than `limit` in the second that ends now. Then it begins
    /// to count anew. Remembers no more than that.
    pub(super) fn exceeds(&mut self, limit: u32, now: Duration) -> bool {
        while self
            .requests
            .front()
            .is_some_and(|at| now.saturating_sub(*at) >= SPAN)
        {
            self.requests.pop_front();
        }
        self.requests.push_back(now);
        let within = u32::try_from(self.requests.len()).is_ok_and(|requests| requests <= limit);
        if !within {
            self.requests.clear();
        }
        !within
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Rate};

    /// Which of the requests, at these milliseconds, are one too many.
    fn too_many(limit: u32, at: &[u64]) -> Vec<bool> {
        let mut rate = Rate::default();
        at.iter()
            .map(|milli| rate.exceeds(limit, Duration::from_millis(*milli)))
            .collect()
    }

    #[test]
    fn any_second_counts_wherever_it_begins() {
        assert_eq!(too_many(2, &[900, 950, 1000]), [false, false, true]);
        assert_eq!(too_many(2, &[0, 999, 1000, 1998]), [false, false, false, true]);
        assert_eq!(too_many(2, &[0, 500, 1000, 1500, 2000]), [false; 5]);
    }

    #[test]
    fn it_begins_anew_after_a_crash_and_remembers_no_more_than_it_must() {
        assert_eq!(too_many(1, &[0, 1, 2, 3]), [false, true, false, true]);
        let mut rate = Rate::default();
        for milli in 0..10_000 {
            rate.exceeds(u32::MAX, Duration::from_millis(milli));
        }
        assert_eq!(rate.requests.len(), 1000);
    }
}
