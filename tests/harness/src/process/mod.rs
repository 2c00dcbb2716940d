//! Child processes that cannot outlive us, and what they print.

mod daemon;
mod line_log;
mod supervised;

pub use daemon::{ChildDaemon, DaemonCommand};
pub use line_log::{Cursor, LineLog};
pub use supervised::Signal;
pub(crate) use supervised::{Launch, Supervised};
