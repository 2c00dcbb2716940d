//! BMCs as vendors make them: each a set of the switches and faults that stand on their own, with where
//! the behaviour was reported. Nothing here was measured on hardware.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Injection};
use crate::ipmi::IpmiSpec;
use crate::power::{Delay, Delays};
use crate::redfish::{RedfishSpec, ResetAnswer, ResetValues};

/// A family of BMCs, or another simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Personality {
    /// Dell iDRAC9: 409 to a reset to the present state (NVIDIA/libredfish `network.rs`,
    /// apache/cloudstack issue 13376); eight sessions, then 503 (stmcginnis/gofish issue 75).
    Idrac9,
    /// Dell iDRAC10: as iDRAC9, and 409 to an On for a minute after the power-off (ironic
    /// `ironic/conf/redfish.py`); 412 to a reset with If-Match (stmcginnis/gofish PR 510).
    Idrac10,
    /// HPE iLO5: resets a connection that is used again (NVIDIA/libredfish `network.rs`).
    Ilo5,
    /// Lenovo XClarity Controller: 204 to a reset that changes nothing (NVIDIA/libredfish `network.rs`).
    Xcc,
    /// Supermicro: 202 without a task (nv-redfish `AcceptedActionWithoutTask`); some 20 s for each change
    /// of power (powerman `redfishpower.c`).
    Supermicro,
    /// OpenBMC: allowed reset types behind ActionInfo only (ibm-openbmc/dev issue 3211), a system
    /// `hypervisor` beside the real one, IPMI cipher suite 17 only (bmclib PR 324).
    Openbmc,
    /// NVIDIA GB200: `HGX_Baseboard_0` is listed first and answers 503 while the host is off
    /// (NVIDIA/infra-controller issue 5418).
    Gb200,
    /// HPE Cray EX: 6.9 s to power off, 54.5 s to power on (powerman `redfishpower.c`).
    CrayEx,
    /// Huawei iBMC: PATCH needs If-Match (ansible/ansible issue 60031).
    Huawei,
    /// sushy-emulator 2.2.0 with its fake driver: no SessionService, TLS 1.2 only, 1 to 11 s for each change of
    /// power, forgets an On that comes before the power-off is done.
    SushyEmulator,
    /// DMTF Redfish-Mockup-Server: 204 to every reset, and the power state stays what it was.
    MockupServer,
}

