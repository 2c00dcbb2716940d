//! What baremetal-operator asks of Ironic, over its REST API.
//! Source: baremetal-operator `pkg/provisioner/ironic/{register,ironic}.go`; openstack/ironic `api-ref/source`.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_rustls::rustls;

/// The version of the API that baremetal-operator chooses, with all that it makes use of. Source: its
/// `pkg/provisioner/ironic/clients/features.go`.
const VERSION: &str = "1.110";
/// Longer than Ironic takes for any answer; baremetal-operator waits as long.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks at a node; Ironic has no way to tell of changes.
const PAUSE: Duration = Duration::from_millis(100);
/// How often it is asked whose database is locked: SQLite itself waits 5 s each time.
const LOCKED_TIMES: u32 = 10;

/// A client of one Ironic.
#[derive(Debug, Clone)]
pub struct IronicApi {
    url: String,
    client: reqwest::Client,
}

/// A node as Ironic has it on record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IronicNode {
    /// Its id.
    pub uuid: String,
    /// Its name: `<namespace>~<name>` of its BareMetalHost.
    #[serde(default)]
    pub name: Option<String>,
    /// `enroll`, `verifying`, `manageable`, `adopting`, `active` and others.
    pub provision_state: String,
    /// What the provision state is on its way to.
    #[serde(default)]
    pub target_provision_state: Option<String>,
    /// `power on`, `power off`, or nothing where the BMC has not answered.
    #[serde(default)]
    pub power_state: Option<String>,
    /// What the power is on its way to.
    #[serde(default)]
    pub target_power_state: Option<String>,
    /// Whether Ironic leaves it alone.
    #[serde(default)]
    pub maintenance: bool,
    /// Why.
    #[serde(default)]
    pub maintenance_reason: Option<String>,
    /// Why Ironic took it into maintenance by itself, for instance `power failure`.
    #[serde(default)]
    pub fault: Option<String>,
    /// What failed last.
    #[serde(default)]
    pub last_error: Option<String>,
    /// Which conductor is at work on it.
    #[serde(default)]
    pub reservation: Option<String>,
}

/// What a node is made of.
#[derive(Debug, Clone)]
pub struct NewNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// Scheme, host and port of its BMC.
    pub address: &'a str,
    /// The path of its system at the BMC.
    pub system: &'a str,
    /// The user of the BMC.
    pub username: &'a str,
    /// The password of that user.
    pub password: &'a str,
    /// Whether the BMC's certificate is judged.
    pub verify: bool,
    /// Whether Ironic resets instead of switching off.
    pub disable_power_off: bool,
}

/// What a node is told to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// `manageable`: Ironic logs in at the BMC.
    Manage,
    /// `active`, without anything being done to it.
    Adopt,
}

/// What the power is told to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPower {
    /// On.
    On,
    /// Off at once.
    Off,
    /// Off by the operating system, and after this time at once.
    SoftOff(Duration),
    /// Off and on.
    Reboot,
}

/// What Ironic made of a request to change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It does it, or did.
    Accepted,
    /// Something else is being done to the node, or its state forbids it.
    Busy(String),
    /// There is no such node.
    Gone,
}

impl Told {
    /// An error unless it was accepted.
    pub fn accepted(self) -> Result<()> {
        ensure!(self == Self::Accepted, "Ironic does not do it: {self:?}");
        Ok(())
    }
}

impl IronicApi {
    /// A client for the Ironic at this URL, without a path.
    pub fn new(url: &str) -> Result<Self> {
        // Fails only where a provider is installed already, which is what we want.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().timeout(ANSWERED_WITHIN).build()?;
        Ok(Self {
            url: url.to_owned(),
            client,
        })
    }

    /// Whether it answers and can manage hosts over Redfish.
    pub async fn answers(&self) -> bool {
        let drivers = self.client.get(format!("{}/v1/drivers", self.url)).send().await;
        let Ok(drivers) = drivers.and_then(reqwest::Response::error_for_status) else {
            return false;
        };
        let served: Value = drivers.json().await.unwrap_or_default();
        served
            .get("drivers")
            .and_then(Value::as_array)
            .is_some_and(|drivers| !drivers.is_empty())
    }

