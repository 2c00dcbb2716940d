//! Whether one BMCEndpoint describes a host, and no other does.

use kube::ResourceExt as _;
use remediator_api::BMCEndpoint;
use remediator_api::guarded::Guarded;
use remediator_core::facts::{Host, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::phase::Reason;

use crate::snapshot::host::{among_endpoints, bmc_address, speaks_of};
use crate::snapshot::sources::MachineAndNode;

/// Whether an endpoint has a part in what [`still_sole`] says of a host.
pub(crate) fn is_of_interest(
    endpoint: &Guarded<BMCEndpoint>,
    whose: MachineAndNode<'_>,
    known: &Host,
) -> bool {
    let names = |endpoint: &BMCEndpoint| speaks_of(endpoint, Some(whose.machine), whose.node);
    let is_its = whose.is_within(endpoint) && endpoint.0.as_ref().is_ok_and(names);
    is_its || describes(endpoint, known) != Ok(false)
}

/// What, seen live, speaks against a host whose Machine has no Node, so that nothing but its endpoint says which
/// one it is: the endpoint is not what was `known` of it, or another one describes the same host.
pub(crate) fn still_sole(
    endpoints: &[Guarded<BMCEndpoint>],
    whose: MachineAndNode<'_>,
    known: &Host,
) -> Result<(), Obstacle> {
    let of_namespace = endpoints.iter().filter(|endpoint| whose.is_within(endpoint));
    let host = among_endpoints(of_namespace, Some(whose.machine), whose.node)?.host;
    if host != *known {
        let detail = format!("{} is not what it was when this was decided", known.reference);
        return Err(Obstacle::new(Reason::Accepted, detail));
    }
    let others = endpoints.iter().filter(|endpoint| {
        let is_own =
            whose.is_within(endpoint) && format!("BMCEndpoint/{}", endpoint.name_any()) == host.reference;
        !is_own
    });
    for other in others {
        let place = format!(
            "BMCEndpoint {} in namespace {}",
            other.name_any(),
            other.namespace().unwrap_or_default()
        );
        let (reason, what) = match describes(other, &host) {
            Ok(false) => continue,
            Ok(true) => (
                Reason::HostAmbiguous,
                format!("has the address or the system UUID of {}, too", host.reference),
            ),
            Err(why) => (
                Reason::HostUnreadable,
                format!("may describe the host of {}, too: {why}", host.reference),
            ),
        };
        return Err(Obstacle::new(reason, format!("{place} {what}")));
    }
    Ok(())
}

impl MachineAndNode<'_> {
    fn is_within(&self, endpoint: &Guarded<BMCEndpoint>) -> bool {
        endpoint.namespace().as_deref() == Some(self.namespace)
    }
}

/// Whether an endpoint describes this host, by its address or its system UUID; the rest of it may be wrong.
fn describes(endpoint: &Guarded<BMCEndpoint>, host: &Host) -> Result<bool, String> {
    let spec = match &endpoint.0 {
        Ok(endpoint) => &endpoint.spec,
        Err(invalid) => return Err(invalid.error.clone()),
    };
    let address = bmc_address(&spec.address, "spec.address").map_err(|obstacle| obstacle.detail)?;
    let stated = spec.system_uuid.as_deref().map(SystemUuid::parse).transpose();
    let uuids = stated.map(|stated| stated.zip(host.stated_uuid.clone()));
    if address.to_string() == host.bmc {
        return Ok(true);
    }
    let uuids = uuids.map_err(|_| "spec.systemUUID is no usable UUID".to_owned())?;
    Ok(uuids.is_some_and(|(one, other)| one.matches(&other).is_some()))
}
