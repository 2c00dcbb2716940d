//! sushy-emulator as the BMC of several systems: a peer that we did not write.
//! Source of what it expects: OpenStack sushy-tools 2.2.0, `sushy_tools/emulator/main.py`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::process::{ChildDaemon, DaemonCommand};
use rcgen::{CertificateParams, IsCa, KeyPair, SanType};
use world::repository;

pub(crate) const USERNAME: &str = "admin";
pub(crate) const PASSWORD: &str = "canary-Pa55word";

/// A running emulator. Ends with this process or when it is dropped, and its folder with it.
pub(crate) struct Sushy {
    pub(crate) certificate: String,
    pub(crate) url: String,
    pub(crate) uuids: Vec<String>,
    client: reqwest::Client,
    process: ChildDaemon,
    folder: PathBuf,
}

impl Drop for Sushy {
    fn drop(&mut self) {
        // What is left behind is below the target folder.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Sushy {
    /// Starts one with this many systems, all on, on a free port of the loopback.
    pub(crate) async fn start(systems: usize) -> Result<Self> {
        let programs = programs()?;
        // Fails only where a provider is installed already, which is what we want.
        rustls::crypto::ring::default_provider().install_default().ok();
        let folder = target().join(format!("peers/sushy-run-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("state"))?;
        let certificate = write_certificate(&folder)?;
        write_htpasswd(&programs, &folder)?;
        let port = free_port()?;
        let uuids: Vec<String> = (1..=systems)
            .map(|number| format!("7a7a0000-0000-4000-8000-{number:012}"))
            .collect();
        std::fs::write(folder.join("emulator.conf"), configuration(&folder, port, &uuids))?;
        let process = DaemonCommand::new("sushy-emulator", programs.join("sushy-emulator"))
            .arg("--config")
            .arg(folder.join("emulator.conf"))
            .spawn()?;
        let root = reqwest::Certificate::from_pem(certificate.as_bytes())?;
        let client = reqwest::Client::builder()
            .tls_certs_only([root])
            .timeout(Duration::from_secs(30))
            .build()?;
        let emulator = Self {
            url: format!("https://127.0.0.1:{port}"),
            certificate,
            uuids,
            client,
            process,
            folder,
        };
        emulator.wait_until_it_answers().await?;
        Ok(emulator)
    }

    /// What a system says about its power. The emulator has no event stream, so this is how to follow it.
    pub(crate) async fn power(&self, uuid: &str) -> Result<String> {
        let url = format!("{}/redfish/v1/Systems/{uuid}", self.url);
        let request = self.client.get(url).basic_auth(USERNAME, Some(PASSWORD));
        let answer = request.send().await?.error_for_status()?;
        let system: serde_json::Value = answer.json().await?;
        let power = system.get("PowerState").and_then(serde_json::Value::as_str);
        Ok(power.unwrap_or("null").to_owned())
    }

    /// Waits until a system says this about its power, asking four times a second.
    pub(crate) async fn power_becomes(&self, uuid: &str, wanted: &str, within: Duration) -> Result<()> {
        let poll = async {
            while self.power(uuid).await? != wanted {
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(within, poll)
            .await
            .with_context(|| format!("system {uuid} did not become {wanted} within {within:?}"))?
    }

    async fn wait_until_it_answers(&self) -> Result<()> {
        let root = format!("{}/redfish/v1/", self.url);
        let poll = async {
            while self.client.get(&root).send().await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let log = self.process.log_path().display().to_string();
        tokio::time::timeout(Duration::from_mins(2), poll)
            .await
            .with_context(|| format!("sushy-emulator does not answer; see {log}"))
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// Where its programs are.
fn programs() -> Result<PathBuf> {
    let programs = target().join("peers/sushy/bin");
    ensure!(
        programs.join("sushy-emulator").exists(),
        "sushy-emulator is not installed in {}; run `make peers`",
        programs.display()
    );
    Ok(programs)
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

/// A certificate that is its own root and no CA, as BMCs come with.
fn write_certificate(folder: &Path) -> Result<String> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
    let loopback = SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into());
    parameters.subject_alt_names.push(loopback);
    parameters.is_ca = IsCa::ExplicitNoCa;
    let certificate = parameters.self_signed(&key)?.pem();
    std::fs::write(folder.join("cert.pem"), &certificate)?;
    std::fs::write(folder.join("key.pem"), key.serialize_pem())?;
    Ok(certificate)
}

/// Only bcrypt will do. The password goes by standard input, not by the arguments.
fn write_htpasswd(programs: &Path, folder: &Path) -> Result<()> {
    let hash = "import bcrypt,sys; print(bcrypt.hashpw(sys.stdin.buffer.read(), bcrypt.gensalt(4)).decode())";
    let mut python = Command::new(programs.join("python"))
        .args(["-c", hash])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run the emulator's python; run `make peers`")?;
    let mut input = python.stdin.take().context("no standard input")?;
    input.write_all(PASSWORD.as_bytes())?;
    drop(input);
    let output = python.wait_with_output()?;
    ensure!(output.status.success(), "bcrypt failed; run `make peers`");
    let hashed = String::from_utf8(output.stdout)?;
    std::fs::write(folder.join("htpasswd"), format!("{USERNAME}:{hashed}"))?;
    Ok(())
}

fn configuration(folder: &Path, port: u16, uuids: &[String]) -> String {
    let systems: Vec<String> = uuids
        .iter()
        .enumerate()
        .map(|(index, uuid)| {
            format!(
                "{{'uuid':'{uuid}','name':'system-{index}','power_state':'On','external_notifier':False,\
                 'nics':[{{'mac':'02:00:00:00:00:{index:02x}','ip':'192.0.2.{}'}}]}}",
                index.saturating_add(1)
            )
        })
        .collect();
    let folder = folder.display();
    format!(
        "SUSHY_EMULATOR_LISTEN_IP='127.0.0.1'\n\
         SUSHY_EMULATOR_LISTEN_PORT={port}\n\
         SUSHY_EMULATOR_FAKE_DRIVER=True\n\
         SUSHY_EMULATOR_SSL_CERT='{folder}/cert.pem'\n\
         SUSHY_EMULATOR_SSL_KEY='{folder}/key.pem'\n\
         SUSHY_EMULATOR_AUTH_FILE='{folder}/htpasswd'\n\
         SUSHY_EMULATOR_STATE_DIR='{folder}/state'\n\
         SUSHY_EMULATOR_FEATURE_SET='full'\n\
         SUSHY_EMULATOR_FAKE_SYSTEMS=[{}]\n",
        systems.join(",")
    )
}
