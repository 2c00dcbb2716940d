//! etcd on a unix socket: no port to race for, and nobody else's to talk to.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;

use crate::folders::RunFolders;
use crate::process::{Launch, Supervised};

/// etcd insists on advertising a host and port. It is alone, so nobody ever connects there.
const ADVERTISED: &str = "http://127.0.0.1:1";

/// What the API server is told.
pub(super) fn endpoint(folders: &RunFolders) -> String {
    socket(folders, "etcd.sock")
}

pub(super) fn log(folders: &RunFolders) -> PathBuf {
    folders.logs.join("etcd.log")
}

/// Starts it; the API server waits for it by itself. Its watchdog removes the scratch folder.
pub(super) fn start(program: &Path, folders: &RunFolders) -> anyhow::Result<Supervised> {
    let client = endpoint(folders);
    let peer = socket(folders, "peer.sock");
    let arguments: Vec<OsString> = [
        "--name=harness".to_owned(),
        format!("--data-dir={}", folders.scratch.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={ADVERTISED}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={ADVERTISED}"),
        format!("--initial-cluster=harness={ADVERTISED}"),
        // Nothing here has to survive a power failure.
        "--unsafe-no-fsync".to_owned(),
        "--snapshot-count=10000".to_owned(),
        "--log-level=warn".to_owned(),
    ]
    .map(OsString::from)
    .to_vec();
    let file = File::create(log(folders)).context("cannot create etcd's log; is the disk full?")?;
    Supervised::spawn(Launch {
        name: "etcd",
        program,
        arguments: &arguments,
        environment: &super::rarely_collecting(),
        stdout: Stdio::null(),
        stderr: Stdio::from(file),
        remove_at_end: Some(&folders.scratch),
    })
}

fn socket(folders: &RunFolders, name: &str) -> String {
    format!("unix://{}", folders.scratch.join(name).display())
}
