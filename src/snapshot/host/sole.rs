//! Whether one BMCEndpoint describes a host, and no other does: all of them are listed, once for everyone who asks at
//! the same time. What one of another namespace says counts only where it was proven.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::BMCEndpoint;
use remediator_api::guarded::Guarded;
use remediator_api::views::Machine;
use remediator_core::facts::{Host, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::HostObject;
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, list};
use crate::single_flight::SingleFlight;
use crate::snapshot::host::{among_endpoints, bmc_address, found_uuid, reference, speaks_of, too_many};
use crate::snapshot::sources::Sources;

pub(crate) const LISTING_ENDPOINTS: &str = "listing the BMCEndpoints";

/// BMCEndpoints that are asked for at once. One is some 2 kB, and 50 kB with a bundle of CA certificates in it.
const PAGE: u32 = 50;

pub(crate) type EndpointReads = SingleFlight<SearchedHost, Result<(), Obstacle>>;

/// A Machine and its Node, and what was known of the host.
#[derive(Clone, Debug)]
pub(crate) struct SearchedHost {
    pub(crate) namespace: String,
    pub(crate) machine: String,
    pub(crate) node: Option<String>,
    pub(crate) known: Host,
}

/// Whether the endpoint of a host still says, read live, what was known of it. Where there is none that could, there is
/// nothing that could have changed.
pub(crate) async fn still_sole(
    sources: &Sources,
    machine: Option<&Machine>,
    host: &Result<Host, Obstacle>,
) -> Result<Result<(), Obstacle>, ShellError> {
    let (Some(machine), Ok(known)) = (machine, host) else {
        return Ok(Ok(()));
    };
    if !matches!(reference(machine), Ok(None)) {
        return Ok(Ok(()));
    }
    let searched = SearchedHost {
        namespace: machine.namespace().unwrap_or_default(),
        machine: machine.name_any(),
        node: machine.node_name().map(ToOwned::to_owned),
        known: known.clone(),
    };
    let client = sources.client.clone();
    let read = move |searched: Vec<SearchedHost>| {
        let api = Api::<Guarded<BMCEndpoint>>::all(client.clone());
        async move {
            let matters =
                |endpoint: &Guarded<BMCEndpoint>| searched.iter().any(|one| one.is_concerned_by(endpoint));
            let pages = ListParams::default().limit(PAGE);
            let listed = list(LISTING_ENDPOINTS, &api, &pages, matters).await?;
            Ok(searched.iter().map(|one| one.is_sole(&listed)).collect())
        }
    };
    sources.endpoint_reads.ask(searched, read).await
}

impl SearchedHost {
    /// Whether an endpoint has a part in what [`Self::is_sole`] says.
    pub(super) fn is_concerned_by(&self, endpoint: &Guarded<BMCEndpoint>) -> bool {
        let names = |one: &BMCEndpoint| speaks_of(one, Some(&self.machine), self.node.as_deref());
        let is_its = self.is_within(endpoint) && endpoint.0.as_ref().is_ok_and(names);
        is_its || (self.counts(endpoint) && describes(endpoint, &self.known) != Ok(false))
    }

    /// Whether its endpoint is what was known of it, and no other describes the same host: nothing else says which one
    /// is that of a Machine without a Node.
    pub(super) fn is_sole(&self, endpoints: &[Guarded<BMCEndpoint>]) -> Result<(), Obstacle> {
        let of_namespace = endpoints.iter().filter(|endpoint| self.is_within(endpoint));
        let host = among_endpoints(of_namespace, Some(&self.machine), self.node.as_deref())?.host;
        if !is_same(&host, &self.known) {
            let detail = format!(
                "{} is not what it was when this was decided",
                self.known.reference
            );
            return Err(Obstacle::new(Reason::Accepted, detail));
        }
        for other in endpoints.iter().filter(|other| self.counts(other)) {
            if self.is_within(other) && HostObject::Endpoint(other.name_any()) == host.reference {
                continue;
            }
            let (namespace, name) = (other.namespace().unwrap_or_default(), other.name_any());
            return Err(match describes(other, &host) {
                Ok(false) => continue,
                Ok(true) => too_many(&namespace, &name, &host),
                Err(why) => {
                    let whose = &host.reference;
                    let detail = format!(
                        "BMCEndpoint {name} in namespace {namespace} may describe the host of {whose}, too: {why}"
                    );
                    Obstacle::new(Reason::HostUnreadable, detail)
                }
            });
        }
        Ok(())
    }

    /// Whether it matters what an endpoint says. One of another namespace may say anything, by whoever may edit there.
    fn counts(&self, endpoint: &Guarded<BMCEndpoint>) -> bool {
        self.is_within(endpoint) || is_proven(endpoint)
    }

    fn is_within(&self, endpoint: &Guarded<BMCEndpoint>) -> bool {
        endpoint.namespace().as_ref() == Some(&self.namespace)
    }
}

/// Whether a check has found the host that an endpoint describes, as it is now, with its own login.
fn is_proven(endpoint: &Guarded<BMCEndpoint>) -> bool {
    endpoint
        .0
        .as_ref()
        .is_ok_and(|endpoint| found_uuid(endpoint).is_some())
}

/// Whether two descriptions of a host say the same; a journal has the system UUID in the byte order of the BMC.
fn is_same(host: &Host, known: &Host) -> bool {
    let same_uuid = match (&host.stated_uuid, &known.stated_uuid) {
        (Some(stated), Some(known)) => stated.matches(known).is_some(),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    same_uuid && (&host.reference, &host.bmc) == (&known.reference, &known.bmc)
}

/// Whether an endpoint describes this host, by its address or its system UUID, or why that is not known; the rest of it
/// may be wrong.
fn describes(endpoint: &Guarded<BMCEndpoint>, host: &Host) -> Result<bool, String> {
    let spec = match &endpoint.0 {
        Ok(endpoint) => &endpoint.spec,
        Err(invalid) => return Err(invalid.error.clone()),
    };
    let address = bmc_address(&spec.address, "spec.address").map_err(|obstacle| obstacle.detail)?;
    let stated = spec.system_uuid.as_deref().map(SystemUuid::parse).transpose();
    let uuids = stated.map(|stated| stated.zip(host.stated_uuid.clone()));
    // With a slash at its end the path of a system leads to the same one.
    if address.to_string().trim_end_matches('/') == host.bmc.trim_end_matches('/') {
        return Ok(true);
    }
    let uuids = uuids.map_err(|_| "spec.systemUUID is no usable UUID".to_owned())?;
    Ok(uuids.is_some_and(|(one, other)| one.matches(&other).is_some()))
}
