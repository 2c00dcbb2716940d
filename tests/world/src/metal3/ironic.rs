//! A real Ironic as a child process, on a loopback address of its own, with SQLite in a folder of its own.
//! `tests/peers/install-ironic.sh` installs it.
//!
//! It is set up as metal3's ironic-image sets it up, where that concerns power: one process, `rpc_transport = none`,
//! hardware type `redfish`. Sources: metal3-io/ironic-image `ironic-config/ironic.conf.j2`, openstack/ironic
//! `ironic/conf/conductor.py`.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::process::{ChildDaemon, DaemonCommand, Signal};
use tokio::sync::OnceCell;

use super::ironic_api::IronicApi;
use crate::{own_address, repository};

/// The version that is installed.
const VERSION: &str = "39.0.0";
/// Where its folder has the authorities of the BMCs' certificates.
const AUTHORITIES: &str = "authorities.pem";
/// Runs it with less to compute.
const LAUNCHER: &str = "tests/peers/run-ironic.py";
/// Where its folder has what it has on record.
const DATABASE: &str = "ironic.sqlite";
/// How long it may take to make its tables, to answer, or to end. A busy machine takes its time.
const PATIENCE: Duration = Duration::from_mins(2);
/// Between two questions whether it answers; nothing tells when it does.
const PAUSE: Duration = Duration::from_millis(100);

/// What of its settings a story may choose.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Between two comparisons of the power that it has on record with what BMCs say: 120 s in metal3. Whole seconds.
    pub sync_power_state_interval: Duration,
    /// How often it puts right what differs, or bears a BMC that does not answer, before it takes the node into
    /// maintenance: 3 in metal3.
    pub power_state_sync_max_retries: u32,
    /// How long it waits for a change of power that it asked for: 120 s in metal3. Whole seconds.
    pub power_state_change_timeout: Duration,
    /// Between two looks at nodes that it took into maintenance by itself: 300 s in metal3. Whole seconds.
    pub power_failure_recovery_interval: Duration,
    /// The authorities of the BMCs' certificates.
    pub authorities: String,
}

impl Settings {
    /// As in metal3 with shorter times, for BMCs with certificates of this authority.
    pub fn shortened(authorities: &str) -> Self {
        Self {
            sync_power_state_interval: Duration::from_secs(2),
            power_state_sync_max_retries: 3,
            power_state_change_timeout: Duration::from_secs(20),
            power_failure_recovery_interval: Duration::from_secs(5),
            authorities: authorities.to_owned(),
        }
    }
}

/// An Ironic that runs, or did and can run again with what it has on record. Ends with this process or when it is
/// dropped, and its folder with it; its logs stay.
pub struct Ironic {
    address: SocketAddr,
    folder: PathBuf,
    programs: PathBuf,
    process: Option<ChildDaemon>,
    api: IronicApi,
}

impl Drop for Ironic {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            tell_if_the_story_fails(process.log_path());
        }
        // What is left behind is below the target folder.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Ironic {
    /// Starts one without nodes, and waits until it answers.
    pub async fn start(settings: &Settings) -> Result<Self> {
        let programs = programs()?;
        let folder = new_folder()?;
        let address = free_port(own_address())?;
        std::fs::write(folder.join(AUTHORITIES), &settings.authorities)?;
        std::fs::write(
            folder.join("ironic.conf"),
            configuration(settings, &folder, address),
        )?;
        let mut ironic = Self {
            address,
            programs,
            process: None,
            api: IronicApi::new(&format!("http://{address}"))?,
            folder,
        };
        ironic.make_tables().await?;
        ironic.start_again().await?;
        Ok(ironic)
    }

    /// Takes certificates of this authority, too, for BMCs that it is told of from now on.
    pub fn trust(&self, authority: &str) -> Result<()> {
        let mut bundle = std::fs::OpenOptions::new()
            .append(true)
            .open(self.folder.join(AUTHORITIES))?;
        // One write: others append, too.
        bundle.write_all(format!("\n{authority}\n").as_bytes())?;
        Ok(())
    }

    /// Its API.
    pub fn api(&self) -> &IronicApi {
        &self.api
    }

    /// Where its API is, as baremetal-operator is told it.
    pub fn endpoint(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Starts it after it ended, with what it had on record, and waits until it answers.
    pub async fn start_again(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "Ironic runs already");
        let process = DaemonCommand::new("ironic", self.programs.join("python"))
            .arg(std::path::absolute(repository().join(LAUNCHER))?)
            .arg("--config-file")
            .arg(self.folder.join("ironic.conf"))
            .spawn()?;
        let answered = tokio::time::timeout(PATIENCE, async {
            while !self.api.answers().await {
                ensure!(process.try_exited().is_none(), "it ended");
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        });
        answered
            .await
            .unwrap_or_else(|_| Err(anyhow::anyhow!("no answer within {PATIENCE:?}")))
            .with_context(|| format!("Ironic does not start; see {}", process.log_path().display()))?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends it as a crash does, in the middle of whatever it does.
    pub async fn kill(&mut self) -> Result<()> {
        let process = self.process.take().context("Ironic does not run")?;
        tell_if_the_story_fails(process.log_path());
        tokio::time::timeout(PATIENCE, process.kill())
            .await
            .context("Ironic cannot be killed")??;
        self.is_gone().await
    }

    /// Stops it where it is, as a host that hangs does: it accepts connections, and answers nothing.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::Stop)
    }

    /// Has it go on where it was.
    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::Cont)
    }

    /// It works in a process of its own, below the one that was started.
    fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.process.as_ref().context("Ironic does not run")?;
        process.signal_with_children(signal, LAUNCHER)
    }

    /// Asks it to end, as an upgrade does: it finishes what it does.
    pub async fn stop(&mut self) -> Result<()> {
        let process = self.process.take().context("Ironic does not run")?;
        tell_if_the_story_fails(process.log_path());
        process.stop(PATIENCE).await?;
        self.is_gone().await
    }

    /// It works in a process of its own, below the one that was started, which ends a moment later.
    async fn is_gone(&self) -> Result<()> {
        let gone = async {
            while self.api.answers().await {
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(PATIENCE, gone)
            .await
            .context("Ironic was ended and still answers")
    }

    /// The tables are the same for each: they are made once in a process.
    async fn make_tables(&self) -> Result<()> {
        static EMPTY: OnceCell<Vec<u8>> = OnceCell::const_new();
        let database = self.folder.join(DATABASE);
        let empty = EMPTY.get_or_try_init(async || {
            self.make_first_tables().await?;
            anyhow::Ok(std::fs::read(&database)?)
        });
        std::fs::write(&database, empty.await?)?;
        Ok(())
    }

    async fn make_first_tables(&self) -> Result<()> {
        let made = tokio::process::Command::new(self.programs.join("ironic-dbsync"))
            .arg("--config-file")
            .arg(self.folder.join("ironic.conf"))
            .arg("create_schema")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let made = tokio::time::timeout(PATIENCE, made)
            .await
            .context("ironic-dbsync does not end")??;
        let said = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "ironic-dbsync: {}: {said}", made.status);
        Ok(())
    }
}