    /// Makes a node; answers its id.
    pub async fn create(&self, node: &NewNode<'_>) -> Result<String> {
        let mut access = json!({
            "redfish_address": node.address,
            "redfish_system_id": node.system,
            "redfish_username": node.username,
            "redfish_password": node.password,
        });
        if let (false, Some(access)) = (node.verify, access.as_object_mut()) {
            access.insert("redfish_verify_ca".to_owned(), json!(false));
        }
        let body = json!({
            "name": node.name,
            "driver": "redfish",
            "driver_info": access,
            "boot_interface": "redfish-virtual-media",
            "firmware_interface": "redfish",
            "inspect_interface": "agent",
            "raid_interface": "redfish",
            "disable_power_off": node.disable_power_off,
            "properties": {"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64"},
        });
        let (status, answer) = self.call(Method::POST, "", Some(&body)).await?;
        ensure!(status.is_success(), "Ironic makes no node: {status}: {answer}");
        let made: IronicNode = serde_json::from_value(answer).context("Ironic's answer is no node")?;
        Ok(made.uuid)
    }

    /// A node by its id or name, where it exists.
    pub async fn node(&self, node: &str) -> Result<Option<IronicNode>> {
        let (status, answer) = self.call(Method::GET, node, None).await?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        ensure!(status.is_success(), "Ironic shows no node: {status}: {answer}");
        Ok(Some(
            serde_json::from_value(answer).context("Ironic's answer is no node")?,
        ))
    }

    /// Waits until a node is as wanted.
    pub async fn node_until(
        &self,
        node: &str,
        within: Duration,
        wanted: impl Fn(&IronicNode) -> bool,
    ) -> Result<IronicNode> {
        let mut last = None;
        let poll = async {
            loop {
                last = self.node(node).await?;
                if let Some(found) = last.as_ref().filter(|node| wanted(node)) {
                    return anyhow::Ok(found.clone());
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        match tokio::time::timeout(within, poll).await {
            Ok(found) => found,
            Err(_) => anyhow::bail!("Ironic's node {node} did not get there within {within:?}: {last:#?}"),
        }
    }

    /// Tells a node to become something; it does so later.
    pub async fn provision(&self, node: &str, to: Provision) -> Result<Told> {
        let target = match to {
            Provision::Manage => "manage",
            Provision::Adopt => "adopt",
        };
        let path = format!("{node}/states/provision");
        self.change(Method::PUT, &path, Some(&json!({"target": target})))
            .await
    }

    /// Tells the power of a node to become something; it does so later.
    pub async fn power(&self, node: &str, to: TargetPower) -> Result<Told> {
        let body = match to {
            TargetPower::On => json!({"target": "power on"}),
            TargetPower::Off => json!({"target": "power off"}),
            TargetPower::SoftOff(within) => {
                json!({"target": "soft power off", "timeout": within.as_secs()})
            }
            TargetPower::Reboot => json!({"target": "rebooting"}),
        };
        let path = format!("{node}/states/power");
        self.change(Method::PUT, &path, Some(&body)).await
    }

    /// Takes a node into maintenance for this reason, or out of it.
    pub async fn maintain(&self, node: &str, reason: Option<&str>) -> Result<Told> {
        let path = format!("{node}/maintenance");
        match reason {
            Some(reason) => {
                let body = json!({"reason": reason});
                self.change(Method::PUT, &path, Some(&body)).await
            }
            None => self.change(Method::DELETE, &path, None).await,
        }
    }

    /// Forgets a node, without anything being done to it.
    pub async fn delete(&self, node: &str) -> Result<Told> {
        self.change(Method::DELETE, node, None).await
    }

    async fn change(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Told> {
        let (status, answer) = self.call(method, path, body).await?;
        match status {
            StatusCode::CONFLICT => Ok(Told::Busy(answer.to_string())),
            StatusCode::NOT_FOUND => Ok(Told::Gone),
            status if status.is_success() => Ok(Told::Accepted),
            status => anyhow::bail!("Ironic refuses {path}: {status}: {answer}"),
        }
    }

    /// Again where its database, a file that one writes at a time, was locked: nothing was done then.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(StatusCode, Value)> {
        for _ in 0..LOCKED_TIMES {
            let (status, answer) = self.call_once(method.clone(), path, body).await?;
            let is_locked = status == StatusCode::INTERNAL_SERVER_ERROR
                && answer.to_string().contains("database is locked");
            if !is_locked {
                return Ok((status, answer));
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.call_once(method, path, body).await
    }

    async fn call_once(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let url = format!("{}/v1/nodes/{path}", self.url);
        let mut request = self
            .client
            .request(method, url.trim_end_matches('/'))
            .header("X-OpenStack-Ironic-API-Version", VERSION);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.context("Ironic does not answer")?;
        let status = answer.status();
        let text = answer.text().await.context("Ironic's answer breaks off")?;
        // Nothing, or a page of a proxy's, is told as it is.
        let parsed = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok((status, parsed))
    }
}
