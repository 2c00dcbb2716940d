//! Where an address is cut, and what its scheme means.

use super::{AddressError, Privilege, Protocol, Transport};

const REDFISH: [&str; 9] = [
    "redfish",
    "ilo5-redfish",
    "idrac-redfish",
    "redfish-virtualmedia",
    "ilo5-virtualmedia",
    "idrac-virtualmedia",
    "redfish-uefihttp",
    "ibmc",
    "idrac",
];

/// Reads a lower-case scheme of metal3. Of the drivers that baremetal-operator has removed, `ilo5`, `ibmc`
/// and `idrac` belong to BMCs that speak Redfish; for the others the administrator has to choose.
pub(super) fn protocol_of(scheme: &str) -> Result<(Protocol, Transport), AddressError> {
    let unknown = || AddressError::UnknownScheme(scheme.chars().take(32).collect());
    let (family, transport) = match scheme.split_once('+') {
        Some((family, "https")) => (family, Some(Transport::Https)),
        Some((family, "http")) => (family, Some(Transport::Http)),
        Some(_) => return Err(unknown()),
        None => (scheme, None),
    };
    let ilo4 = "write redfish:// if this iLO 4 has firmware 2.30 or later, else ipmi://.";
    let irmc = "write redfish:// if this iRMC speaks Redfish, else ipmi://.";
    let removed = |scheme, advice| Err(AddressError::RemovedScheme { scheme, advice });
    match (family, transport) {
        (family, _) if REDFISH.contains(&family) => {
            Ok((Protocol::Redfish, transport.unwrap_or(Transport::Https)))
        }
        ("ilo5", None) => Ok((Protocol::Redfish, Transport::Https)),
        ("ipmi" | "libvirt", None) => Ok((Protocol::Ipmi, Transport::Https)),
        ("irmc", None) => removed("irmc", irmc),
        ("ilo4", None) => removed("ilo4", ilo4),
        ("ilo4-virtualmedia", None) => removed("ilo4-virtualmedia", ilo4),
        _ => Err(unknown()),
    }
}

/// Splits off the scheme by the rules of Go's `url.Parse`, with the repairs of `access.go`: digits and brackets
/// cannot begin a scheme, so `192.0.2.1:623` and `[2001:db8::1]:623` have none; in `scheme:host` the first colon
/// counts as `://`.
pub(super) fn split_scheme(text: &str) -> Result<(String, &str), AddressError> {
    let none = || Ok(("ipmi".to_owned(), text));
    if text.starts_with('[') {
        // Without a scheme, only "[v6]:port" is an address; "[v6]" alone is refused upstream too.
        return if text.contains("]:") {
            none()
        } else {
            Err(AddressError::Brackets)
        };
    }
    if text.starts_with("//") {
        return Err(AddressError::UnknownScheme(String::new()));
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return none();
    };
    let begins = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let legal = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.');
    if !begins || !scheme.chars().all(legal) {
        return none();
    }
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    Ok((scheme.to_ascii_lowercase(), rest))
}

/// Splits what follows the scheme into authority, path and query.
pub(super) fn split_rest(rest: &str) -> Result<(&str, &str, Option<&str>), AddressError> {
    let authority_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at_checked(authority_ends).unwrap_or((rest, ""));
    // Checked before anything is quoted in an error: the text in front of the @ may be a password.
    if authority.contains('@') {
        return Err(AddressError::UserInformation);
    }
    if tail.contains('#') {
        return Err(AddressError::Query);
    }
    Ok(match tail.split_once('?') {
        Some((path, query)) => (authority, path, Some(query)),
        None => (authority, tail, None),
    })
}

/// Splits `host[:port]`, with an IPv6 address in brackets.
pub(super) fn split_authority(authority: &str) -> Result<(&str, Option<u16>), AddressError> {
    let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or(AddressError::Brackets)?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(AddressError::Brackets),
        }
    } else {
        match authority.split_once(':') {
            Some((_, more)) if more.contains(':') => return Err(AddressError::Brackets),
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err(AddressError::NoHost);
    }
    if authority.starts_with('[') && host.parse::<std::net::Ipv6Addr>().is_err() {
        let problem = match host.contains('%') {
            true => "it has a zone, which means something on one machine only",
            false => "only an IPv6 address stands in brackets",
        };
        return Err(AddressError::BadHost(host.chars().take(64).collect(), problem));
    }
    // Go lets "host:" stand for the default port.
    let Some(digits) = port.filter(|port| !port.is_empty()) else {
        return Ok((host, None));
    };
    // A sign is no part of a port.
    let number = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let port = number
        .and_then(|digits| digits.parse::<u16>().ok())
        .filter(|port| *port != 0);
    Ok((host, Some(port.ok_or(AddressError::BadPort)?)))
}

/// metal3 asks for ADMINISTRATOR where the address says nothing. Power control needs no more than
/// OPERATOR, and there are BMCs that refuse the other to accounts that have it (ipmitool#376).
pub(super) fn privilege(query: Option<&str>) -> Result<Privilege, AddressError> {
    let Some(query) = query else {
        return Ok(Privilege::Operator);
    };
    let level = query.strip_prefix("privilegelevel=").ok_or(AddressError::Query)?;
    match level.to_ascii_uppercase().as_str() {
        "CALLBACK" => Ok(Privilege::Callback),
        "USER" => Ok(Privilege::User),
        "OPERATOR" => Ok(Privilege::Operator),
        "ADMINISTRATOR" => Ok(Privilege::Administrator),
        _ => Err(AddressError::Privilege),
    }
}
