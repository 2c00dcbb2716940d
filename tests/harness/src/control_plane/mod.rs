//! Starts and stops a real control plane.

mod apiserver;
mod controllers;
mod etcd;

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use kube::config::Kubeconfig;

use crate::audit::AuditLog;
use crate::cluster::Access;
use crate::folders::{self, RunFolders};
use crate::pki::Pki;
use crate::process::{Launch, Signal, Supervised};
use crate::{Assets, Cluster};

/// How long each process may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// What a caller may choose.
#[derive(Debug, Clone)]
pub struct Options {
    /// `None`: only etcd and the API server. Nodes then never become NotReady by themselves.
    pub controller_manager: Option<ControllerManagerOptions>,
    /// Tolerated seconds of `not-ready` and `unreachable` given to pods that name none; Kubernetes'
    /// default is 300.
    pub default_toleration_seconds: u32,
    /// More arguments for kube-apiserver; a flag given twice counts as given last.
    pub apiserver_arguments: Vec<String>,
    /// How long everything may take to become ready.
    pub ready_within: Duration,
}

/// Timings of kube-controller-manager, much shorter than in production so that tests are short.
#[derive(Debug, Clone)]
pub struct ControllerManagerOptions {
    /// A node that has not reported for this long is not Ready.
    pub node_monitor_grace_period: Duration,
    /// How often that is looked at.
    pub node_monitor_period: Duration,
    /// Nodes whose pods are evicted in each second; production has 0.1, one node in ten seconds.
    pub node_eviction_rate: f32,
    /// More arguments; a flag given twice counts as given last.
    pub arguments: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controller_manager: Some(ControllerManagerOptions::default()),
            default_toleration_seconds: 300,
            apiserver_arguments: Vec::new(),
            ready_within: Duration::from_mins(3),
        }
    }
}

impl Default for ControllerManagerOptions {
    fn default() -> Self {
        Self {
            node_monitor_grace_period: Duration::from_secs(5),
            node_monitor_period: Duration::from_secs(1),
            node_eviction_rate: 10.0,
            arguments: Vec::new(),
        }
    }
}

/// A running control plane; everything done through its API is on [`Cluster`].
///
/// [`ControlPlane::stop`] ends it in order. Dropping it, or the end of this process in whatever
/// way, kills it.
pub struct ControlPlane {
    cluster: Cluster,
    folders: RunFolders,
    /// In the order in which they are stopped; empty for an existing cluster.
    processes: Vec<Supervised>,
    /// Only for an existing cluster.
    _keeper: Option<Supervised>,
}

impl Deref for ControlPlane {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl ControlPlane {
    /// Starts one, or takes the kubeconfig's cluster where `USE_EXISTING_CLUSTER=true`.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        if std::env::var("USE_EXISTING_CLUSTER").is_ok_and(|value| value == "true") {
            return Self::existing();
        }
        let assets = Assets::find(options.controller_manager.is_some())?;
        let deadline = options.ready_within;
        tokio::time::timeout(deadline, Self::launch(assets, options))
            .await
            .with_context(|| {
                format!("the control plane was not ready within {deadline:?}; is the machine overloaded?")
            })?
    }

    async fn launch(assets: Assets, options: Options) -> anyhow::Result<Self> {
        let folders = RunFolders::create("control-plane")?;
        let pki = Pki::create(&folders.scratch)?;
        let etcd = etcd::start(&assets.etcd, &folders)?;
        let apiserver =
            apiserver::start_ready(&assets.kube_apiserver, &folders, &pki, &options, &etcd).await?;
        let controller_manager = match (&options.controller_manager, &assets.kube_controller_manager) {
            (Some(chosen), Some(program)) => Some(controllers::start(
                program,
                &folders,
                &pki,
                chosen,
                &apiserver.server,
            )?),
            (None, _) | (_, None) => None,
        };
        let cluster = Cluster::new(
            Access::Own {
                server: apiserver.server,
                pki: Box::new(pki),
            },
            &folders.scratch,
            Some(AuditLog::new(apiserver.audit)),
            controller_manager.is_some(),
        );
        if let Some(process) = &controller_manager {
            controllers::wait_until_working(process, &cluster, &folders).await?;
        }
        let processes = controller_manager
            .into_iter()
            .chain([apiserver.process, etcd])
            .collect();
        Ok(Self {
            cluster,
            folders,
            processes,
            _keeper: None,
        })
    }

    fn existing() -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::read()
            .context("USE_EXISTING_CLUSTER is true but there is no kubeconfig; set KUBECONFIG or unset it")?;
        let folders = RunFolders::create("existing-cluster")?;
        // Does nothing but end with us, so that its watchdog removes the credentials we write.
        let keeper = Supervised::spawn(Launch {
            name: "keeper",
            program: Path::new("/bin/sh"),
            arguments: &["-c", "while :; do sleep 3600; done"].map(OsString::from),
            environment: &[],
            stdout: Stdio::null(),
            stderr: Stdio::null(),
            remove_at_end: Some(&folders.scratch),
        })?;
        let cluster = Cluster::new(
            Access::Existing {
                kubeconfig: Box::new(kubeconfig),
            },
            &folders.scratch,
            None,
            true,
        );
        Ok(Self {
            cluster,
            folders,
            processes: Vec::new(),
            _keeper: Some(keeper),
        })
    }

    /// What is done through the API; cheap to clone and to move into tasks.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Where the logs are, also after the end.
    pub fn log_folder(&self) -> &Path {
        &self.folders.logs
    }

    /// Name and id of each process.
    pub fn processes(&self) -> Vec<(String, u32)> {
        self.processes
            .iter()
            .map(|process| (process.name().to_owned(), process.pid()))
            .collect()
    }

    /// Sends a signal to a process of this name, such as `kube-apiserver`.
    pub fn signal(&self, name: &str, signal: Signal) -> anyhow::Result<()> {
        let process = self.processes.iter().find(|process| process.name() == name);
        process
            .with_context(|| format!("there is no process {name} in this control plane"))?
            .signal(signal)
    }

    /// Ends the processes, the API server before etcd, each gracefully first.
    pub async fn stop(self) -> anyhow::Result<()> {
        let logs = self.folders.logs;
        for process in self.processes {
            let name = process.name().to_owned();
            process
                .stop(GRACE)
                .await
                .with_context(|| format!("{name} did not stop; see {}", logs.display()))?;
        }
        Ok(())
    }
}

/// Fails with the end of its log when a process has ended that should run.
fn still_running(process: &Supervised, log: &Path) -> anyhow::Result<()> {
    if let Some(status) = process.try_exited() {
        bail!(
            "{} ended at once ({status}); {}",
            process.name(),
            folders::tail(log)
        );
    }
    Ok(())
}

/// Go collects garbage when its heap has doubled. There is memory enough to do it at five times, which saves a
/// fifth of what a control plane computes.
fn rarely_collecting() -> [(OsString, OsString); 1] {
    [("GOGC".into(), "400".into())]
}

/// A duration as Kubernetes' flags take it.
fn go_duration(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}
