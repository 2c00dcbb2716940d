//! kube-apiserver: TLS only, RBAC, audit log on its standard output.

use std::ffi::OsString;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use http::Request;

use super::{Options, etcd, still_running};
use crate::audit::POLICY;
use crate::cluster;
use crate::folders::{self, RunFolders};
use crate::pki::{Pki, private};
use crate::process::{Launch, LineLog, Supervised};

/// Somebody else may take the free port before the server does.
const PORTS_TO_TRY: usize = 5;

/// A server that answered `/readyz`.
pub(super) struct ApiServer {
    pub(super) process: Supervised,
    pub(super) server: String,
    pub(super) audit: LineLog,
}

/// Starts it and waits until it is ready, with another port where the first was taken.
pub(super) async fn start_ready(
    program: &Path,
    folders: &RunFolders,
    pki: &Pki,
    options: &Options,
    etcd: &Supervised,
) -> anyhow::Result<ApiServer> {
    let policy = private(&folders.scratch, "audit-policy.yaml", POLICY)?;
    let mut refused = String::new();
    for _ in 0..PORTS_TO_TRY {
        let port = free_port()?;
        let server = format!("https://127.0.0.1:{port}");
        let (process, audit) = spawn(program, folders, pki, options, &policy, port)?;
        match wait_until_ready(&process, &server, pki, folders, etcd).await {
            Ok(()) => {
                return Ok(ApiServer {
                    process,
                    server,
                    audit,
                });
            }
            Err(error) if port_was_taken(folders) => refused = format!("{error:#}"),
            Err(error) => return Err(error),
        }
    }
    bail!(
        "kube-apiserver found {PORTS_TO_TRY} ports taken, the last time: {refused}; run fewer tests at once"
    )
}

fn log(folders: &RunFolders) -> PathBuf {
    folders.logs.join("kube-apiserver.log")
}

/// A port that is free now.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port on 127.0.0.1; close some")?;
    Ok(listener
        .local_addr()
        .context("a listener has an address; try again")?
        .port())
}

fn port_was_taken(folders: &RunFolders) -> bool {
    std::fs::read_to_string(log(folders)).is_ok_and(|text| text.contains("address already in use"))
}

fn spawn(
    program: &Path,
    folders: &RunFolders,
    pki: &Pki,
    options: &Options,
    policy: &Path,
    port: u16,
) -> anyhow::Result<(Supervised, LineLog)> {
    let tolerated = options.default_toleration_seconds;
    let mut arguments: Vec<OsString> = [
        format!("--etcd-servers={}", etcd::endpoint(folders)),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", folders.scratch.display()),
        format!("--tls-cert-file={}", pki.server_certificate.display()),
        format!("--tls-private-key-file={}", pki.server_key.display()),
        format!("--client-ca-file={}", pki.ca_file.display()),
        "--anonymous-auth=false".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!(
            "--service-account-key-file={}",
            pki.service_account_public_key.display()
        ),
        format!(
            "--service-account-signing-key-file={}",
            pki.service_account_key.display()
        ),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--allow-privileged=true".to_owned(),
        format!("--default-not-ready-toleration-seconds={tolerated}"),
        format!("--default-unreachable-toleration-seconds={tolerated}"),
        // A fleet of scripted hosts is one user: fair queues between users would only slow it down.
        "--enable-priority-and-fairness=false".to_owned(),
        "--max-requests-inflight=0".to_owned(),
        "--max-mutating-requests-inflight=0".to_owned(),
        "--profiling=false".to_owned(),
        "--audit-log-path=-".to_owned(),
        "--audit-log-format=json".to_owned(),
        // An event is written before the answer's handler returns.
        "--audit-log-mode=blocking-strict".to_owned(),
        format!("--audit-policy-file={}", policy.display()),
    ]
    .map(OsString::from)
    .to_vec();
    arguments.extend(options.apiserver_arguments.iter().map(OsString::from));
    let (reader, writer) = std::io::pipe().context("no more pipes; raise the limit of open files")?;
    let audit = LineLog::collect(reader, &folders.logs.join("audit.log"))?;
    let file = File::create(log(folders)).context("cannot create kube-apiserver's log; is the disk full?")?;
    let process = Supervised::spawn(Launch {
        name: "kube-apiserver",
        program,
        arguments: &arguments,
        environment: &super::rarely_collecting(),
        stdout: Stdio::from(writer),
        stderr: Stdio::from(file),
        remove_at_end: None,
    })?;
    Ok((process, audit))
}

/// Asks `/readyz` until it says yes. There is nothing to watch before the server is up.
async fn wait_until_ready(
    process: &Supervised,
    server: &str,
    pki: &Pki,
    folders: &RunFolders,
    etcd: &Supervised,
) -> anyhow::Result<()> {
    let client = cluster::admin_client(server, pki).await?;
    loop {
        still_running(etcd, &etcd::log(folders))?;
        still_running(process, &log(folders))?;
        let request = Request::get("/readyz")
            .body(Vec::new())
            .context("a plain request; try again")?;
        let answer = tokio::time::timeout(Duration::from_secs(2), client.request_text(request)).await;
        if matches!(answer, Ok(Ok(_))) {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
            _ = process.exited() => {
                bail!("kube-apiserver ended; {}", folders::tail(&log(folders)));
            }
        }
    }
}