fn tell_if_the_story_fails(log: &Path) {
    if crate::failure::story_fails() {
        crate::failure::show(&format!("Ironic's log: {}", log.display()));
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

fn programs() -> Result<PathBuf> {
    let programs = target().join(format!("peers/ironic-{VERSION}/bin"));
    ensure!(
        programs.join("ironic").exists(),
        "Ironic is not installed in {}; run `make peers`",
        programs.display()
    );
    Ok(programs)
}

fn new_folder() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = target().join(format!("peers/ironic-run-{}-{number}", std::process::id()));
    std::fs::create_dir_all(folder.join("http"))?;
    Ok(std::path::absolute(folder)?)
}

/// Free now, and on an address where nothing else is started: it stays free while Ironic is not running.
fn free_port(address: IpAddr) -> Result<SocketAddr> {
    let listener = std::net::TcpListener::bind((address, 0))?;
    Ok(listener.local_addr()?)
}

fn configuration(settings: &Settings, folder: &Path, address: SocketAddr) -> String {
    let (folder, ip, port) = (folder.display(), address.ip(), address.port());
    // The name under which it reserves nodes: the same after a restart, so that it lets them go.
    format!(
        "[DEFAULT]\n\
         host = ironic\n\
         auth_strategy = noauth\n\
         rpc_transport = none\n\
         use_stderr = true\n\
         state_path = {folder}\n\
         tempdir = {folder}\n\
         enabled_hardware_types = redfish\n\
         enabled_bios_interfaces = no-bios,redfish\n\
         enabled_boot_interfaces = redfish-virtual-media\n\
         enabled_console_interfaces = no-console\n\
         enabled_deploy_interfaces = direct,custom-agent,ramdisk\n\
         enabled_firmware_interfaces = no-firmware,redfish\n\
         enabled_inspect_interfaces = redfish,agent,no-inspect\n\
         enabled_management_interfaces = redfish\n\
         enabled_network_interfaces = noop\n\
         default_network_interface = noop\n\
         enabled_power_interfaces = redfish\n\
         enabled_raid_interfaces = no-raid,agent,redfish\n\
         enabled_vendor_interfaces = no-vendor,redfish\n\
         [api]\n\
         host_ip = {ip}\n\
         port = {port}\n\
         [conductor]\n\
         api_url = http://{address}\n\
         sync_power_state_interval = {sync}\n\
         force_power_state_during_sync = true\n\
         node_history = false\n\
         power_state_sync_max_retries = {retries}\n\
         power_state_change_timeout = {change}\n\
         power_failure_recovery_interval = {recovery}\n\
         [database]\n\
         connection = sqlite:///{folder}/{DATABASE}\n\
         sqlite_synchronous = false\n\
         [deploy]\n\
         default_boot_option = local\n\
         http_root = {folder}/http\n\
         http_url = http://{ip}\n\
         [oslo_concurrency]\n\
         lock_path = {folder}\n\
         [redfish]\n\
         verify_ca = {folder}/{AUTHORITIES}\n",
        sync = settings.sync_power_state_interval.as_secs(),
        retries = settings.power_state_sync_max_retries,
        change = settings.power_state_change_timeout.as_secs(),
        recovery = settings.power_failure_recovery_interval.as_secs(),
    )
}
