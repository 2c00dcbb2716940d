//! Idle sessions end at their time, though nobody looks.

use std::time::Duration;

use bmc_simulator::{Ended, Event, IpmiSpec};

use super::console::Console;
use super::{admin, bmc};
use crate::client::soon;
use crate::service::pass;

#[tokio::test]
async fn a_session_ends_when_it_is_due() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let _console = Console::logged_in(&host, admin()).await;
    let idle = |event: &Event| {
        matches!(
            event,
            Event::IpmiSessionEnded {
                reason: Ended::Idle,
                ..
            }
        )
    };
    let journal = host.journal();
    let opened = journal
        .iter()
        .find(|entry| matches!(entry.event, Event::IpmiSessionOpened { .. }));
    let opened = opened.expect("it was opened").elapsed;
    let waits = tokio::spawn({
        let host = host.clone();
        async move { host.wait_for_entry(0, idle).await.unwrap() }
    });
    tokio::task::yield_now().await;

    pass(Duration::from_mins(5)).await;

    let entry = soon(waits).await.unwrap();
    assert_eq!(entry.elapsed, opened + Duration::from_mins(1));
}
