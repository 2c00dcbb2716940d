//! Lets time pass for a machine whom nobody asks anything.

use std::sync::Arc;

use super::HostCore;

/// Runs until the simulator stops.
pub(crate) async fn run_clock(core: Arc<HostCore>) {
    loop {
        let deadline = core.next_deadline();
        let due = async {
            match deadline {
                Some(instant) => tokio::time::sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            () = core.wake.notified() => {}
            () = due => core.act(|_| ()),
        }
    }
}
