//! From arguments to a simulator that can be started.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bmc_simulator::{Fleet, HostSpec, IpmiSpec, MachineSpec, SSDP_PORT, Simulator, SimulatorBuilder};

use crate::cli::{Arguments, Problem};

pub(crate) fn builder(arguments: &Arguments) -> Result<SimulatorBuilder, Problem> {
    let mut builder = Simulator::builder();
    builder = match &arguments.fleet {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|source| Problem::ReadFleet {
                path: path.clone(),
                source,
            })?;
            let fleet = match arguments.one_port {
                Some(address) => Fleet::from_yaml_behind(&text, address),
                None => Fleet::from_yaml(&text),
            };
            let fleet = fleet.map_err(|source| Problem::Fleet {
                path: path.clone(),
                source,
            })?;
            builder.fleet(fleet)
        }
        None => builder.hosts(hosts(arguments)?),
    };
    if let Some(seed) = arguments.seed {
        builder = builder.seed(seed);
    }
    if let Some(address) = arguments.one_port {
        builder = builder.one_port(address);
    }
    if arguments.ssdp {
        builder = builder.ssdp(SSDP_PORT);
    }
    if let Some(control) = arguments.control {
        builder = builder.control(control);
    }
    Ok(builder)
}

fn hosts(arguments: &Arguments) -> Result<Vec<HostSpec>, Problem> {
    arguments.check_addresses()?;
    let password = arguments.password()?;
    let host = |number: u16| {
        let mut spec = HostSpec::new(format!("{}{number}", arguments.name_prefix))
            .bind(address(arguments, number)?)
            .port(arguments.port_of(number)?)
            .usual_delays(arguments.usual_delays());
        for machine in 0..arguments.machines.unwrap_or(0) {
            spec = spec.machine(MachineSpec::new(format!("Node{machine}")));
        }
        spec = match &password {
            Some(password) => spec.credentials(&arguments.username, password),
            None => spec.username(&arguments.username),
        };
        if let Some(port) = arguments.ipmi_port_of(number)? {
            spec = spec.ipmi(IpmiSpec::new().port(port));
        }
        if let Some(personality) = arguments.personality {
            spec = spec.personality(personality);
        }
        let given = arguments.given_delays();
        Ok(spec.change_delays(move |delays| given.over(delays)))
    };
    (1..=arguments.hosts).map(host).collect()
}

/// Address of host `number`, counted from 1.
fn address(arguments: &Arguments, number: u16) -> Result<IpAddr, Problem> {
    let Some(first) = arguments.first_address else {
        return Ok(arguments.bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    };
    let further = number.saturating_sub(1);
    let address = match first {
        IpAddr::V4(first) => first.to_bits().checked_add(further.into()).map(|bits| {
            let address = Ipv4Addr::from_bits(bits);
            IpAddr::V4(address)
        }),
        IpAddr::V6(first) => first.to_bits().checked_add(further.into()).map(|bits| {
            let address = Ipv6Addr::from_bits(bits);
            IpAddr::V6(address)
        }),
    };
    address.ok_or(Problem::Addresses {
        first,
        hosts: arguments.hosts,
    })
}
