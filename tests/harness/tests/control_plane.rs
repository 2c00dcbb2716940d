//! The control plane starts, is the pinned one, and stops.

use std::time::Duration;

use harness::{ControlPlane, Options};

#[tokio::test]
async fn starts_as_the_pinned_version_and_stops() {
    let began = std::time::Instant::now();
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    println!("ready after {:?}", began.elapsed());
    let version = plane.client().await.unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, "v1.36.4");
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
    let began = std::time::Instant::now();
    tokio::time::timeout(Duration::from_secs(30), plane.stop()).await.unwrap().unwrap();
    println!("stopped after {:?}", began.elapsed());
}
