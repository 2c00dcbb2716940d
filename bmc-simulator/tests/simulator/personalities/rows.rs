//! What a careful power client meets at each family, as the table of quirks has it.

use bmc_simulator::Personality;

use super::driven::Met;

/// What the client meets at a BMC of which nothing is peculiar.
fn plain(vendor: &str, product: &str) -> Met {
    Met {
        root: [Some(vendor.to_owned()), Some(product.to_owned()), None],
        login: Some(201),
        others: 0,
        off: 204,
        off_after: Some(0),
        on: vec![204],
        on_after: Some(0),
        again: Some(204),
    }
}

fn root(vendor: Option<&str>, product: Option<&str>, oem: Option<&str>) -> [Option<String>; 3] {
    [vendor, product, oem].map(|text| text.map(str::to_owned))
}

fn dell() -> Met {
    let product = "Integrated Dell Remote Access Controller";
    Met {
        root: root(Some("Dell"), Some(product), Some("Dell")),
        again: Some(409),
        ..plain("", "")
    }
}

fn hpe(product: &str) -> Met {
    Met {
        root: root(Some("HPE"), Some(product), Some("Hpe")),
        off: 200,
        // Sooner than 5 s after the power-off it is refused.
        on: vec![400, 400, 400, 200],
        again: Some(200),
        ..plain("", "")
    }
}

fn supermicro() -> Met {
    Met {
        root: root(None, None, Some("Supermicro")),
        off: 202,
        off_after: Some(20),
        on: vec![202],
        on_after: Some(20),
        again: Some(202),
        ..plain("", "")
    }
}

/// A row for every family.
pub(super) fn expected(family: Personality) -> Met {
    match family {
        Personality::Idrac8 => Met {
            root: root(None, Some("Integrated Dell Remote Access Controller"), None),
            ..dell()
        },
        Personality::Idrac9 => dell(),
        Personality::Idrac10 => Met {
            // A minute long, asked every two seconds.
            on: [vec![409; 30], vec![204]].concat(),
            ..dell()
        },
        Personality::Ilo5 => hpe("ProLiant DL380 Gen10"),
        Personality::Ilo6 => hpe("ProLiant DL380 Gen11"),
        Personality::CrayEx => Met {
            off_after: Some(7),
            on_after: Some(55),
            ..plain("HPE", "Cray EX425")
        },
        Personality::Xcc => Met {
            root: root(Some("Lenovo"), None, None),
            ..plain("", "")
        },
        Personality::SmcX9 | Personality::SmcX11 | Personality::SmcX13 => supermicro(),
        Personality::Openbmc | Personality::IbmOpenbmc => Met {
            root: root(None, None, None),
            others: 1,
            ..plain("", "")
        },
        Personality::SonicBmc => Met {
            root: root(None, None, None),
            off: 500,
            off_after: None,
            on: Vec::new(),
            again: None,
            ..plain("", "")
        },
        Personality::Gb200 => Met {
            others: 1,
            ..plain("NVIDIA", "GB200 NVL")
        },
        Personality::Ami => Met {
            root: root(Some("AMI"), Some("AMI Redfish Server"), Some("Ami")),
            ..plain("", "")
        },
        Personality::DgxH100 => Met {
            others: 1,
            ..expected(Personality::Ami)
        },
        Personality::Gigabyte => plain("GIGABYTE", "R152-Z30"),
        Personality::Asrock => plain("ASRockRack", "X470D4U"),
        Personality::Huawei => plain("Huawei", "1288H V5"),
        Personality::H3c => plain("H3C", "UniServer R4900 G5"),
        Personality::CiscoUcs => plain("Cisco Systems Inc", "UCSC-C220-M5SX"),
        Personality::SushyEmulator => Met {
            login: None,
            ..plain("Sushy Emulator", "fake")
        },
        Personality::MockupServer => Met {
            off_after: None,
            on: Vec::new(),
            again: None,
            ..plain("Contoso", "3500")
        },
    }
}
