//! A BMC that is named by its address, with everything about it on the command line.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use remediator_bmc::{
    AllowedNetworks, AuthMethod, BmcTarget, Credentials, Fingerprint, ServerTrust, Transport,
    TransportSecurity,
};
use remediator_core::identity::SystemUuid;
use zeroize::Zeroizing;

use crate::cli::bmc::arguments::DirectArguments;

/// Where a password may stand besides a file: not in an argument, which every user of the machine sees.
const PASSWORD_VARIABLE: &str = "BMC_PASSWORD";
/// Where the key KG of an IPMI BMC may stand.
const KG_VARIABLE: &str = "BMC_KG";
/// Longest password file in bytes.
const LONGEST_FILE: u64 = 4096;

/// What the arguments amount to.
///
/// # Errors
/// Names the argument.
pub(super) fn target(arguments: &DirectArguments, address: &str) -> anyhow::Result<BmcTarget> {
    let address: remediator_bmc::BmcAddress = address.parse().context("--address")?;
    let (transport, protocol) = (address.transport, address.protocol);
    let trust = trust(arguments)?;
    let uuid = arguments.system_uuid.as_ref().map(|text| {
        SystemUuid::parse(text).map_err(|_| {
            anyhow!(
                "--system-uuid: \"{text}\" is no usable UUID such as 4c4c4544-0042-3510-8051-b4c04f473332"
            )
        })
    });
    // Everywhere but loopback, link-local and the like, which no wide network opens. No cluster is asked what it
    // uses itself: there may be none.
    let everywhere = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
    Ok(BmcTarget {
        address,
        credentials: credentials(arguments)?,
        minimum_transport: match (transport, &trust) {
            // Whoever writes it means it.
            (Transport::Http, _) => TransportSecurity::PlainHttp,
            (Transport::Https, ServerTrust::Unverified) => TransportSecurity::UnverifiedTls,
            (
                Transport::Https,
                ServerTrust::CertificateAuthority(_)
                | ServerTrust::Fingerprints(_)
                | ServerTrust::SystemRoots,
            ) => TransportSecurity::VerifiedTls,
        },
        trust,
        auth: AuthMethod::Auto,
        expected_uuid: uuid.transpose()?,
        known_system: None,
        // Here, too, whoever writes it means it.
        protocols: vec![protocol],
        fallback: None,
        allowed: AllowedNetworks::new(everywhere.into_iter().chain(arguments.allow_network.clone())),
    })
}

fn trust(arguments: &DirectArguments) -> anyhow::Result<ServerTrust> {
    if arguments.insecure {
        return Ok(ServerTrust::Unverified);
    }
    if let Some(path) = &arguments.ca_file {
        let pem = std::fs::read_to_string(path)
            .with_context(|| format!("--ca-file: cannot read {}", path.display()))?;
        return Ok(ServerTrust::CertificateAuthority(pem));
    }
    if arguments.fingerprint.is_empty() {
        return Ok(ServerTrust::SystemRoots);
    }
    let pins = arguments.fingerprint.iter().map(|text| text.parse());
    let pins: Result<Vec<Fingerprint>, _> = pins.collect();
    Ok(ServerTrust::Fingerprints(pins.context("--fingerprint")?))
}

fn credentials(arguments: &DirectArguments) -> anyhow::Result<Credentials> {
    let username = arguments.username.clone().unwrap_or_default();
    let password = match &arguments.password_file {
        Some(path) => password_of(path)?,
        None => match std::env::var(PASSWORD_VARIABLE) {
            Ok(password) => Zeroizing::new(password.into_bytes()),
            Err(_) => bail!(
                "no password: give --password-file FILE, or - for standard input, or set {PASSWORD_VARIABLE}"
            ),
        },
    };
    let kg = std::env::var(KG_VARIABLE).ok().map(Zeroizing::new);
    let mut data = BTreeMap::from([
        ("username".to_owned(), username.as_bytes()),
        ("password".to_owned(), password.as_slice()),
    ]);
    if let Some(kg) = &kg {
        data.insert("kg".to_owned(), kg.as_bytes());
    }
    Credentials::from_secret(&data, "command line").map_err(|error| {
        let text = error.to_string().replace("of the Secret ", "");
        anyhow!(
            "--username and password: {}",
            text.replace("the Secret", "the login")
        )
    })
}

fn password_of(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let mut password = Zeroizing::new(Vec::new());
    let read = if path.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(LONGEST_FILE)
            .read_to_end(&mut password)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_end(&mut password))
    };
    read.with_context(|| format!("--password-file: cannot read {}", path.display()))?;
    Ok(password)
}
