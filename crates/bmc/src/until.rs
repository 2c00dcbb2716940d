//! Until when a power command may be sent.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

/// A time on the timer, and what else may take the right to send away. It is asked right before the command is written:
/// the timer may stand still while the machine is frozen, and connecting takes its time.
#[derive(Clone)]
pub struct Until {
    at: Instant,
    is_over: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Until {
    /// Not after this time, and not once this is so. The question is asked between two lines and must not wait.
    pub fn unless(at: Instant, is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let is_over = Arc::new(is_over);
        Self { at, is_over }
    }

    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.at || (self.is_over)()
    }
}

impl From<Instant> for Until {
    fn from(at: Instant) -> Self {
        Self::unless(at, || false)
    }
}

impl fmt::Debug for Until {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Until").field(&self.at).finish()
    }
}
