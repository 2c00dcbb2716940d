//! What a simulator is to be, and how it is started.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::SimError;
use crate::control::{self, Controlled};
use crate::fleet::Fleet;
use crate::host::{Host, HostCore, Setup, run_clock};
use crate::ipmi;
use crate::journal::{JOURNAL_CAPACITY, Journal, Salt};
use crate::limits::OpenFiles;
use crate::server::{self, ControlListener, Port, Room};
use crate::simulator::Simulator;
use crate::spec::{self, HostSpec};
use crate::ssdp::{self, SSDP_PORT};
use crate::tls::{Authority, TlsSlot};

/// What a simulator is to be.
#[derive(Debug, Default)]
pub struct SimulatorBuilder {
    seed: u64,
    hosts: Vec<HostSpec>,
    control: Option<SocketAddr>,
    one_port: Option<SocketAddr>,
    ssdp: Option<u16>,
}

impl SimulatorBuilder {
    /// Seed of identities, passwords, tokens and boot ids; 0 when not given.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Adds a host.
    pub fn host(mut self, host: HostSpec) -> Self {
        self.hosts.push(host);
        self
    }

    /// Adds hosts.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = HostSpec>) -> Self {
        self.hosts.extend(hosts);
        self
    }

    /// Adds the hosts of a fleet; its seed and control address hold where it has them.
    pub fn fleet(self, fleet: Fleet) -> Self {
        let mut hosts = self.hosts;
        hosts.extend(fleet.hosts);
        Self {
            seed: fleet.seed.unwrap_or(self.seed),
            control: fleet.control.or(self.control),
            one_port: fleet.one_port.or(self.one_port),
            ssdp: fleet.ssdp.then_some(SSDP_PORT).or(self.ssdp),
            hosts,
        }
    }

    /// Puts the HTTPS of all BMCs behind one address and port (0 = any free one); each is told apart by
    /// the name that the client asks for in TLS, `HOST.localhost` or `HOST`. Addresses and ports of the
    /// hosts then hold for IPMI only, and names must be DNS labels that differ in more than case.
    pub fn one_port(self, address: SocketAddr) -> Self {
        Self {
            one_port: Some(address),
            ..self
        }
    }

    /// Answers searches for Redfish services over SSDP at this UDP port, for all BMCs. The protocol has
    /// [`SSDP_PORT`]; another (0 = any free one) keeps tests apart. Nothing is answered when not given.
    pub fn ssdp(self, port: u16) -> Self {
        Self {
            ssdp: Some(port),
            ..self
        }
    }

    /// Opens the control API on this loopback address (port 0 = any free one).
    pub fn control(self, address: SocketAddr) -> Self {
        Self {
            control: Some(address),
            ..self
        }
    }

    /// Listeners of all BMCs, and those that they share.
    fn listeners(&self) -> u64 {
        let https = match self.one_port {
            Some(_) => 1,
            None => self.hosts.len(),
        };
        let ipmi = self.hosts.iter().filter(|host| host.ipmi.is_some());
        let others = usize::from(self.control.is_some()).saturating_add(usize::from(self.ssdp.is_some()));
        [https, ipmi.count(), others]
            .into_iter()
            .fold(0, |sum, count| sum.saturating_add(to_u64(count)))
    }

    /// Whether this process may open as many files as these BMCs need (`RLIMIT_NOFILE`). [`start`](Self::start)
    /// looks, too; this one takes no runtime, which needs open files itself.
    ///
    /// # Errors
    /// [`SimError::OpenFilesLimit`].
    pub fn check_open_files(&self) -> Result<(), SimError> {
        OpenFiles::now().check(self.listeners(), to_u64(self.hosts.len()))
    }

    /// Opens every listener and starts to serve. Needs a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// Any [`SimError`] but `UnknownHost` and `Stopped`; then nothing is left open.
    pub async fn start(self) -> Result<Simulator, SimError> {
        self.check_open_files()?;
        spec::check_uuids(&self.hosts)?;
        let room = Room::new(OpenFiles::now().share(self.listeners(), to_u64(self.hosts.len())));
        let authority = Arc::new(Authority::new("bmc-simulator")?);
        let ssdp = match self.ssdp {
            Some(port) => Some(ssdp::bind(port, self.hosts.iter().map(|host| host.bind))?),
            None => None,
        };
        let shared = Shared {
            ssdp_port: ssdp.as_ref().map(|(_, address)| address.port()),
            seed: self.seed,
            epoch: Instant::now(),
            journal: Arc::new(Journal::new(Timestamp::now(), JOURNAL_CAPACITY, Salt::new()?)),
            stop: CancellationToken::new(),
            room,
        };
        let mut tasks = JoinSet::new();
        let common = match self.one_port {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let common_address = common.as_ref().map(|(_, address)| *address);
        let (mut hosts, mut by_name) = (Vec::new(), BTreeMap::new());
        for spec in self.hosts {
            let host = shared
                .start_host(spec, common_address, &authority, &mut tasks)
                .await?;
            let name = host.name().to_owned();
            if by_name.insert(name.clone(), host.clone()).is_some() {
                return Err(SimError::DuplicateHost { name });
            }
            hosts.push(host);
        }
        if let Some((listener, _)) = common {
            let behind = Arc::new(by_name_in_tls(&by_name)?);
            tasks.spawn(server::run_shared(
                listener,
                behind,
                shared.room.seats(),
                shared.stop.clone(),
            ));
        }
        if let Some((socket, _)) = ssdp {
            tasks.spawn(ssdp::run(socket, hosts.clone(), shared.stop.clone()));
        }
        let journal = Arc::clone(&shared.journal);
        let controlled = Arc::new(Controlled {
            hosts,
            by_name,
            journal,
            room: Arc::clone(&shared.room),
            ca_pem: authority.pem().to_owned(),
        });
        let control = match self.control {
            Some(address) => Some(shared.start_control(address, &controlled, &mut tasks).await?),
            None => None,
        };
        Ok(Simulator {
            controlled,
            control,
            ssdp_port: shared.ssdp_port,
            stop: shared.stop,
            tasks,
        })
    }
}

