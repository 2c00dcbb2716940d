//! Finds the control plane's executables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::folders;

/// The module that pins the control plane.
const GO_MOD: &str = include_str!("../../programs/go.mod");

const ETCD: (&str, &str) = ("TEST_ASSET_ETCD", "etcd");
const KUBE_APISERVER: (&str, &str) = ("TEST_ASSET_KUBE_APISERVER", "kube-apiserver");
const KUBE_CONTROLLER_MANAGER: (&str, &str) =
    ("TEST_ASSET_KUBE_CONTROLLER_MANAGER", "kube-controller-manager");

/// The three executables, each known to be a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    /// etcd.
    pub etcd: PathBuf,
    /// kube-apiserver.
    pub kube_apiserver: PathBuf,
    /// kube-controller-manager; `None` where the caller does without.
    pub kube_controller_manager: Option<PathBuf>,
}

impl Assets {
    /// Looks where envtest looks (`TEST_ASSET_*`, `KUBEBUILDER_ASSETS`), then in our own build.
    pub fn find(with_controller_manager: bool) -> anyhow::Result<Self> {
        Self::find_in(
            |name| std::env::var_os(name),
            &folders::target()?,
            with_controller_manager,
        )
    }

    /// The same with an explicit environment and target folder.
    pub fn find_in(
        environment: impl Fn(&str) -> Option<OsString>,
        target: &Path,
        with_controller_manager: bool,
    ) -> anyhow::Result<Self> {
        let kubebuilder = environment("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty());
        let folder = match &kubebuilder {
            Some(folder) => PathBuf::from(folder),
            None => target.join("programs"),
        };
        let mut missing = Vec::new();
        let mut locate = |(variable, name): (&str, &str)| {
            let path = environment(variable).map_or_else(|| folder.join(name), PathBuf::from);
            if !path.is_file() {
                missing.push(format!(
                    "{name} (looked for {}, or set {variable})",
                    path.display()
                ));
            }
            path
        };
        let assets = Self {
            etcd: locate(ETCD),
            kube_apiserver: locate(KUBE_APISERVER),
            kube_controller_manager: with_controller_manager.then(|| locate(KUBE_CONTROLLER_MANAGER)),
        };
        if missing.is_empty() {
            return Ok(assets);
        }
        let hint = match kubebuilder {
            Some(_) => {
                "KUBEBUILDER_ASSETS is set, and envtest's archives have no kube-controller-manager: \
                 unset it and run `make control-plane`"
            }
            None => "run `make control-plane` to build it",
        };
        bail!(
            "the control plane is not complete, missing: {}; {hint}",
            missing.join(", ")
        )
    }
}

/// The pinned version, for instance `v1.36.4`.
pub(crate) fn version() -> anyhow::Result<&'static str> {
    GO_MOD
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .and_then(|rest| rest.split_whitespace().next())
        .context("tests/programs/go.mod does not require k8s.io/kubernetes; restore that line")
}
