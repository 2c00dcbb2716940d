//! A host becomes a node that Ironic manages. Source: `pkg/provisioner/ironic/register.go`, `Adopt` in
//! `pkg/provisioner/ironic/ironic.go`, `pkg/hardwareutils/bmc/redfish.go`.

use anyhow::{Context as _, Result};

use super::host::Host;
use super::pass::{AT_ONCE, Script, Step};
use crate::metal3::{NewNode, Provision};

const ERROR: &str = "registration error";
const ADOPTION_ERROR: &str = "provisioned registration error";

/// Scheme, host and port of a BMC, and the path of its system. The script knows Redfish only.
fn parts(address: &str) -> Result<(String, String)> {
    let (scheme, rest) = address
        .split_once("://")
        .with_context(|| format!("no scheme in {address}"))?;
    let over = scheme.split_once('+').map_or("https", |(_, over)| over);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    Ok((format!("{over}://{host}"), format!("/{path}")))
}

impl Script {
    /// Makes the node, and has Ironic log in at the BMC.
    pub(super) async fn register(&self, host: &Host) -> Result<Step> {
        let Some(node) = self.ironic.node(&host.node()).await? else {
            return self.enroll(host).await;
        };
        if host.status.provisioning.id != node.uuid {
            let mut status = host.status.clone();
            status.provisioning.id.clone_from(&node.uuid);
            host.write(status).await?;
            return Ok(Step::Again(AT_ONCE));
        }
        let forced = host.status.error_type == ERROR;
        match node.provision_state.as_str() {
            "enroll" if node.last_error.is_some() && !forced => {
                Ok(Step::Failed(ERROR, node.last_error.unwrap_or_default()))
            }
            "enroll" if node.target_provision_state.is_none() => {
                let told = self.ironic.provision(&node.uuid, Provision::Manage).await?;
                Ok(self.after(&told))
            }
            "enroll" | "verifying" => Ok(Step::Again(self.pace.at_work)),
            _ if forced || host.status.operational.is_empty() => {
                let mut status = host.status.clone();
                status.clear_error();
                host.write(status).await?;
                Ok(Step::Again(AT_ONCE))
            }
            _ => Ok(Step::Done),
        }
    }

    async fn enroll(&self, host: &Host) -> Result<Step> {
        let bmc = &host.spec.bmc;
        let Some(secret) = self.secrets.get_opt(&bmc.credentials_name).await? else {
            let message = format!("the BMC secret {} does not exist", bmc.credentials_name);
            return Ok(Step::Failed(ERROR, message));
        };
        let text = |key: &str| {
            let value = secret.data.as_ref().and_then(|data| data.get(key));
            let text = value.map(|value| String::from_utf8_lossy(&value.0).trim().to_owned());
            text.with_context(|| format!("the BMC secret has no {key}"))
        };
        let (address, system) = parts(&bmc.address)?;
        self.ironic
            .create(&NewNode {
                name: &host.node(),
                address: &address,
                system: &system,
                username: &text("username")?,
                password: &text("password")?,
                verify: !bmc.disable_certificate_verification,
                disable_power_off: host.spec.disable_power_off,
            })
            .await?;
        Ok(Step::Again(AT_ONCE))
    }

    /// Has Ironic take the node over as it is, and out of a maintenance that is not its own.
    pub(super) async fn adopt(&self, host: &Host) -> Result<Step> {
        let Some(node) = self.ironic.node(&host.node()).await? else {
            return Ok(Step::Again(AT_ONCE));
        };
        let forced = host.status.error_type == ADOPTION_ERROR;
        match node.provision_state.as_str() {
            "manageable" => {}
            "adopt failed" if forced => {}
            "adopt failed" => {
                let error = node.last_error.unwrap_or_default();
                return Ok(Step::Failed(
                    ADOPTION_ERROR,
                    format!("Host adoption failed: {error}"),
                ));
            }
            "adopting" => return Ok(Step::Again(self.pace.at_work)),
            "active" if node.maintenance && node.fault.is_none() => {
                let told = self.ironic.maintain(&node.uuid, None).await?;
                return Ok(self.after(&told));
            }
            _ => return Ok(Step::Done),
        }
        let told = self.ironic.provision(&node.uuid, Provision::Adopt).await?;
        Ok(self.after(&told))
    }
}