/// What all hosts share while they are started.
struct Shared {
    ssdp_port: Option<u16>,
    seed: u64,
    epoch: Instant,
    journal: Arc<Journal>,
    stop: CancellationToken,
    room: Arc<Room>,
}

impl Shared {
    async fn start_host(
        &self,
        spec: HostSpec,
        common: Option<SocketAddr>,
        authority: &Arc<Authority>,
        tasks: &mut JoinSet<()>,
    ) -> Result<Host, SimError> {
        spec.check(common.is_some())
            .map_err(|flaw| flaw.of_host(&spec.name))?;
        let (port, address) = match common {
            Some(address) => (None, address),
            None => {
                let wanted = SocketAddr::new(spec.bind, spec.port);
                let port = Port::open(wanted).map_err(|source| SimError::bind(wanted, source))?;
                let address = port.address();
                (Some(port), address)
            }
        };
        let slot = Arc::new(TlsSlot::new(
            Arc::clone(authority),
            authority.issue(address.ip(), &spec.name, None)?,
        ));
        let ipmi = match &spec.ipmi {
            Some(wanted) => Some(ipmi::bind(SocketAddr::new(spec.bind, wanted.port)).await?),
            None => None,
        };
        let setup = Setup {
            address,
            ipmi_address: ipmi.as_ref().map(|(_, address)| *address),
            tls: slot,
            epoch: self.epoch,
            journal: Arc::clone(&self.journal),
            stop: self.stop.clone(),
            seed: self.seed,
            behind_one_port: common.is_some(),
            ssdp_port: self.ssdp_port,
        };
        let core = Arc::new(HostCore::new(spec, setup));
        tasks.spawn(run_clock(Arc::clone(&core)));
        if let Some(port) = port {
            tasks.spawn(server::run(port, Arc::clone(&core), self.room.seats()));
        }
        if let Some((socket, _)) = ipmi {
            tasks.spawn(ipmi::run(socket, Arc::clone(&core)));
        }
        Ok(Host { core })
    }

    async fn start_control(
        &self,
        address: SocketAddr,
        controlled: &Arc<Controlled>,
        tasks: &mut JoinSet<()>,
    ) -> Result<SocketAddr, SimError> {
        if !address.ip().is_loopback() {
            return Err(SimError::ControlNotLoopback { address });
        }
        let (listener, address) = listen(address).await?;
        let router = control::router(Arc::clone(controlled));
        let limited = ControlListener::new(listener, OpenFiles::now().control_connections());
        tasks.spawn(server::run_control(limited, router, self.stop.clone()));
        Ok(address)
    }
}

/// The hosts by their names in lower case: TLS tells them apart by DNS names, whose case does not count
/// (RFC 4343).
fn by_name_in_tls(by_name: &BTreeMap<String, Host>) -> Result<BTreeMap<String, Host>, SimError> {
    let mut behind: BTreeMap<String, Host> = BTreeMap::new();
    for (name, host) in by_name {
        if let Some(first) = behind.insert(name.to_ascii_lowercase(), host.clone()) {
            return Err(SimError::SameNameInTls {
                first: first.name().to_owned(),
                second: name.clone(),
            });
        }
    }
    Ok(behind)
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), SimError> {
    let fail = |source| SimError::bind(address, source);
    let listener = TcpListener::bind(address).await.map_err(fail)?;
    let bound = listener.local_addr().map_err(fail)?;
    Ok((listener, bound))
}
