//! IPMI as a console sees it that shares no code with the simulator.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "a console that overflows fails its test, as it should"
)]

mod commands;
mod console;
mod crypt;
mod everywhere;
mod expiry;
mod faults;
mod frames;
mod handshake;
mod logins;
mod machines;
mod oracle;
mod personalities;
mod policy;
mod reboots;
mod sessions;
mod wiring;

use bmc_simulator::{Event, Host, HostSpec, IpmiSpec, PowerRestorePolicy, Privilege, Simulator, Stage};

use crate::client::one;
use console::Login;

const PASSWORD: &str = "canary-pass";

const CHASSIS: u8 = 0x00;
const APP: u8 = 0x06;
const STATUS: u8 = 0x01;
const CONTROL: u8 = 0x02;

/// A BMC with IPMI, the login `admin`, and two users who may do less.
async fn bmc(spec: IpmiSpec) -> (Simulator, Host) {
    let spec = spec.user("reader", "read-only", Privilege::User).user(
        "operator",
        "may-operate",
        Privilege::Operator,
    );
    let host = HostSpec::new("a").credentials("admin", PASSWORD).ipmi(spec);
    // The policy is in the same byte as the power: so described, that is all that is in it.
    one(host.power_restore_policy(PowerRestorePolicy::AlwaysOff)).await
}

fn admin() -> Login<'static> {
    Login {
        username: "admin",
        password: PASSWORD,
        role: 0x14,
        suite: 17,
        kg: None,
    }
}

fn count(host: &Host, wanted: impl Fn(&Event) -> bool) -> usize {
    host.journal().iter().filter(|entry| wanted(&entry.event)).count()
}

/// Something that is asked over IPMI.
pub(crate) enum Asked {
    Status,
    Control(u8),
}

/// Asks in a session of its own, whatever the answer is.
pub(crate) async fn ask(host: &Host, asked: Asked) {
    let mut console = console::Console::to(host).await;
    if host.snapshot().bmc != Stage::Up || console.open(admin()).await.is_err() {
        return;
    }
    console.code(APP, 0x3b, &[4]).await;
    match asked {
        Asked::Status => console.code(CHASSIS, STATUS, &[]).await,
        Asked::Control(control) => console.code(CHASSIS, CONTROL, &[control]).await,
    };
    console.code(APP, 0x3c, &console.managed_id().to_le_bytes()).await;
}
