//! Another object that describes a host.

use crate::facts::Obstacle;
use crate::identity::SystemUuid;
use crate::phase::Reason;

/// A BMCEndpoint that is not the one of a host, and whose own login has reached that host. Nobody can tell whose host
/// it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rival {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// System UUID of the host.
    pub uuid: SystemUuid,
}

impl Rival {
    /// What it means for a remediation of the host in a namespace.
    pub fn obstacle(&self, own: &str) -> Obstacle {
        let Self {
            namespace,
            name,
            uuid,
        } = self;
        let detail = format!(
            "the host with system UUID {uuid} is described in namespace {own}, and by BMCEndpoint {name} in namespace \
             {namespace}, whose own login has reached it"
        );
        Obstacle::new(Reason::HostAmbiguous, detail)
    }
}
