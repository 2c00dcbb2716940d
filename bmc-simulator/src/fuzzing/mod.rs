//! Bytes of peers and of users to everything that reads them, without a socket: what the fuzz targets in
//! `fuzz/` call, and what a test replays their corpora with. Each input meets a BMC of its own, so that one
//! input is all that it takes to repeat a failure.

mod control;
mod fleet;
mod http;
#[cfg(test)]
mod tests;

pub use control::control;
pub use fleet::fleet;
pub use http::{http, query};

pub use crate::ssdp::searches_for_us as ssdp;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::SimError;
use crate::host::{HostCore, Setup};
use crate::journal::{Journal, Salt};
use crate::redfish::{OemAction, RedfishSpec, ResetType};
use crate::spec::{DecoySpec, HostSpec, MachineSpec};
use crate::tls::{Authority, Presented, TlsSlot};

const USERNAME: &str = "admin";
const PASSWORD: &str = "first-password";

/// Keys are slow to make, and nothing here depends on them.
static CERTIFICATE: LazyLock<Option<(Arc<Authority>, Presented)>> = LazyLock::new(|| made().ok());

fn made() -> Result<(Arc<Authority>, Presented), SimError> {
    let authority = Arc::new(Authority::new("fuzzing")?);
    let presented = authority.issue(Ipv4Addr::LOCALHOST.into(), "a", None)?;
    Ok((authority, presented))
}

/// A BMC that has whatever can be had, with two machines and a decoy.
fn bmc() -> Option<Arc<HostCore>> {
    let (authority, presented) = CERTIFICATE.as_ref()?;
    let mut reset_types = ResetType::USUAL.to_vec();
    reset_types.push(ResetType::PushPowerButton);
    let redfish = RedfishSpec {
        reset_types,
        oem_actions: vec![
            OemAction::HpeSystemReset,
            OemAction::SupermicroReset,
            OemAction::LenovoSystemReset,
            OemAction::NvidiaAuxPowerReset,
            OemAction::DellFullPowerCycle,
        ],
        ..RedfishSpec::default()
    };
    let spec = HostSpec::new("a")
        .credentials(USERNAME, PASSWORD)
        .redfish(redfish)
        .decoy(DecoySpec::new("decoy"))
        .machine(MachineSpec::new("1"))
        .machine(MachineSpec::new("2"));
    let setup = Setup {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 443)),
        ipmi_address: None,
        ssdp_port: None,
        tls: Arc::new(TlsSlot::new(Arc::clone(authority), presented.clone())),
        epoch: Instant::now(),
        journal: Arc::new(Journal::new(Timestamp::UNIX_EPOCH, 1_000, Salt::new().ok()?)),
        stop: CancellationToken::new(),
        seed: 7,
        behind_one_port: false,
    };
    Some(Arc::new(HostCore::new(spec, setup)))
}

/// For what is spawned and never runs: a future is polled once, in which time all bytes are read.
fn runtime() -> Option<Runtime> {
    Builder::new_current_thread().enable_all().build().ok()
}
