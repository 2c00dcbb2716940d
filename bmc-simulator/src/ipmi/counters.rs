//! What a BMC was asked over IPMI, counted.

use serde::{Deserialize, Serialize};

use crate::counters::{RequestClass, bump};

/// What came over IPMI, counted. A request counts when it is well-formed and, in a session, the
/// session's; also when there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpmiCounters {
    /// Datagrams received, whatever is in them.
    pub datagrams: u64,
    /// Datagrams that are no RMCP, ASF or IPMI that a BMC understands.
    pub malformed: u64,
    /// Well-formed ones that are not answered: an unknown session, a wrong authentication code, a
    /// sequence number that was used or is too far away, an IPMI 1.5 session.
    pub discarded: u64,
    /// ASF Presence Pings.
    pub ping: u64,
    /// Get Channel Authentication Capabilities, Get System GUID.
    pub discovery: u64,
    /// Get Channel Cipher Suites.
    pub cipher_suites: u64,
    /// RMCP+ Open Session Requests.
    pub open_session: u64,
    /// RAKP Messages 1.
    pub rakp1: u64,
    /// RAKP Messages 3.
    pub rakp3: u64,
    /// Set Session Privilege Level.
    pub set_privilege: u64,
    /// Get Chassis Status.
    pub chassis_status: u64,
    /// Chassis Control.
    pub chassis_control: u64,
    /// Close Session.
    pub close_session: u64,
    /// Every other command.
    pub other: u64,
    /// Sessions opened.
    pub sessions_opened: u64,
    /// Sessions that ended, whyever.
    pub sessions_ended: u64,
    /// Unknown users, and passwords or KGs that one side found wrong.
    pub auth_failures: u64,
}

impl IpmiCounters {
    /// Counts a request over IPMI.
    pub(crate) fn count(&mut self, class: RequestClass) {
        bump(match class {
            RequestClass::IpmiPing => &mut self.ping,
            RequestClass::IpmiDiscovery => &mut self.discovery,
            RequestClass::IpmiCipherSuites => &mut self.cipher_suites,
            RequestClass::IpmiOpenSession => &mut self.open_session,
            RequestClass::IpmiRakp1 => &mut self.rakp1,
            RequestClass::IpmiRakp3 => &mut self.rakp3,
            RequestClass::IpmiSetPrivilege => &mut self.set_privilege,
            RequestClass::IpmiChassisStatus => &mut self.chassis_status,
            RequestClass::IpmiChassisControl => &mut self.chassis_control,
            RequestClass::IpmiCloseSession => &mut self.close_session,
            RequestClass::IpmiOther => &mut self.other,
            RequestClass::ServiceRoot
            | RequestClass::SystemCollection
            | RequestClass::SystemGet
            | RequestClass::Reset
            | RequestClass::SessionCreate
            | RequestClass::SessionDelete
            | RequestClass::Connect
            | RequestClass::Other => return,
        });
    }
}
