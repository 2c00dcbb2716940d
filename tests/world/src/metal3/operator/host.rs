//! A BareMetalHost as the operator reads and writes it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, PostParams};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) const PAUSED: &str = "baremetalhost.metal3.io/paused";
pub(super) const DETACHED: &str = "baremetalhost.metal3.io/detached";
pub(super) const REBOOT: &str = "reboot.metal3.io";

/// What is read of a spec. Source: `apis/metal3.io/v1alpha1/baremetalhost_types.go`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) online: bool,
    #[serde(default)]
    pub(super) externally_provisioned: bool,
    #[serde(default)]
    pub(super) disable_power_off: bool,
    #[serde(default)]
    pub(super) bmc: Bmc,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Bmc {
    pub(super) address: String,
    pub(super) credentials_name: String,
    pub(super) disable_certificate_verification: bool,
}

/// What is written of a status. Source: the same file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    #[serde(rename = "operationalStatus")]
    pub(super) operational: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) error_type: String,
    pub(super) error_message: String,
    pub(super) error_count: u32,
    pub(super) powered_on: bool,
    pub(super) provisioning: Provisioning,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Provisioning {
    pub(super) state: String,
    #[serde(rename = "ID")]
    pub(super) id: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Status {
    /// Nothing is wrong any more; how often something was in a row stays. Source: `clearError` in
    /// `baremetalhost_controller.go`.
    pub(super) fn clear_error(&mut self) {
        "OK".clone_into(&mut self.operational);
        self.error_type.clear();
        self.error_message.clear();
    }

    /// Something is wrong. Source: `setErrorMessage` in `baremetalhost_controller.go`.
    pub(super) fn set_error(&mut self, error_type: &str, message: &str) {
        "error".clone_into(&mut self.operational);
        error_type.clone_into(&mut self.error_type);
        message.clone_into(&mut self.error_message);
        self.error_count = self.error_count.saturating_add(1);
    }

    /// How long to wait after as many errors in a row. Source: `calculateBackoff` in `action_result.go`.
    pub(super) fn backoff(&self, after_an_error: Duration) -> Duration {
        after_an_error.saturating_mul(2_u32.saturating_pow(self.error_count.min(9)))
    }
}

/// A BareMetalHost at one moment.
pub(super) struct Host {
    pub(super) object: DynamicObject,
    pub(super) spec: Spec,
    pub(super) status: Status,
    hosts: Api<DynamicObject>,
}

impl Host {
    /// The host of a name, unless it is gone.
    pub(super) async fn read(hosts: &Api<DynamicObject>, name: &str) -> Result<Option<Self>> {
        let Some(object) = hosts.get_opt(name).await? else {
            return Ok(None);
        };
        let part = |key: &str| object.data.get(key).cloned();
        let spec = part("spec").context("the BareMetalHost has no spec")?;
        let status = part("status").map(serde_json::from_value).transpose()?;
        Ok(Some(Self {
            spec: serde_json::from_value(spec)?,
            status: status.unwrap_or_default(),
            object,
            hosts: hosts.clone(),
        }))
    }

    pub(super) fn name(&self) -> String {
        self.object.name_any()
    }

    /// The name of its node. Source: `ironicNodeName` in `pkg/provisioner/ironic/ironic.go`.
    pub(super) fn node(&self) -> String {
        format!("{}~{}", self.object.namespace().unwrap_or_default(), self.name())
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.object.annotations().get(key).map(String::as_str)
    }

    pub(super) fn has_power_error(&self) -> bool {
        self.status.error_type == super::power::ERROR
    }

    /// Writes the status if it was changed; in vain if somebody else has written the host since it was read.
    pub(super) async fn write(&self, status: Status) -> Result<()> {
        if status == self.status {
            return Ok(());
        }
        let mut object = self.object.clone();
        let data = object
            .data
            .as_object_mut()
            .context("a BareMetalHost is no object")?;
        data.insert("status".to_owned(), serde_json::to_value(status)?);
        let (name, how) = (self.name(), PostParams::default());
        self.hosts.replace_status(&name, &how, &object).await?;
        Ok(())
    }

    /// Writes annotations and finalizers, as [`Host::write`] does.
    pub(super) async fn update(&self, change: impl FnOnce(&mut DynamicObject)) -> Result<()> {
        let mut object = self.object.clone();
        change(&mut object);
        let (name, how) = (self.name(), PostParams::default());
        self.hosts.replace(&name, &how, &object).await?;
        Ok(())
    }
}
