//! The power of a host. Source: `manageHostPower` in `baremetalhost_controller.go`, `PowerOn`, `PowerOff` and
//! `changePower` in `pkg/provisioner/ironic/ironic.go`.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::host::{Host, REBOOT};
use super::pass::{AT_ONCE, Script, Step};
use crate::metal3::{IronicNode, TargetPower};

pub(super) const ERROR: &str = "power management error";
const ON: &str = "power on";
const OFF: &str = "power off";
const SOFT_OFF: &str = "soft power off";
/// Source: `softPowerOffTimeout` in `pkg/provisioner/ironic/ironic.go`.
const SOFT_OFF_WITHIN: Duration = Duration::from_mins(3);

/// Whether a host is to be rebooted or held off, and whether at once. One annotation that says hard is enough; what
/// cannot be read is soft. Source: `hasRebootAnnotation` in `baremetalhost_controller.go`.
fn wanted_off(host: &Host) -> Option<bool> {
    let below = format!("{REBOOT}/");
    let values = host
        .object
        .metadata
        .annotations
        .iter()
        .flatten()
        .filter(|(key, _)| *key == REBOOT || key.starts_with(&below));
    let hard = values.map(|(_, value)| {
        let arguments: Value = serde_json::from_str(value).unwrap_or_default();
        arguments.get("mode").is_some_and(|mode| mode == "hard")
    });
    hard.reduce(|one, other| one || other)
}

impl Script {
    pub(super) async fn manage_power(&self, host: &Host) -> Result<Step> {
        let Some(node) = self.ironic.node(&host.node()).await? else {
            return Ok(Step::Again(AT_ONCE));
        };
        // What Ironic has on record, and only if it has: the status keeps what it said before.
        let powered_on = match node.power_state.as_deref() {
            Some(ON) => Some(true),
            Some(OFF) => Some(false),
            _ => None,
        };
        let mut status = host.status.clone();
        if let Some(powered_on) = powered_on.filter(|powered_on| *powered_on != status.powered_on) {
            status.powered_on = powered_on;
            if status.operational == "error" && host.has_power_error() {
                status.clear_error();
            }
            host.write(status).await?;
            return Ok(Step::Again(AT_ONCE));
        }
        if !status.powered_on && host.annotation(REBOOT).is_some() {
            return self.take_reboot_off(host).await;
        }
        let off = wanted_off(host);
        let on = host.spec.online && off.is_none();
        if status.powered_on == on {
            return Ok(Step::Again(self.pace.steady));
        }
        let forced = host.has_power_error();
        let step = if on {
            self.power_on(&node, forced).await?
        } else {
            let hard = off == Some(true) || status.error_count > 0;
            self.power_off(host, &node, hard, forced).await?
        };
        // It was a reset, which nobody has to end; with a key of somebody's own it comes again and again.
        if host.spec.disable_power_off && host.annotation(REBOOT).is_some() {
            return self.take_reboot_off(host).await;
        }
        match step {
            Step::Failed(..) => Ok(step),
            Step::Again(after) => {
                status.clear_error();
                host.write(status).await?;
                Ok(Step::Again(after))
            }
            // Not met while Ironic's record is what the status is made of.
            Step::Done => {
                status.powered_on = host.spec.online;
                status.error_count = 0;
                host.write(status).await?;
                Ok(Step::Again(self.pace.steady))
            }
        }
    }

    async fn take_reboot_off(&self, host: &Host) -> Result<Step> {
        host.update(|object| {
            if let Some(annotations) = &mut object.metadata.annotations {
                annotations.remove(REBOOT);
            }
        })
        .await?;
        Ok(Step::Again(AT_ONCE))
    }

    async fn power_on(&self, node: &IronicNode, forced: bool) -> Result<Step> {
        if node.power_state.as_deref() == Some(ON) {
            return Ok(Step::Done);
        }
        if node.target_power_state.as_deref() == Some(ON) {
            return Ok(Step::Again(self.pace.at_work));
        }
        if let Some(error) = node.last_error.as_ref().filter(|_| !forced) {
            return Ok(Step::Failed(ERROR, format!("PowerOn operation failed: {error}")));
        }
        self.change_power(node, TargetPower::On).await
    }

    /// Off, or with `disablePowerOff` a reset.
    pub(super) async fn power_off(
        &self,
        host: &Host,
        node: &IronicNode,
        hard: bool,
        forced: bool,
    ) -> Result<Step> {
        if node.power_state.as_deref() == Some(OFF) {
            return Ok(Step::Done);
        }
        let target = node.target_power_state.as_deref();
        if let Some(OFF | SOFT_OFF) = target {
            return Ok(Step::Again(self.pace.at_work));
        }
        // What a restart of Ironic left behind is no failure.
        let failed = node
            .last_error
            .as_ref()
            .filter(|error| !error.contains("aborted"));
        if let Some(error) = failed.filter(|_| target.is_none() && !forced) {
            return Ok(Step::Failed(ERROR, error.clone()));
        }
        let to = match (host.spec.disable_power_off, hard || forced) {
            (true, _) => TargetPower::Reboot,
            (false, true) => TargetPower::Off,
            (false, false) => TargetPower::SoftOff(SOFT_OFF_WITHIN),
        };
        self.change_power(node, to).await
    }

    async fn change_power(&self, node: &IronicNode, to: TargetPower) -> Result<Step> {
        if node.target_provision_state.is_some() {
            return Ok(Step::Again(self.pace.at_work));
        }
        let told = self.ironic.power(&node.uuid, to).await?;
        Ok(self.after(&told))
    }
}
