//! What a BMC was asked, counted.

use serde::{Deserialize, Serialize};

use crate::ipmi::IpmiCounters;

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
    /// Every other HTTP request.
    Other,
    /// ASF Presence Ping.
    IpmiPing,
    /// Get Channel Authentication Capabilities, Get System GUID.
    IpmiDiscovery,
    /// Get Channel Cipher Suites.
    IpmiCipherSuites,
    /// RMCP+ Open Session Request.
    IpmiOpenSession,
    /// RAKP Message 1.
    IpmiRakp1,
    /// RAKP Message 3.
    IpmiRakp3,
    /// Set Session Privilege Level.
    IpmiSetPrivilege,
    /// Get Chassis Status: what a read of the power state is.
    IpmiChassisStatus,
    /// Chassis Control.
    IpmiChassisControl,
    /// Close Session.
    IpmiCloseSession,
    /// Every other IPMI command.
    IpmiOther,
}

impl RequestClass {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::ServiceRoot,
        Self::SystemCollection,
        Self::SystemGet,
        Self::Reset,
        Self::SessionCreate,
        Self::SessionDelete,
        Self::Connect,
        Self::Other,
        Self::IpmiPing,
        Self::IpmiDiscovery,
        Self::IpmiCipherSuites,
        Self::IpmiOpenSession,
        Self::IpmiRakp1,
        Self::IpmiRakp3,
        Self::IpmiSetPrivilege,
        Self::IpmiChassisStatus,
        Self::IpmiChassisControl,
        Self::IpmiCloseSession,
        Self::IpmiOther,
    ];

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
            Self::IpmiPing => "ipmi-ping",
            Self::IpmiDiscovery => "ipmi-discovery",
            Self::IpmiCipherSuites => "ipmi-cipher-suites",
            Self::IpmiOpenSession => "ipmi-open-session",
            Self::IpmiRakp1 => "ipmi-rakp1",
            Self::IpmiRakp3 => "ipmi-rakp3",
            Self::IpmiSetPrivilege => "ipmi-set-privilege",
            Self::IpmiChassisStatus => "ipmi-chassis-status",
            Self::IpmiChassisControl => "ipmi-chassis-control",
            Self::IpmiCloseSession => "ipmi-close-session",
            Self::IpmiOther => "ipmi-other",
        }
    }

    /// Whether it comes over IPMI and not over Redfish.
    pub fn is_ipmi(self) -> bool {
        self.is_ipmi_handshake() || self.is_ipmi_command()
    }

    /// Whether it is an HTTP request.
    pub(crate) fn is_http(self) -> bool {
        !self.is_ipmi() && self != Self::Connect
    }

    /// Whether it is an IPMI message: something with a command and a completion code.
    pub(crate) fn is_ipmi_command(self) -> bool {
        match self {
            Self::IpmiDiscovery
            | Self::IpmiCipherSuites
            | Self::IpmiSetPrivilege
            | Self::IpmiChassisStatus
            | Self::IpmiChassisControl
            | Self::IpmiCloseSession
            | Self::IpmiOther => true,
            Self::ServiceRoot
            | Self::SystemCollection
            | Self::SystemGet
            | Self::Reset
            | Self::SessionCreate
            | Self::SessionDelete
            | Self::Connect
            | Self::Other
            | Self::IpmiPing
            | Self::IpmiOpenSession
            | Self::IpmiRakp1
            | Self::IpmiRakp3 => false,
        }
    }

    fn is_ipmi_handshake(self) -> bool {
        matches!(
            self,
            Self::IpmiPing | Self::IpmiOpenSession | Self::IpmiRakp1 | Self::IpmiRakp3
        )
    }
}

/// Counters of one BMC since it started. HTTP requests count when their head has been read, whatever
/// the answer, also when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// All HTTP requests.
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
    /// HTTP requests refused for missing or wrong credentials.
    pub auth_failures: u64,
    /// What came over IPMI.
    #[serde(default)]
    pub ipmi: IpmiCounters,
}

impl Counters {
    /// Counts an HTTP request.
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
            RequestClass::IpmiPing
            | RequestClass::IpmiDiscovery
            | RequestClass::IpmiCipherSuites
            | RequestClass::IpmiOpenSession
            | RequestClass::IpmiRakp1
            | RequestClass::IpmiRakp3
            | RequestClass::IpmiSetPrivilege
            | RequestClass::IpmiChassisStatus
            | RequestClass::IpmiChassisControl
            | RequestClass::IpmiCloseSession
            | RequestClass::IpmiOther => return,
        });
    }
}

pub(crate) fn bump(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}
