//! kube-controller-manager: node lifecycle, taint eviction, pod garbage collection and the rest.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::await_condition;
use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;

use super::{ControllerManagerOptions, go_duration, rarely_collecting};
use crate::Cluster;
use crate::cluster::admin_kubeconfig_text;
use crate::folders::{self, RunFolders};
use crate::namespaces::exists;
use crate::pki::{Pki, private};
use crate::process::{Launch, Supervised};

/// Those that act when a Node dies, and those that make and clear away what stories make. Each controller watches
/// what it controls, which costs the API server as much as it costs here.
const CONTROLLERS: [&str; 16] = [
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "taint-eviction-controller",
];

fn log(folders: &RunFolders) -> PathBuf {
    folders.logs.join("kube-controller-manager.log")
}

/// Starts it without a port: nobody asks it anything.
pub(super) fn start(
    program: &Path,
    folders: &RunFolders,
    pki: &Pki,
    options: &ControllerManagerOptions,
    server: &str,
) -> anyhow::Result<Supervised> {
    let text = admin_kubeconfig_text(server, pki, "system:kube-controller-manager")?;
    let kubeconfig = private(&folders.scratch, "controller-manager.json", &text)?;
    let mut arguments: Vec<OsString> = [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={}", CONTROLLERS.join(",")),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
        format!(
            "--service-account-private-key-file={}",
            pki.service_account_key.display()
        ),
        format!("--root-ca-file={}", pki.ca_file.display()),
        format!(
            "--node-monitor-period={}",
            go_duration(options.node_monitor_period)
        ),
        format!(
            "--node-monitor-grace-period={}",
            go_duration(options.node_monitor_grace_period)
        ),
        format!("--node-eviction-rate={}", options.node_eviction_rate),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
        "--profiling=false".to_owned(),
    ]
    .map(OsString::from)
    .to_vec();
    arguments.extend(options.arguments.iter().map(OsString::from));
    let file = File::create(log(folders))
        .context("cannot create kube-controller-manager's log; is the disk full?")?;
    Supervised::spawn(Launch {
        name: "kube-controller-manager",
        program,
        arguments: &arguments,
        environment: &rarely_collecting(),
        stdout: Stdio::null(),
        stderr: Stdio::from(file),
        remove_at_end: None,
    })
}

/// Waits for a trace of its work: the service account that every namespace gets.
pub(super) async fn wait_until_working(
    process: &Supervised,
    cluster: &Cluster,
    folders: &RunFolders,
) -> anyhow::Result<()> {
    let accounts = Api::<ServiceAccount>::namespaced(cluster.client().await?, "default");
    tokio::select! {
        found = await_condition(accounts, "default", exists()) => {
            found.context("cannot watch service accounts; see the API server's log")?;
            Ok(())
        }
        _ = process.exited() => {
            bail!("kube-controller-manager ended; {}", folders::tail(&log(folders)))
        }
    }
}
