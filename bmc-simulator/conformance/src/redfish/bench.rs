//! One simulated BMC, a folder for a tool's files, and what a tool said and did.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bmc_simulator::{
    DecoySpec, Delays, Host, HostSpec, MachineSpec, Power, RedfishSpec, SSDP_PORT, Simulator,
    SimulatorBuilder, Snapshot,
};

use crate::check::Tally;
use crate::tool::{self, Said};

pub(super) const USER: &str = "admin";
pub(super) const PASSWORD: &str = "conformance-20-bytes";
/// Id of a decoy that a BMC can have.
pub(super) const DECOY: &str = "HGX_Baseboard_0";

/// For a change of the truth that was asked for.
const SOON: Duration = Duration::from_secs(20);
/// For one call of a tool.
const CALL: Duration = Duration::from_mins(4);

static BENCHES: AtomicU32 = AtomicU32::new(0);

/// A BMC to judge.
pub(super) struct Bench {
    _sim: Simulator,
    pub(super) host: Host,
    pub(super) tally: Tally,
    folder: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning of its temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    pub(super) async fn start(redfish: RedfishSpec) -> Result<Self> {
        Self::of(redfish, |spec| spec).await
    }

    /// With a decoy beside the real system.
    pub(super) async fn with_decoy(redfish: RedfishSpec) -> Result<Self> {
        Self::of(redfish, |spec| spec.decoy(DecoySpec::new(DECOY))).await
    }

    /// With several machines in chassis within chassis, and a decoy.
    pub(super) async fn with_machines(redfish: RedfishSpec) -> Result<Self> {
        let node = |id: &str, blade: &str| MachineSpec::new(id).chassis(["Enclosure", blade, id]);
        Self::of(redfish, |spec| {
            spec.machine(node("Node0", "Blade0"))
                .machine(node("Node1", "Blade0").power(Power::Off))
                .machine(node("Node2", "Blade1"))
                .machine(MachineSpec::new("Node3").chassis(["Enclosure", "Blade1"]))
                .machine(MachineSpec::new("Node4").chassis(["Beside"]))
                .decoy(DecoySpec::new(DECOY))
        })
        .await
    }

    /// One that can be found over SSDP.
    pub(super) async fn with_ssdp() -> Result<Self> {
        Self::of_simulator(
            Simulator::builder().ssdp(SSDP_PORT),
            RedfishSpec::default(),
            |spec| spec,
        )
        .await
    }

    async fn of(redfish: RedfishSpec, change: impl FnOnce(HostSpec) -> HostSpec) -> Result<Self> {
        Self::of_simulator(Simulator::builder(), redfish, change).await
    }

    async fn of_simulator(
        builder: SimulatorBuilder,
        redfish: RedfishSpec,
        change: impl FnOnce(HostSpec) -> HostSpec,
    ) -> Result<Self> {
        let delays = Delays {
            off: Duration::from_millis(400).into(),
            on: Duration::from_millis(200).into(),
            boot: Duration::from_millis(100).into(),
            graceful_shutdown: Some(Duration::from_millis(300).into()),
        };
        let spec = HostSpec::new("judged")
            .credentials(USER, PASSWORD)
            .delays(delays)
            .redfish(redfish);
        let sim = builder.seed(7).host(change(spec)).start().await?;
        let number = BENCHES.fetch_add(1, Ordering::Relaxed);
        let name = format!("simulator-conformance-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).context("no folder for the tool's files")?;
        std::fs::write(folder.join("ca.pem"), sim.ca_pem())?;
        let host = sim.host("judged")?;
        Ok(Self {
            _sim: sim,
            host,
            tally: Tally::default(),
            folder,
        })
    }

    /// The folder in which tools run.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `https://address:port`.
    pub(super) fn url(&self) -> String {
        self.host.redfish_url()
    }

    /// `address:port`.
    pub(super) fn authority(&self) -> String {
        self.host.address().to_string()
    }

    /// Runs a program that trusts our authority and finds the password in its environment.
    pub(super) async fn run(&self, program: &Path, arguments: &[&str]) -> Result<Said> {
        let authority = self.folder.join("ca.pem");
        let authority = authority
            .to_str()
            .context("the temporary folder's name is no text")?;
        let variables = [("REQUESTS_CA_BUNDLE", authority), ("BMC_PASSWORD", PASSWORD)];
        tool::run_in(&self.folder, &variables, program, arguments, CALL).await
    }

    /// Runs a program that has to be content, and says what it said.
    pub(super) async fn content(&self, program: &Path, arguments: &[&str]) -> Result<String> {
        let said = self.run(program, arguments).await?;
        ensure!(said.success, "it failed: {}", said.text.trim());
        Ok(said.text)
    }

    /// Runs a program of the virtual environment with `-u`, `-p` and `-r`, as redfish_utilities take them.
    pub(super) async fn utility(&self, name: &str, arguments: &[&str]) -> Result<String> {
        let url = self.url();
        let mut all = vec!["-u", USER, "-p", PASSWORD, "-r", url.as_str()];
        all.extend(arguments);
        self.content(&tool::in_venv(name)?, &all).await
    }

    /// Waits until the truth is as wanted.
    pub(super) async fn until(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Result<()> {
        match tokio::time::timeout(SOON, self.host.wait_for(wanted)).await {
            Ok(reached) => reached.map(|_| ()).map_err(Into::into),
            Err(_) => bail!("the machine was never {what}: {:?}", self.host.truth()),
        }
    }

    /// Waits until the machine truly is on or off.
    pub(super) async fn until_power(&self, power: Power) -> Result<()> {
        self.until(&format!("{power:?}"), |now| now.truth.power == power)
            .await
    }

    /// That nobody left a session open.
    pub(super) fn no_session_is_left(&self) -> Result<()> {
        let open = self.host.snapshot().sessions;
        ensure!(open.is_empty(), "sessions were left open: {open:?}");
        Ok(())
    }
}
