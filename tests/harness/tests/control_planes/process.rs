//! A child process can be heard, frozen, measured and ended.

use std::time::Duration;

use harness::process::{DaemonCommand, Signal};

const SOON: Duration = Duration::from_secs(10);

fn shell(script: &str) -> DaemonCommand {
    DaemonCommand::new("shell", "/bin/sh").args(["-c", script])
}

#[tokio::test]
async fn both_streams_are_heard_and_kept() {
    let child = shell("echo \"hello $NAME\"; echo trouble >&2; sleep 600; true")
        .env("NAME", "you")
        .spawn()
        .unwrap();
    assert_eq!(child.wait_for_line("hello", SOON).await.unwrap(), "hello you");
    child.wait_for_line("trouble", SOON).await.unwrap();
    assert!(
        std::fs::read_to_string(child.log_path())
            .unwrap()
            .contains("trouble")
    );
    assert!(child.peak_resident_bytes().unwrap() > 100_000);
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_frozen_process_is_silent_until_it_is_thawed() {
    let script = "trap 'echo stopping; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let child = shell(script).spawn().unwrap();
    child.wait_for_line("ready", SOON).await.unwrap();
    child.signal(Signal::Stop).unwrap();
    child.signal(Signal::Term).unwrap();
    assert!(child.exited(Duration::from_millis(300)).await.is_err());
    assert_eq!(child.try_exited(), None);
    child.signal(Signal::Cont).unwrap();
    assert_eq!(child.exited(SOON).await.unwrap().code(), Some(7));
    child.wait_for_line("stopping", SOON).await.unwrap();
}

#[tokio::test]
async fn what_never_comes_is_an_error_that_shows_the_log() {
    let child = shell("echo the last words; exit 3").spawn().unwrap();
    let error = format!(
        "{:#}",
        child.wait_for_line("nothing like it", SOON).await.unwrap_err()
    );
    assert!(
        error.contains("the last words") && error.contains("shell.log"),
        "{error}"
    );
}

#[tokio::test]
async fn stop_insists_and_takes_the_children_along() {
    let script = "trap '' TERM; (trap '' TERM; echo \"child $(sh -c 'echo $PPID')\"; while :; do sleep 0.05; done) & echo ready; wait";
    let child = shell(script).spawn().unwrap();
    child.wait_for_line("ready", SOON).await.unwrap();
    let line = child.wait_for_line("child ", SOON).await.unwrap();
    let grandchild = line.strip_prefix("child ").unwrap().to_owned();
    let status = tokio::time::timeout(SOON, child.stop(Duration::from_millis(200)))
        .await
        .unwrap()
        .unwrap();
    assert!(!status.success());
    let gone = async {
        let stat = format!("/proc/{grandchild}/stat");
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, gone).await.unwrap();
}
