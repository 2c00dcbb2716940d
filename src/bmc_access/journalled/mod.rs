//! The way to the BMC of a host that was powered off, as the journal has it: no object is needed for it.

use ipnet::IpNet;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::{BmcRules, FallbackToIpmi, Transport};
use remediator_api::target_ref::to_bring_back;
use remediator_bmc::{
    AllowedNetworks, BmcAddress, Host as BmcHost, Privilege, ResourcePath, ServerTrust, Transport as Carrier,
};
use remediator_core::facts::{Host, Obstacle};
use remediator_core::journal::{Journal, Route, Subject};
use remediator_core::metal3::CycledBy;
use remediator_core::phase::Reason;
use remediator_core::power::Protocol;

use crate::bmc_access::host::{HostTrust, ResolvedHost, bmc_address, fingerprints};

/// The host that a remediation has to bring back, as it was reached when its identity was proven. `None`: it has none
/// to bring back, or began under an earlier version, whose journal does not say.
pub(crate) fn host(remediation: &PowerCycleRemediation) -> Option<Result<ResolvedHost, Obstacle>> {
    let journal = to_bring_back(remediation)?;
    let subject = journal.subject.as_ref()?;
    let route = subject.route.as_ref()?;
    let mut resolved = resolved(subject, route, route.certificate.as_ref());
    if let Ok(resolved) = &mut resolved {
        // Another attempt may begin before the host was seen on, and does to it what this one did.
        resolved.host.cycled = journal.cycled_by();
    }
    Some(resolved)
}

/// The same host where its certificate has changed since, and is to be verified as its Secret says.
pub(crate) fn with_another_certificate(remediation: &PowerCycleRemediation) -> Option<ResolvedHost> {
    let subject = to_bring_back(remediation)?.subject.as_ref()?;
    let route = subject.route.as_ref()?;
    let may_change = route.certificate.is_some() && route.trust_in_secret;
    may_change.then(|| resolved(subject, route, None).ok()).flatten()
}

/// The same host of a remediation that has ended, whose session may have been left behind.
pub(crate) fn host_of_session(journal: &Journal) -> Option<ResolvedHost> {
    let subject = journal
        .subject
        .as_ref()
        .filter(|_| journal.bmc_session.is_some())?;
    let route = subject.route.as_ref()?;
    resolved(subject, route, route.certificate.as_ref()).ok()
}

fn resolved(
    subject: &Subject,
    route: &Route,
    certificate: Option<&String>,
) -> Result<ResolvedHost, Obstacle> {
    let pins: Vec<String> = certificate
        .into_iter()
        .chain(&route.fingerprints)
        .cloned()
        .collect();
    let trust = if route.unverified {
        HostTrust::Stated(ServerTrust::Unverified)
    } else if pins.is_empty() {
        HostTrust::AsTheSecretSays
    } else {
        let place = "status.subject.route";
        let pins = fingerprints(&pins, place, Reason::JournalUnreadable)?;
        HostTrust::Stated(ServerTrust::Fingerprints(pins))
    };
    Ok(ResolvedHost {
        host: Host {
            reference: subject.host.clone(),
            bmc: subject.bmc.clone(),
            stated_uuid: subject.uuid().filter(|_| subject.had_no_node()),
            cycled: CycledBy::Us,
            found_uuid: None,
        },
        address: address(subject, route)?,
        secret: route.secret.clone(),
        trust,
        known_system: system(subject),
    })
}

/// What Redfish called it.
fn system(subject: &Subject) -> Option<ResourcePath> {
    subject
        .protocol
        .filter(|protocol| *protocol == Protocol::Redfish)?;
    ResourcePath::parse(&subject.system).ok()
}

fn address(subject: &Subject, route: &Route) -> Result<BmcAddress, Obstacle> {
    let privilege = route.ipmi_privilege.as_ref();
    let query = privilege.map_or_else(String::new, |level| format!("?privilegelevel={level}"));
    bmc_address(&format!("{}{query}", subject.bmc), "status.subject.bmc")
}

/// The rules under which the BMC of a host was reached that has to be brought back. They let nothing pass that did not
/// pass then.
pub(crate) fn rules(remediation: &PowerCycleRemediation) -> Option<BmcRules> {
    let subject = to_bring_back(remediation)?.subject.as_ref()?;
    let route = subject.route.as_ref()?;
    let address = address(subject, route).ok()?;
    let mut protocols = vec![address.protocol];
    if route.ipmi_port.is_some() && address.protocol != Protocol::Ipmi {
        protocols.push(Protocol::Ipmi);
    }
    Some(BmcRules {
        allowed_networks: route
            .networks
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect(),
        protocols,
        fallback_to_ipmi: route.ipmi_port.map(|port| FallbackToIpmi { port }),
        minimum_transport: match (address.transport, route.unverified) {
            (Carrier::Http, _) => Transport::PlainHTTP,
            (Carrier::Https, true) => Transport::UnverifiedTLS,
            (Carrier::Https, false) => Transport::VerifiedTLS,
        },
        ..BmcRules::default()
    })
}

/// What is journalled of the way to a BMC, but for the certificate that it shows.
pub(crate) fn route(host: &ResolvedHost, rules: &BmcRules) -> Route {
    let (unverified, fingerprints) = match &host.trust {
        HostTrust::Stated(ServerTrust::Unverified) => (true, Vec::new()),
        HostTrust::Stated(ServerTrust::Fingerprints(pins)) => {
            (false, pins.iter().take(8).map(ToString::to_string).collect())
        }
        HostTrust::Stated(ServerTrust::CertificateAuthority(_) | ServerTrust::SystemRoots)
        | HostTrust::AuthorityIn(_)
        | HostTrust::AsTheSecretSays => (false, Vec::new()),
    };
    let matters = |network: &&IpNet| match &host.address.host {
        BmcHost::Ip(address) => AllowedNetworks::new([**network]).check(*address).is_ok(),
        // It may mean another address by then.
        BmcHost::Name(_) => true,
    };
    let networks = rules.allowed_networks.iter().filter(matters);
    Route {
        secret: host.secret.clone(),
        unverified,
        trust_in_secret: host.trust == HostTrust::AsTheSecretSays,
        certificate: None,
        fingerprints,
        networks: networks.map(ToString::to_string).collect(),
        ipmi_privilege: match host.address.privilege {
            Privilege::Operator => None,
            Privilege::Callback => Some("CALLBACK".to_owned()),
            Privilege::User => Some("USER".to_owned()),
            Privilege::Administrator => Some("ADMINISTRATOR".to_owned()),
        },
        ipmi_port: rules.fallback_to_ipmi.map(|allowed| allowed.port),
    }
}

#[cfg(test)]
mod tests;