impl Personality {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Idrac9,
        Self::Idrac10,
        Self::Ilo5,
        Self::Xcc,
        Self::Supermicro,
        Self::Openbmc,
        Self::Gb200,
        Self::CrayEx,
        Self::Huawei,
        Self::SushyEmulator,
        Self::MockupServer,
    ];

    /// The name used in fleet files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idrac9 => "idrac9",
            Self::Idrac10 => "idrac10",
            Self::Ilo5 => "ilo5",
            Self::Xcc => "xcc",
            Self::Supermicro => "supermicro",
            Self::Openbmc => "openbmc",
            Self::Gb200 => "gb200",
            Self::CrayEx => "cray-ex",
            Self::Huawei => "huawei",
            Self::SushyEmulator => "sushy-emulator",
            Self::MockupServer => "mockup-server",
        }
    }

    /// Manufacturer and model as the BMC tells them.
    pub(crate) fn product(self) -> (&'static str, &'static str) {
        match self {
            Self::Idrac9 => ("Dell Inc.", "PowerEdge R750"),
            Self::Idrac10 => ("Dell Inc.", "PowerEdge R770"),
            Self::Ilo5 => ("HPE", "ProLiant DL380 Gen10"),
            Self::Xcc => ("Lenovo", "ThinkSystem SR650 V2"),
            Self::Supermicro => ("Supermicro", "SYS-620P-TRT"),
            Self::Openbmc => ("OpenBMC", "Evaluation board"),
            Self::Gb200 => ("NVIDIA", "GB200 NVL"),
            Self::CrayEx => ("HPE", "Cray EX425"),
            Self::Huawei => ("Huawei", "2288H V5"),
            Self::SushyEmulator => ("Sushy Emulator", "fake"),
            Self::MockupServer => ("Contoso", "3500"),
        }
    }

    /// The settings of its Redfish service, where they are not as `before`.
    pub(crate) fn redfish(self, before: RedfishSpec) -> RedfishSpec {
        match self {
            Self::Idrac9 => RedfishSpec {
                session_limit: 8,
                ..before
            },
            Self::Idrac10 => RedfishSpec {
                session_limit: 8,
                reset_refuses_if_match: true,
                ..before
            },
            Self::Supermicro => RedfishSpec {
                reset_answer: ResetAnswer::AcceptedWithoutTask,
                ..before
            },
            Self::Openbmc => RedfishSpec {
                reset_values: ResetValues::ActionInfo,
                ..before
            },
            Self::Gb200 => RedfishSpec {
                decoys_unavailable_while_off: true,
                ..before
            },
            Self::Huawei => RedfishSpec {
                patch_needs_if_match: true,
                ..before
            },
            Self::Ilo5 | Self::Xcc | Self::CrayEx | Self::SushyEmulator | Self::MockupServer => before,
        }
    }

    /// The faults that belong to it.
    pub(crate) fn faults(self) -> Vec<Injection> {
        let within = Duration::from_mins(1);
        match self {
            Self::Idrac9 => vec![Fault::AlreadyThere409.into()],
            Self::Idrac10 => vec![
                Fault::AlreadyThere409.into(),
                Fault::On409AfterOff { within }.into(),
            ],
            Self::Ilo5 => vec![Fault::ResetOnReuse.into()],
            Self::SushyEmulator => vec![
                Fault::NoSessionService.into(),
                Fault::Tls12Only.into(),
                Fault::LoseOnWhilePoweringOff.into(),
            ],
            Self::MockupServer => vec![Fault::AcceptAndIgnore.into()],
            Self::Xcc | Self::Supermicro | Self::Openbmc | Self::Gb200 | Self::CrayEx | Self::Huawei => {
                Vec::new()
            }
        }
    }

    /// Ids of the systems that it lists before the real one.
    pub(crate) fn decoys(self) -> &'static [&'static str] {
        match self {
            Self::Openbmc => &["hypervisor"],
            Self::Gb200 => &["HGX_Baseboard_0"],
            Self::Idrac9
            | Self::Idrac10
            | Self::Ilo5
            | Self::Xcc
            | Self::Supermicro
            | Self::CrayEx
            | Self::Huawei
            | Self::SushyEmulator
            | Self::MockupServer => &[],
        }
    }

    /// Its IPMI, where nothing else was said.
    pub(crate) fn ipmi(self, said: IpmiSpec) -> IpmiSpec {
        if self == Self::Openbmc {
            said.usual_cipher_suites([17])
        } else {
            said
        }
    }

    /// How long its machine takes; absent when it is not known for that.
    pub(crate) fn delays(self, before: Delays) -> Option<Delays> {
        let seconds = Duration::from_secs;
        let (off, on) = match self {
            Self::Supermicro => (Delay::Fixed(seconds(20)), Delay::Fixed(seconds(20))),
            Self::CrayEx => (
                Delay::Fixed(Duration::from_millis(6_860)),
                Delay::Fixed(Duration::from_millis(54_530)),
            ),
            Self::SushyEmulator => {
                let (from, to) = (seconds(1), seconds(11));
                (Delay::Uniform { from, to }, Delay::Uniform { from, to })
            }
            Self::Idrac9
            | Self::Idrac10
            | Self::Ilo5
            | Self::Xcc
            | Self::Openbmc
            | Self::Gb200
            | Self::Huawei
            | Self::MockupServer => return None,
        };
        Some(Delays { off, on, ..before })
    }
}
