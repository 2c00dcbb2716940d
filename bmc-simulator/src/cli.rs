//! Arguments of the program.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bmc_simulator::{Delays, FleetError, Personality, SimError, parse_duration};
use clap::{Parser, ValueEnum};

use crate::values::{Oracles, family_help, hosts, ip_address, oracle, personality, socket_address};

const EXAMPLES: &str = "\
Examples:
  Three BMCs on free ports, their passwords printed:
    bmc-simulator --hosts 3 --ca-out ca.pem

  A slow machine on fixed ports, driven over the control API:
    bmc-simulator --hosts 2 --first-port 8443 --off-delay 4s --on-delay 2s --boot-delay 30s \\
      --control 127.0.0.1:8000
    curl -X PUT 127.0.0.1:8000/hosts/worker-1/faults -d '[{\"fault\":\"lie-off-while-on\"}]'
    curl 127.0.0.1:8000/hosts/worker-1/journal

  A thousand BMCs, each with an address of its own:
    bmc-simulator --hosts 1000 --first-address 127.1.0.1 --first-port 8443 --first-ipmi-port 623

  A fleet that is described in a file, and a verdict on its clients at the end:
    bmc-simulator --fleet fleet.yaml --assert all

  IPMI beside Redfish, with a password that both can carry (up to 20 bytes):
    bmc-simulator --first-ipmi-port 9001
    ipmitool -I lanplus -H 127.0.0.1 -p 9001 -U admin -P PASSWORD chassis power status

  Switch a machine off as a client would:
    curl --cacert ca.pem -u admin:PASSWORD -H 'Content-Type: application/json' \\
      -d '{\"ResetType\":\"ForceOff\"}' https://127.0.0.1:8443/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";

/// Simulates BMCs over Redfish and IPMI, each with a machine behind it whose true power state is kept apart
/// from what is reported. Stops on SIGINT and SIGTERM.
#[derive(Debug, Parser)]
#[command(name = "bmc-simulator", version, after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// YAML file that describes the fleet; the README tells its format
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "hosts", "machines", "name_prefix", "bind", "first_address", "first_port", "first_ipmi_port", "username",
        "password_file", "personality", "off_delay", "on_delay", "boot_delay", "graceful_delay",
    ])]
    pub(crate) fleet: Option<PathBuf>,

    /// How many hosts, each with its own BMC; 5000 at most
    #[arg(long, default_value_t = 1, value_parser = hosts)]
    pub(crate) hosts: u16,

    /// Puts so many machines behind each BMC, as systems Node0, Node1, ...; one, system 1, when not given
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) machines: Option<u16>,

    /// Hosts are named PREFIX1, PREFIX2, ...
    #[arg(long, default_value = "worker-", value_name = "PREFIX")]
    pub(crate) name_prefix: String,

    /// Address that every BMC listens on; 127.0.0.1 when not given
    #[arg(long, value_parser = ip_address, value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,

    /// Gives every BMC an address of its own, the first this one; then all have the same ports
    #[arg(long, value_parser = ip_address, value_name = "ADDRESS", conflicts_with = "bind")]
    pub(crate) first_address: Option<IpAddr>,

    /// Puts the HTTPS of all BMCs behind this address and port; the name HOST.localhost tells them apart
    #[arg(long, value_parser = socket_address, value_name = "ADDRESS:PORT", conflicts_with = "first_port")]
    pub(crate) one_port: Option<SocketAddr>,

    /// Lets clients find the BMCs over SSDP (UDP port 1900)
    #[arg(long)]
    pub(crate) ssdp: bool,

    /// Port of the first BMC, the others follow; free ports when not given
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) first_port: Option<u16>,

    // Its help is made of `Personality::ALL`.
    #[arg(long, value_parser = personality, value_name = "FAMILY", help = family_help())]
    pub(crate) personality: Option<Personality>,

    /// UDP port of the first BMC's IPMI, the others follow, 0 = free ports; no IPMI when not given
    #[arg(long, value_name = "PORT")]
    pub(crate) first_ipmi_port: Option<u16>,

    /// Login of every BMC
    #[arg(long, default_value = "admin", value_name = "NAME")]
    pub(crate) username: String,

    /// File with the password of every BMC; without it each gets its own, which is printed
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,

    /// Opens the control API on this loopback address and port
    #[arg(long, value_parser = socket_address, value_name = "ADDRESS:PORT")]
    pub(crate) control: Option<SocketAddr>,

    /// From an accepted ForceOff to off; 2s, or the family's, when not given
    #[arg(long, value_parser = parse_duration, value_name = "DURATION")]
    pub(crate) off_delay: Option<Duration>,

    /// From an accepted On to on; 1s, or the family's, when not given
    #[arg(long, value_parser = parse_duration, value_name = "DURATION")]
    pub(crate) on_delay: Option<Duration>,

    /// From on to the operating system being up; 5s when not given
    #[arg(long, value_parser = parse_duration, value_name = "DURATION")]
    pub(crate) boot_delay: Option<Duration>,

    /// From an accepted GracefulShutdown to off; a hung system never obeys when not given
    #[arg(long, value_parser = parse_duration, value_name = "DURATION")]
    pub(crate) graceful_delay: Option<Duration>,

    /// Seed of identities, passwords, tokens and boot ids; 0, or that of the fleet file, when not given
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,

    /// Writes the certificate authority to trust to this file, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_out: Option<PathBuf>,

    /// Judges at the end whether clients broke this rule, prints the breaches and ends with status 1
    #[arg(long = "assert", value_parser = oracle, value_name = "RULE|all")]
    pub(crate) oracles: Vec<Oracles>,

    /// How to print what is listening
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) output: Output,
}

