//! Who keeps the power of hosts that a BareMetalHost describes: metal3's baremetal-operator itself where
//! `BAREMETAL_OPERATOR` names it, or else the script that keeps its rules ([`super::operator`]).
//!
//! Beside the executable are its provisioner for Ironic, `ironic-provisioner.so`, and the folders `crds` and `rbac` with
//! the definitions and roles that it is shipped with.
//! Source: metal3-io/baremetal-operator `main.go`, `pkg/provisioner/ironic/factory.go`, `config/base/rbac`.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::Cluster;
use harness::process::ChildDaemon;

use super::{Ironic, IronicApi, Operator, Pace};
use crate::upstream::{ServiceAccount, Upstream};
use crate::{World, ensure_namespace};

const VARIABLE: &str = "BAREMETAL_OPERATOR";
const PLUGIN: &str = "ironic-provisioner.so";
const ACCOUNT: ServiceAccount = ServiceAccount {
    namespace: "baremetal-operator-system",
    name: "baremetal-operator-controller-manager",
};
/// Its role, under the name that its kustomization starts from.
const ROLE: &str = "manager-role";

/// baremetal-operator at work in one namespace, or dead there. It is dead when this is dropped.
pub struct BaremetalOperator {
    cluster: Cluster,
    namespace: String,
    ironic: IronicApi,
    endpoint: String,
    pace: Pace,
    real: Option<Upstream>,
    running: Option<Running>,
}

enum Running {
    Scripted(Operator),
    Real(ChildDaemon),
}

impl Drop for BaremetalOperator {
    fn drop(&mut self) {
        if let (Some(Running::Real(process)), true) = (&self.running, crate::failure::story_fails()) {
            let log = process.log_path().display();
            crate::failure::show(&format!("baremetal-operator's log: {log}"));
        }
    }
}

impl BaremetalOperator {
    /// Starts it for the BareMetalHosts of a world. The real one keeps its own pace.
    pub async fn start(world: &World, ironic: &Ironic, pace: Pace) -> Result<Self> {
        let real = Upstream::named(VARIABLE)?;
        if let Some(real) = &real {
            ensure!(
                real.folder().join(PLUGIN).is_file(),
                "{PLUGIN} is not beside the executable that {VARIABLE} names"
            );
            real.install(&world.cluster).await?;
            real.bind(&world.cluster, ROLE, ACCOUNT).await?;
            ensure_namespace(&world.client, ACCOUNT.namespace).await?;
        }
        let mut operator = Self {
            cluster: world.cluster.clone(),
            namespace: world.namespace.clone(),
            ironic: ironic.api().clone(),
            endpoint: ironic.endpoint(),
            pace,
            real,
            running: None,
        };
        operator.start_again().await?;
        Ok(operator)
    }

    /// Whether it is the real one.
    pub fn is_real(&self) -> bool {
        self.real.is_some()
    }

    /// Starts it after it was killed.
    pub async fn start_again(&mut self) -> Result<()> {
        ensure!(self.running.is_none(), "baremetal-operator runs already");
        self.running = Some(match &self.real {
            Some(real) => Running::Real(self.start_real(real)?),
            None => Running::Scripted(
                Operator::start(&self.cluster, &self.namespace, self.ironic.clone(), self.pace).await?,
            ),
        });
        Ok(())
    }

    /// Ends it as a crash does, in the middle of whatever it does.
    pub async fn kill(&mut self) -> Result<()> {
        match self.running.take().context("baremetal-operator does not run")? {
            Running::Scripted(script) => script.kill().await,
            Running::Real(process) => {
                tokio::time::timeout(Duration::from_mins(1), process.kill())
                    .await
                    .context("baremetal-operator cannot be killed")??;
                Ok(())
            }
        }
    }

    fn start_real(&self, real: &Upstream) -> Result<ChildDaemon> {
        let arguments = [
            format!("-namespace={}", self.namespace),
            "-webhook-port=0".to_owned(),
            "-metrics-addr=0".to_owned(),
            "-health-addr=0".to_owned(),
            "-dev".to_owned(),
        ];
        let environment: [(&str, OsString); 4] = [
            ("IRONIC_ENDPOINT", self.endpoint.clone().into()),
            ("POD_NAMESPACE", ACCOUNT.namespace.into()),
            ("PROVISIONER_PLUGIN_DIR", real.folder().into()),
            // No login at Ironic: a folder without one.
            ("METAL3_AUTH_ROOT_DIR", real.folder().join("no-login").into()),
        ];
        real.start(&self.cluster, ACCOUNT, &arguments, &environment)
    }
}
