//! Sessions over IPMI as the host sees them: listed, expired, ended.

use super::Acting;
use super::IpmiSnapshot;
use crate::counters::bump;
use crate::journal::Ended;

impl Acting<'_> {
    pub(super) fn ipmi_snapshot(&self) -> Option<IpmiSnapshot> {
        Some(IpmiSnapshot {
            address: self.core.ipmi_address?,
            sessions: self.state.ipmi.as_ref()?.snapshots(),
        })
    }

    /// Ends sessions over IPMI that were idle for too long.
    pub(super) fn expire_sessions(&mut self) {
        let now = self.now;
        let ended = self.state.ipmi.as_mut().map(|ipmi| ipmi.expire(now));
        for (at, event) in ended.into_iter().flatten() {
            bump(&mut self.state.counters.ipmi.sessions_ended);
            self.log_at(at, event);
        }
    }

    /// Ends all sessions over IPMI.
    pub(crate) fn end_ipmi_sessions(&mut self, reason: Ended) {
        let ended = self.state.ipmi.as_mut().map(|ipmi| ipmi.end_all(reason));
        for event in ended.into_iter().flatten() {
            bump(&mut self.state.counters.ipmi.sessions_ended);
            self.log(event);
        }
    }
}