/// Format of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// One line per host, for people
    Text,
    /// One JSON object per line
    Json,
}

/// Delays that a personality does not change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GivenDelays {
    off: Option<Duration>,
    on: Option<Duration>,
}

impl GivenDelays {
    pub(crate) fn over(self, delays: Delays) -> Delays {
        Delays {
            off: self.off.map_or(delays.off, Into::into),
            on: self.on.map_or(delays.on, Into::into),
            ..delays
        }
    }
}

impl Arguments {
    /// The delays that hold when neither a family nor an argument says otherwise.
    pub(crate) fn usual_delays(&self) -> Delays {
        Delays {
            boot: self.boot_delay.map_or(Delays::USUAL.boot, Into::into),
            graceful_shutdown: self.graceful_delay.map(Into::into),
            ..Delays::USUAL
        }
    }

    /// What was given on the command line.
    pub(crate) fn given_delays(&self) -> GivenDelays {
        GivenDelays {
            off: self.off_delay,
            on: self.on_delay,
        }
    }

    /// Port of host `number`, counted from 1; 0 = any free one.
    pub(crate) fn port_of(&self, number: u16) -> Result<u16, Problem> {
        self.nth(number, "--first-port", self.first_port.unwrap_or(0))
    }

    /// UDP port of host `number`, counted from 1; 0 = any free one, absent = no IPMI.
    pub(crate) fn ipmi_port_of(&self, number: u16) -> Result<Option<u16>, Problem> {
        let first = self.first_ipmi_port;
        first
            .map(|first| self.nth(number, "--first-ipmi-port", first))
            .transpose()
    }

    /// Refuses addresses of BMCs at which nothing would listen; searches over SSDP are listened for there.
    pub(crate) fn check_addresses(&self) -> Result<(), Problem> {
        let options = [
            ("--bind", self.bind.is_some()),
            ("--first-address", self.first_address.is_some()),
        ];
        let given = options.into_iter().find(|(_, given)| *given);
        match given {
            Some((option, _)) if self.one_port.is_some() && self.first_ipmi_port.is_none() && !self.ssdp => {
                Err(Problem::NoUseBehindOnePort { option })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn nth(&self, number: u16, option: &'static str, first: u16) -> Result<u16, Problem> {
        if first == 0 || self.first_address.is_some() {
            return Ok(first);
        }
        first.checked_add(number.saturating_sub(1)).ok_or(Problem::Ports {
            option,
            first,
            hosts: self.hosts,
        })
    }

    /// The password in the file, without the line end.
    pub(crate) fn password(&self) -> Result<Option<String>, Problem> {
        let Some(path) = &self.password_file else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(path).map_err(|source| Problem::Read {
            path: path.clone(),
            source,
        })?;
        let password = text.trim_end_matches(['\r', '\n']);
        if password.is_empty() {
            return Err(Problem::EmptyPassword { path: path.clone() });
        }
        Ok(Some(password.to_owned()))
    }
}

/// Why the program ends. Each text ends in what to do; none carries a password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Simulator(#[from] SimError),
    #[error("cannot read --password-file {path}: {source}; check the path and its permissions", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("--password-file {path} is empty: write the password into it", path = path.display())]
    EmptyPassword { path: PathBuf },
    #[error("cannot write --ca-out {path}: {source}; check the path and its permissions", path = path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{option} {first} leaves too few ports for {hosts} hosts: choose a lower one")]
    Ports {
        option: &'static str,
        first: u16,
        hosts: u16,
    },
    #[error("--first-address {first} leaves too few addresses for {hosts} hosts: choose a lower one")]
    Addresses { first: IpAddr, hosts: u16 },
    #[error(
        "behind --one-port {option} is the address of the IPMI, which these BMCs have not: leave it out, or add \
         --first-ipmi-port"
    )]
    NoUseBehindOnePort { option: &'static str },
    #[error("cannot read --fleet {path}: {source}; check the path and its permissions", path = path.display())]
    ReadFleet { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}", path = path.display())]
    Fleet { path: PathBuf, source: FleetError },
    #[error("cannot start the runtime: {0}; check the limits of this process (ulimit -a)")]
    Runtime(std::io::Error),
    #[error("cannot watch for signals: {0}; check the limits of this process")]
    Signals(std::io::Error),
    #[error("cannot print what is listening: {0}; check standard output")]
    Print(std::io::Error),
    #[error("clients broke {0} rules of care, listed above; look at the journal entries that are named")]
    Breaches(usize),
}
