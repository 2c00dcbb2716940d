//! What a careful power client meets at each family, as the table of quirks has it.

use std::ops::RangeInclusive;
use std::time::Duration;

use bmc_simulator::Personality;

/// `Vendor`, `Product` and the name in `Oem`.
pub(super) type Root = [Option<String>; 3];

/// What the client meets.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) root: Root,
    /// What the opening of a session is answered, where the root says that there are sessions.
    pub(super) login: Option<u16>,
    /// How many systems are listed that are others.
    pub(super) others: usize,
    pub(super) off: u16,
    /// Absent = it never is off.
    pub(super) cycle: Option<Cycle>,
}

/// Off, and on again.
#[derive(Debug)]
pub(super) struct Cycle {
    /// From the acceptance of the power-off to off, the shortest and the longest.
    pub(super) off_after: RangeInclusive<Duration>,
    /// What an On is answered sooner than this after the power-off.
    too_soon: Option<(u16, Duration)>,
    /// What it is answered otherwise.
    on: u16,
    /// From the acceptance of the On to on.
    pub(super) on_after: RangeInclusive<Duration>,
    /// What another On is answered, once it was off and on.
    pub(super) again: u16,
}

impl Cycle {
    /// What an On has to be answered this long after the power-off.
    pub(super) fn answer_to_on(&self, since: Duration) -> u16 {
        match self.too_soon {
            Some((refusal, limit)) if since < limit => refusal,
            Some(_) | None => self.on,
        }
    }
}

/// Always this long.
fn exactly(millis: u64) -> RangeInclusive<Duration> {
    let span = Duration::from_millis(millis);
    span..=span
}

/// A machine that does at once what it is told, at a BMC that answers with this.
fn at_once(on: u16) -> Cycle {
    Cycle {
        off_after: exactly(0),
        too_soon: None,
        on,
        on_after: exactly(0),
        again: on,
    }
}

/// What the client meets at a BMC of which nothing is peculiar.
fn plain(vendor: &str, product: &str) -> Row {
    Row {
        root: [Some(vendor.to_owned()), Some(product.to_owned()), None],
        login: Some(201),
        others: 0,
        off: 204,
        cycle: Some(at_once(204)),
    }
}

fn root(vendor: Option<&str>, product: Option<&str>, oem: Option<&str>) -> Root {
    [vendor, product, oem].map(|text| text.map(str::to_owned))
}

fn dell() -> Row {
    let product = "Integrated Dell Remote Access Controller";
    Row {
        root: root(Some("Dell"), Some(product), Some("Dell")),
        cycle: Some(Cycle {
            again: 409,
            ..at_once(204)
        }),
        ..plain("", "")
    }
}

fn hpe(product: &str) -> Row {
    Row {
        root: root(Some("HPE"), Some(product), Some("Hpe")),
        off: 200,
        cycle: Some(Cycle {
            too_soon: Some((400, Duration::from_secs(5))),
            ..at_once(200)
        }),
        ..plain("", "")
    }
}

fn supermicro() -> Row {
    Row {
        root: root(None, None, Some("Supermicro")),
        off: 202,
        cycle: Some(Cycle {
            off_after: exactly(20_000),
            on_after: exactly(20_000),
            ..at_once(202)
        }),
        ..plain("", "")
    }
}

/// A row for every family.
pub(super) fn expected(family: Personality) -> Row {
    match family {
        Personality::Idrac8 => Row {
            root: root(None, Some("Integrated Dell Remote Access Controller"), None),
            ..dell()
        },
        Personality::Idrac9 => dell(),
        Personality::Idrac10 => Row {
            cycle: Some(Cycle {
                too_soon: Some((409, Duration::from_mins(1))),
                again: 409,
                ..at_once(204)
            }),
            ..dell()
        },
        Personality::Ilo5 => hpe("ProLiant DL380 Gen10"),
        Personality::Ilo6 => hpe("ProLiant DL380 Gen11"),
        Personality::CrayEx => Row {
            cycle: Some(Cycle {
                off_after: exactly(6_860),
                on_after: exactly(54_530),
                ..at_once(204)
            }),
            ..plain("HPE", "Cray EX425")
        },
        Personality::Xcc => Row {
            root: root(Some("Lenovo"), None, None),
            ..plain("", "")
        },
        Personality::SmcX9 | Personality::SmcX11 | Personality::SmcX13 => supermicro(),
        Personality::Openbmc | Personality::IbmOpenbmc => Row {
            root: root(None, None, None),
            others: 1,
            ..plain("", "")
        },
        Personality::SonicBmc => Row {
            root: root(None, None, None),
            off: 500,
            cycle: None,
            ..plain("", "")
        },
        Personality::Gb200 => Row {
            others: 1,
            ..plain("NVIDIA", "GB200 NVL")
        },
        Personality::Ami => Row {
            root: root(Some("AMI"), Some("AMI Redfish Server"), Some("Ami")),
            ..plain("", "")
        },
        Personality::DgxH100 => Row {
            others: 1,
            ..expected(Personality::Ami)
        },
        Personality::Gigabyte => plain("GIGABYTE", "R152-Z30"),
        Personality::Asrock => plain("ASRockRack", "X470D4U"),
        Personality::Huawei => plain("Huawei", "1288H V5"),
        Personality::H3c => plain("H3C", "UniServer R4900 G5"),
        Personality::CiscoUcs => plain("Cisco Systems Inc", "UCSC-C220-M5SX"),
        Personality::SushyEmulator => Row {
            login: None,
            cycle: Some(Cycle {
                // Drawn anew each time.
                off_after: Duration::from_secs(1)..=Duration::from_secs(11),
                on_after: Duration::from_secs(1)..=Duration::from_secs(11),
                ..at_once(204)
            }),
            ..plain("Sushy Emulator", "fake")
        },
        Personality::MockupServer => Row {
            cycle: None,
            ..plain("Contoso", "3500")
        },
    }
}
