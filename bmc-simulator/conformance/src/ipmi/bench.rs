//! One simulated BMC, the truth about it, and a tally of what a tool made of it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use bmc_simulator::{
    Command, Delays, Event, Host, HostSpec, IpmiSpec, Power, Privilege, Simulator, Snapshot, Via,
};

use crate::check::Tally;
use crate::tool::{self, Said};

pub(super) const USER: &str = "admin";
pub(super) const PASSWORD: &str = "conformance-20-bytes";

/// For a change of the truth that was asked for.
const SOON: Duration = Duration::from_secs(20);
/// For one call of a tool. ipmitool stalls for 10 s when nobody tells it the cipher suites
/// (ipmitool#199), so less than that shows that it did not stall.
const CALL: Duration = Duration::from_secs(9);

/// A BMC to judge, with a user `reader` (USER) and a user `operator` (OPERATOR) of the same password.
pub(super) struct Bench {
    _sim: Simulator,
    pub(super) host: Host,
    pub(super) tally: Tally,
}

/// Delays at which a tool has to wait without waiting for long.
pub(super) fn delays() -> Delays {
    Delays {
        off: Duration::from_millis(400).into(),
        on: Duration::from_millis(200).into(),
        boot: Duration::from_millis(100).into(),
        graceful_shutdown: Some(Duration::from_millis(300).into()),
    }
}

impl Bench {
    pub(super) async fn start(spec: IpmiSpec) -> Result<Self> {
        Self::on(HostSpec::new("judged"), spec).await
    }

    pub(super) async fn on(host: HostSpec, spec: IpmiSpec) -> Result<Self> {
        let spec =
            spec.user("reader", PASSWORD, Privilege::User)
                .user("operator", PASSWORD, Privilege::Operator);
        let host = host.credentials(USER, PASSWORD).delays(delays()).ipmi(spec);
        let sim = Simulator::builder().seed(7).host(host).start().await?;
        let host = sim.host("judged")?;
        Ok(Self {
            _sim: sim,
            host,
            tally: Tally::default(),
        })
    }

    /// The UDP port, as text for a command line.
    pub(super) fn port(&self) -> String {
        let address = self.host.ipmi_address();
        address
            .map(|address| address.port().to_string())
            .unwrap_or_default()
    }

    /// Runs a tool that has to be content and to say `expected`.
    pub(super) async fn says(&self, program: &str, arguments: &[&str], expected: &str) -> Result<Said> {
        let said = self.run(program, arguments).await?;
        ensure!(said.success, "it failed: {}", said.text.trim());
        ensure!(
            said.text.contains(expected),
            "no `{expected}` in: {}",
            said.text.trim()
        );
        Ok(said)
    }

    /// Runs a tool that has to complain with `expected`.
    pub(super) async fn complains(&self, program: &str, arguments: &[&str], expected: &str) -> Result<()> {
        let said = self.run(program, arguments).await?;
        ensure!(!said.success, "it did not fail: {}", said.text.trim());
        ensure!(
            said.text.contains(expected),
            "no `{expected}` in: {}",
            said.text.trim()
        );
        Ok(())
    }

    pub(super) async fn run(&self, program: &str, arguments: &[&str]) -> Result<Said> {
        tool::run(Path::new(program), arguments, CALL).await
    }

    /// Waits until the truth is as wanted.
    pub(super) async fn until(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Result<()> {
        match tokio::time::timeout(SOON, self.host.wait_for(wanted)).await {
            Ok(reached) => reached.map(|_| ()).map_err(Into::into),
            Err(_) => bail!("the machine was never {what}: {:?}", self.host.truth()),
        }
    }

    pub(super) async fn until_power(&self, power: Power) -> Result<()> {
        self.until(&format!("{power:?}"), |now| now.truth.power == power)
            .await
    }

    /// The commands that the machine was given over IPMI, oldest first.
    pub(super) fn commands(&self) -> Vec<Command> {
        let over_ipmi = |event: &Event| {
            if let Event::Command {
                command,
                via: Via::IpmiSession(_),
                ..
            } = event
            {
                Some(*command)
            } else {
                None
            }
        };
        let journal = self.host.journal();
        journal
            .iter()
            .filter_map(|entry| over_ipmi(&entry.event))
            .collect()
    }

    /// The truth: how often on became off, off became on, and how often it was reset.
    pub(super) fn changes(&self) -> (u64, u64, u64) {
        let truth = self.host.truth();
        (truth.on_to_off, truth.off_to_on, truth.resets)
    }

    /// That every session was closed by whoever opened it, except for so many that it leaks.
    pub(super) async fn sessions_left(&self, leaked: u64) -> Result<()> {
        let done = |now: &Snapshot| {
            let counters = now.counters.ipmi;
            counters.close_session.checked_add(leaked) == Some(counters.sessions_opened)
        };
        self.until(&format!("left with {leaked} sessions"), done).await?;
        let counters = self.host.counters().ipmi;
        ensure!(
            counters.sessions_opened > leaked && counters.sessions_ended == counters.close_session,
            "{counters:?}"
        );
        Ok(())
    }

    /// That nothing the tool sent was beyond understanding.
    pub(super) fn all_understood(&self) -> Result<()> {
        let counters = self.host.counters().ipmi;
        ensure!(counters.malformed == 0 && counters.discarded == 0, "{counters:?}");
        Ok(())
    }

    /// Counts whether two lists are the same.
    pub(super) fn expect(&mut self, what: &str, found: &[u8], expected: &[u8]) {
        let same = found == expected;
        let result = if same {
            Ok(())
        } else {
            Err(anyhow!("{found:?} instead of {expected:?}"))
        };
        self.count(what, result);
    }

    pub(super) fn count(&mut self, what: &str, result: Result<()>) {
        self.tally.count(what, result);
    }
}
