//! Other BMCEndpoints that describe a host and have reached it with their own login. Whoever may edit a namespace can claim
//! any host there, so a claim alone counts for nothing.

use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::begun;
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_core::facts::{self, Host, Obstacle, Rival};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::{HostObject, Subject};

use crate::snapshot::host::resolve_endpoint;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes::EndpointIndex;

/// What is known of a host: where it is described, and its system UUIDs.
#[derive(Debug)]
pub(crate) struct Described {
    namespace: String,
    /// Where that is known.
    reference: Option<HostObject>,
    uuids: Vec<SystemUuid>,
}

impl Described {
    /// By what describes it, and by its Node.
    pub(crate) fn of(namespace: &str, host: Option<&Host>, node: Option<&facts::Node>) -> Self {
        let of_node = node.and_then(|node| SystemUuid::parse(node.system_uuid.as_deref()?).ok());
        let said = host
            .into_iter()
            .flat_map(|host| [&host.found_uuid, &host.stated_uuid]);
        Self {
            namespace: namespace.to_owned(),
            reference: host.map(|host| host.reference.clone()),
            uuids: said.flatten().cloned().chain(of_node).collect(),
        }
    }

    /// The same of a remediation, by its journal, too.
    pub(crate) fn of_remediation(
        remediation: &PowerCycleRemediation,
        host: Option<&Host>,
        node: Option<&facts::Node>,
    ) -> Self {
        let mut described = Self::of(&remediation.namespace().unwrap_or_default(), host, node);
        if let Some(subject) = begun(remediation) {
            described.reference.get_or_insert_with(|| subject.host.clone());
            described.uuids.extend(Subject::uuid(subject));
        }
        described
    }

    /// The first other endpoint whose own login has reached the host.
    pub(crate) fn rival(&self, endpoints: &IndexedStore<BMCEndpoint>) -> Option<Rival> {
        let rival = |uuid: &SystemUuid| {
            let proven = EndpointIndex::Proven(uuid.in_either_order());
            let other = endpoints.first_by(&proven, |one| self.is_of_another(one))?;
            Some(Rival {
                namespace: other.namespace().unwrap_or_default(),
                name: other.name_any(),
                uuid: uuid.clone(),
            })
        };
        self.uuids.iter().find_map(rival)
    }

    /// In the namespace of a host that a BareMetalHost describes, that is what counts; which endpoint is meant there is
    /// told elsewhere where several are.
    fn is_of_another(&self, endpoint: &Guarded<BMCEndpoint>) -> bool {
        if endpoint.namespace().as_ref() != Some(&self.namespace) {
            return true;
        }
        match &self.reference {
            Some(HostObject::Endpoint(own)) => *own != endpoint.name_any(),
            Some(HostObject::BareMetalHost(_)) | None => false,
        }
    }
}

/// Whether no other endpoint has reached the host of this one with its own login.
///
/// # Errors
/// [`Reason::HostAmbiguous`](remediator_core::phase::Reason::HostAmbiguous).
pub(crate) fn sole(endpoints: &IndexedStore<BMCEndpoint>, endpoint: &BMCEndpoint) -> Result<(), Obstacle> {
    let namespace = endpoint.namespace().unwrap_or_default();
    let resolved = resolve_endpoint(endpoint);
    let described = Described::of(&namespace, resolved.as_ref().ok().map(|one| &one.host), None);
    let rival = described.rival(endpoints);
    rival.map_or(Ok(()), |rival| Err(rival.obstacle(&namespace)))
}

#[cfg(test)]
mod tests;
