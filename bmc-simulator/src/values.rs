//! How values of arguments are read. Each mistake ends in what to write.

use std::net::{IpAddr, SocketAddr};

use bmc_simulator::{MOST_HOSTS, Oracle, Personality};

pub(crate) fn hosts(text: &str) -> Result<u16, String> {
    let most = u16::try_from(MOST_HOSTS).unwrap_or(u16::MAX);
    match text.parse::<u64>().map(u16::try_from) {
        Ok(Ok(0)) => Err(format!("zero hosts are none: write a number from 1 to {most}")),
        Ok(Ok(hosts)) if hosts <= most => Ok(hosts),
        Ok(_) => Err(format!(
            "one process has at most {most} hosts: run several simulators"
        )),
        Err(_) => Err(format!("not a number of hosts: write a number from 1 to {most}")),
    }
}

pub(crate) fn ip_address(text: &str) -> Result<IpAddr, String> {
    let read = text.parse();
    read.map_err(|_| "not an IP address: write one, such as 127.0.0.1".to_owned())
}

pub(crate) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let read = text.parse();
    read.map_err(|_| {
        "not an address and a port: write ADDRESS:PORT with an IP address, such as 127.0.0.1:8000".to_owned()
    })
}

pub(crate) fn personality(text: &str) -> Result<Personality, String> {
    Personality::named(text).ok_or_else(|| format!("not a family: write one of {}", families()))
}

pub(crate) fn family_help() -> String {
    format!(
        "The family that every BMC is of; a plain one when not given. One of {}",
        families()
    )
}

/// All families, each with its other name.
fn families() -> String {
    let name = |family: Personality| match family.alias() {
        Some(alias) => format!("{} (or {alias})", family.as_str()),
        None => family.as_str().to_owned(),
    };
    Personality::ALL.map(name).join(", ")
}

/// One rule of care, or all.
#[derive(Debug, Clone)]
pub(crate) struct Oracles(pub(crate) Vec<Oracle>);

pub(crate) fn oracle(text: &str) -> Result<Oracles, String> {
    if text == "all" {
        return Ok(Oracles(Oracle::ALL.to_vec()));
    }
    let found = Oracle::ALL.into_iter().find(|oracle| oracle.as_str() == text);
    found.map(|oracle| Oracles(vec![oracle])).ok_or_else(|| {
        let names: Vec<&str> = Oracle::ALL.into_iter().map(Oracle::as_str).collect();
        format!("not a rule: write `all` or one of {}", names.join(", "))
    })
}
