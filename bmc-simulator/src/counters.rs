//! What a BMC was asked, counted.

use serde::{Deserialize, Serialize};

/// Kinds of request that matter to a power client; faults can be limited to one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestClass {
    /// GET of `/redfish` or the service root.
    ServiceRoot,
    /// GET of the collection of systems.
    SystemCollection,
    /// GET of one system: what a read of the power state is.
    SystemGet,
    /// POST of a reset action.
    Reset,
    /// POST that opens a session.
    SessionCreate,
    /// DELETE of a session.
    SessionDelete,
    /// A TCP connection.
    Connect,
    /// Everything else.
    Other,
}

impl RequestClass {
    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ServiceRoot => "service-root",
            Self::SystemCollection => "system-collection",
            Self::SystemGet => "system-get",
            Self::Reset => "reset",
            Self::SessionCreate => "session-create",
            Self::SessionDelete => "session-delete",
            Self::Connect => "connect",
            Self::Other => "other",
        }
    }
}

/// Counters of one BMC since it started. Requests count when their head has been read, whatever
/// the answer, also when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// All requests.
    pub requests: u64,
    /// GET of `/redfish` or the service root.
    pub service_root: u64,
    /// GET of the collection of systems.
    pub system_collection: u64,
    /// GET of one system.
    pub system_get: u64,
    /// POST of a reset action.
    pub reset: u64,
    /// POST that opens a session.
    pub session_create: u64,
    /// DELETE of a session.
    pub session_delete: u64,
    /// Everything else.
    pub other: u64,
    /// TCP connections accepted.
    pub tcp_connections: u64,
    /// TLS handshakes completed. Resumption is off, so each one is a full handshake.
    pub tls_handshakes: u64,
    /// TLS handshakes that failed.
    pub tls_failures: u64,
    /// Requests refused for missing or wrong credentials.
    pub auth_failures: u64,
}

impl Counters {
    pub(crate) fn count(&mut self, class: RequestClass) {
        if class != RequestClass::Connect {
            bump(&mut self.requests);
        }
        bump(match class {
            RequestClass::ServiceRoot => &mut self.service_root,
            RequestClass::SystemCollection => &mut self.system_collection,
            RequestClass::SystemGet => &mut self.system_get,
            RequestClass::Reset => &mut self.reset,
            RequestClass::SessionCreate => &mut self.session_create,
            RequestClass::SessionDelete => &mut self.session_delete,
            RequestClass::Connect => &mut self.tcp_connections,
            RequestClass::Other => &mut self.other,
        });
    }
}

pub(crate) fn bump(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}
