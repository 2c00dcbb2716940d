//! The control plane is the pinned one, stops when told, and never stays behind.

use std::time::Duration;

use harness::process::{DaemonCommand, Signal};
use harness::{Assets, ControlPlane, Options};

/// Set for the process that is to be killed by [`a_killed_test_process_leaves_nothing_behind`].
const VICTIM: &str = "HARNESS_TEST_VICTIM";

/// Processes of these groups that run; one that nobody has reaped yet does not.
fn running_in_groups(groups: &[u32]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((head, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let group: u32 = fields[2].parse().unwrap();
        if fields[0] != "Z" && groups.contains(&group) {
            found.push(head.to_owned());
        }
    }
    found
}

/// Nothing tells when a stranger's process has gone, so this one looks again and again.
async fn until_gone(groups: &[u32]) {
    let gone = async {
        while !running_in_groups(groups).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone)
        .await
        .unwrap_or_else(|_| panic!("still there: {:?}", running_in_groups(groups)));
}

#[tokio::test]
async fn starts_as_the_pinned_version_and_stops() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let version = plane.client().await.unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, "v1.36.4");
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));

    let groups: Vec<u32> = plane.processes().iter().map(|(_, pid)| *pid).collect();
    assert_eq!(groups.len(), 3);
    tokio::time::timeout(Duration::from_secs(30), plane.stop())
        .await
        .unwrap()
        .unwrap();
    until_gone(&groups).await;
}

#[tokio::test]
async fn without_a_controller_manager_namespaces_are_ready_all_the_same() {
    let options = Options {
        controller_manager: None,
        ..Options::default()
    };
    let plane = ControlPlane::start(options).await.unwrap();
    assert_eq!(plane.processes().len(), 2);
    let name = plane.namespace("bare").await.unwrap();
    assert!(name.starts_with("bare-"), "{name}");
    let groups: Vec<u32> = plane.processes().iter().map(|(_, pid)| *pid).collect();
    drop(plane);
    until_gone(&groups).await;
}

/// Does nothing of its own: it is the process that the next test kills.
#[tokio::test]
async fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let pids: Vec<String> = plane.processes().iter().map(|(_, pid)| pid.to_string()).collect();
    println!("pids: {}", pids.join(" "));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_test_process_leaves_nothing_behind() {
    let victim = DaemonCommand::new("victim", std::env::current_exe().unwrap())
        .args(["control_plane::victim", "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .spawn()
        .unwrap();
    let line = victim
        .wait_for_line("pids: ", Duration::from_mins(1))
        .await
        .unwrap();
    let groups: Vec<u32> = line
        .split_once("pids: ")
        .unwrap()
        .1
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect();
    assert_eq!(groups.len(), 3);
    assert!(running_in_groups(&groups).len() >= 3);

    // To the process itself, not to its group: what it started has to notice on its own.
    victim.signal(Signal::Kill).unwrap();
    victim.exited(Duration::from_secs(10)).await.unwrap();
    until_gone(&groups).await;
}

#[test]
fn missing_executables_are_named_with_the_command_that_builds_them() {
    let target = std::env::temp_dir().join("harness-without-assets");
    let error = Assets::find_in(|_| None, &target, true).unwrap_err().to_string();
    for part in [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "`make control-plane`",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn envtest_archives_are_told_apart_from_our_own_build() {
    let folder = std::env::temp_dir().join(format!("harness-envtest-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["etcd", "kube-apiserver"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    let environment = |name: &str| (name == "KUBEBUILDER_ASSETS").then(|| folder.clone().into_os_string());

    let error = Assets::find_in(environment, &folder, true)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("archives have no kube-controller-manager"),
        "{error}"
    );
    assert!(!error.contains("etcd ("), "{error}");
    let found = Assets::find_in(environment, &folder, false).unwrap();
    assert_eq!(found.etcd, folder.join("etcd"));
    assert_eq!(found.kube_controller_manager, None);
    std::fs::remove_dir_all(folder).unwrap();
}
