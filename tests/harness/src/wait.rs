//! Waiting for an object to be as wanted.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use kube::runtime::wait::Condition;
use kube::runtime::watcher::watch_object;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// Between an error of the watch and the next attempt; nothing tells when the server is ready again.
const PAUSE: Duration = Duration::from_millis(200);

/// Waits until an object is as wanted (`None`: it does not exist), for as long as it takes.
///
/// Unlike kube's function of this name it goes on when the watch fails: while the definition of a kind is
/// being changed the server expires the watches of that kind (410) and refuses new ones (404, 429). The errors
/// are told on stderr, so that who gives up waiting is not left without a reason.
#[expect(clippy::print_stderr, reason = "a test's stderr is shown when it fails")]
pub async fn await_condition<K>(
    api: Api<K>,
    name: &str,
    wanted: impl Condition<K>,
) -> anyhow::Result<Option<K>>
where
    K: Resource + Clone + Debug + Send + DeserializeOwned + 'static,
{
    let mut seen = watch_object(api, name).boxed();
    loop {
        match seen.next().await.context("the watch ended")? {
            Ok(object) if wanted.matches_object(object.as_ref()) => return Ok(object),
            Ok(_) => {}
            Err(error) => {
                eprintln!("the watch of {name} goes on after an error: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
