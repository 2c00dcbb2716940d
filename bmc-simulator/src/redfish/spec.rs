//! What one BMC's Redfish service is to be like, where services of vendors differ.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::oem::OemAction;
use super::quirks::{ETags, ExtendedInfo, LastResetTime, LockoutBy, ResetType, ServiceRootSpec, SessionsAt};
use crate::fault::VendorError;
use crate::spec::Wrong;

/// Range of `SessionTimeout` (DMTF `SessionService_v1.xml`): 30 seconds to one day.
pub(super) const SESSION_TIMEOUT_SECONDS: std::ops::RangeInclusive<u64> = 30..=86_400;

/// How a BMC's Redfish service behaves. The default is a plain service that follows DSP0266.
///
/// In JSON: `{"sessionLimit":8,"sessionTimeout":"30m","resetAnswer":"task"}`, every field optional.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RedfishSpec {
    /// Who made it, as the service root says; absent: manufacturer and model of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_root: Option<ServiceRootSpec>,
    /// Where sessions are opened.
    pub sessions_at: SessionsAt,
    /// Open HTTPS connections at one time; the next is reset. So no client of one BMC takes the files that
    /// others need.
    pub connection_limit: u16,
    /// Open sessions at one time; the next login is answered 503 with `SessionLimitExceeded` (iDRAC: 8).
    pub session_limit: u16,
    /// What that answer is instead (iDRAC: `rac0218`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_limit_error: Option<VendorError>,
    /// A session that is not used for so long ends; 30 s to 1 day. `SessionTimeout` changes it.
    #[serde(with = "crate::human::text")]
    pub session_timeout: Duration,
    /// When an account is locked after failed logins.
    pub lockout: LockoutSpec,
    /// What a BMC that is still starting answers instead of 503 (iDRAC: `sys518`, `swc0700`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_ready_error: Option<VendorError>,
    /// The form of `@Message.ExtendedInfo` in errors.
    pub extended_info: ExtendedInfo,
    /// The account begins with `PasswordChangeRequired`: 403 to all but the change of its password.
    pub password_change_required: bool,
    /// The values of `ResetType` that are offered; others are answered 400.
    pub reset_types: Vec<ResetType>,
    /// Of those, the ones that are answered 500 and do nothing: offered by one part of the firmware and
    /// unknown to another (SONiC's BMC, ForceOff: sonic-net/sonic-mgmt issue 27237).
    pub broken_reset_types: Vec<ResetType>,
    /// Where the allowed values of `ResetType` are told.
    pub reset_values: ResetValues,
    /// What a reset that is accepted is answered.
    pub reset_answer: ResetAnswer,
    /// A restart or power cycle of a machine that is off powers it on. Else it does nothing, as the machine
    /// itself; DMTF's use-case checker expects the former.
    pub restart_powers_on: bool,
    /// GracefulRestart resets without asking the operating system (iDRAC8:
    /// dell/iDRAC-Redfish-Scripting issue 29).
    pub graceful_restart_forces: bool,
    /// PowerCycle asks the operating system to restart and never cuts the power (openbmc/bmcweb `systems.hpp`
    /// sends `Host.Transition.Reboot`).
    pub power_cycle_restarts: bool,
    /// What a reset to the present state is answered under the fault `already-there-409` (iDRAC: `psu501`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_there_error: Option<VendorError>,
    /// 400 `InvalidOperationForSystemState` to a reset that comes sooner than this after one that was
    /// accepted (iLO: goldyfruit/ansible-ilo issue 1, openstack/sushy `connector.py`).
    #[serde(with = "crate::human::text")]
    pub reset_pause: Duration,
    /// 412 to a reset that carries `If-Match` (iDRAC10: stmcginnis/gofish PR#510).
    pub reset_refuses_if_match: bool,
    /// 428 to a PATCH without `If-Match` (Huawei: ansible/ansible#60031).
    pub patch_needs_if_match: bool,
    /// 412 to a change with `If-Match: *`, which stands for any state (bmc-toolbox/bmclib PR 353).
    pub refuses_if_match_any: bool,
    /// 428 to `Manager.Reset` without `If-Match` (DGX H100: NVIDIA/libredfish `nvidia_viking.rs`).
    pub manager_reset_needs_if_match: bool,
    /// The entity tags that are handed out.
    pub etags: ETags,
    /// Ways of vendors to take the mains from the machine.
    pub oem_actions: Vec<OemAction>,
    /// What systems say when they were last reset.
    pub last_reset_time: LastResetTime,
    /// Messages in the event log of each machine (`LogServices/SEL`), the oldest first; empty: systems have no log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Systems do not say who manages them (Huawei 1288H: openstack/sushy `retry-on-missing-managedby`).
    pub hides_managed_by: bool,
    /// Decoys answer 503 while the machine is off (NVIDIA/infra-controller issue 5418).
    pub decoys_unavailable_while_off: bool,
    /// What that answer is instead (DGX H100: `hmc-commuication-failed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoy_error: Option<VendorError>,
}

impl Default for RedfishSpec {
    fn default() -> Self {
        Self {
            service_root: None,
            sessions_at: SessionsAt::default(),
            connection_limit: 256,
            session_limit: 64,
            session_limit_error: None,
            not_ready_error: None,
            extended_info: ExtendedInfo::default(),
            session_timeout: Duration::from_mins(30),
            lockout: LockoutSpec::default(),
            password_change_required: false,
            reset_types: ResetType::USUAL.to_vec(),
            broken_reset_types: Vec::new(),
            reset_values: ResetValues::Inline,
            reset_answer: ResetAnswer::NoContent,
            restart_powers_on: false,
            graceful_restart_forces: false,
            power_cycle_restarts: false,
            already_there_error: None,
            reset_pause: Duration::ZERO,
            reset_refuses_if_match: false,
            patch_needs_if_match: false,
            refuses_if_match_any: false,
            manager_reset_needs_if_match: false,
            etags: ETags::default(),
            oem_actions: Vec::new(),
            last_reset_time: LastResetTime::default(),
            log: Vec::new(),
            hides_managed_by: false,
            decoys_unavailable_while_off: false,
            decoy_error: None,
        }
    }
}

impl RedfishSpec {
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        if self.connection_limit == 0 {
            return Err(Wrong::of(
                "connectionLimit",
                "nobody could ever connect: write a limit of 1 or more",
            ));
        }
        if self.session_limit == 0 {
            return Err(Wrong::of(
                "sessionLimit",
                "no session could ever be opened: write a session limit of 1 or more",
            ));
        }
        let offered = |one: &ResetType| self.reset_types.contains(one);
        if !self.broken_reset_types.iter().all(offered) {
            return Err(Wrong::of(
                "brokenResetTypes",
                "what is not offered is refused before it could break: name types of `resetTypes`",
            ));
        }
        if !SESSION_TIMEOUT_SECONDS.contains(&self.session_timeout.as_secs()) {
            return Err(Wrong::of(
                "sessionTimeout",
                "Redfish allows a session time-out of 30 s to 1 day: write such a duration",
            ));
        }
        Ok(())
    }
}

/// When failed logins lock an account (`AccountService`, the properties `AccountLockout*`), or the address they
/// came from. Of accounts only those that exist count; both HTTP Basic and the opening of a session do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LockoutSpec {
    /// Failed logins until the lock; 0 = never locked.
    pub threshold: u32,
    /// How long it stays locked; 0 = never locked.
    #[serde(with = "crate::human::text")]
    pub duration: Duration,
    /// Failed logins further apart than this are not added up.
    #[serde(with = "crate::human::text")]
    pub reset_after: Duration,
    /// Each try during the lock begins its duration anew (ibm-openbmc/openbmc PR#90).
    pub tries_prolong: bool,
    /// Whom they lock out.
    pub by: LockoutBy,
}

impl Default for LockoutSpec {
    fn default() -> Self {
        Self {
            threshold: 0,
            duration: Duration::from_mins(5),
            reset_after: Duration::from_mins(5),
            tries_prolong: false,
            by: LockoutBy::default(),
        }
    }
}

/// Where the allowed values of `ResetType` are told (DSP0266, "Allowable values" and "Action info").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResetValues {
    /// `ResetType@Redfish.AllowableValues` in the action itself.
    Inline,
    /// Behind `@Redfish.ActionInfo` (OpenBMC).
    ActionInfo,
    /// In both places.
    Both,
    /// Nowhere.
    Neither,
}

impl ResetValues {
    pub(super) fn inline(self) -> bool {
        matches!(self, Self::Inline | Self::Both)
    }

    pub(super) fn action_info(self) -> bool {
        matches!(self, Self::ActionInfo | Self::Both)
    }
}

/// What a reset that is accepted is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResetAnswer {
    /// 204.
    NoContent,
    /// 202 with `Location` of a task monitor and `Retry-After`; the task ends when nothing of it is pending.
    Task,
    /// 202 without a task (Supermicro: nv-redfish `AcceptedActionWithoutTask`).
    AcceptedWithoutTask,
    /// 200 with an error as the body, whose message says `Success` (HPE iLO: goldyfruit/ansible-ilo issue 1).
    SuccessAsError,
}

#[cfg(test)]
mod tests {
    use super::{Duration, LockoutSpec, RedfishSpec, ResetAnswer, ResetType, ResetValues};

    #[test]
    fn is_read_from_json_with_every_field_optional() {
        let text = r#"{"sessionLimit":8,"sessionTimeout":"5m","resetAnswer":"accepted-without-task",
            "resetValues":"action-info","lockout":{"threshold":5,"duration":"10m","triesProlong":true}}"#;
        let read: RedfishSpec = serde_json::from_str(text).unwrap();
        let expected = RedfishSpec {
            session_limit: 8,
            session_timeout: Duration::from_mins(5),
            lockout: LockoutSpec {
                threshold: 5,
                duration: Duration::from_mins(10),
                tries_prolong: true,
                ..LockoutSpec::default()
            },
            reset_values: ResetValues::ActionInfo,
            reset_answer: ResetAnswer::AcceptedWithoutTask,
            ..RedfishSpec::default()
        };
        assert_eq!(read, expected);
        let written = serde_json::to_string(&expected).unwrap();
        assert_eq!(serde_json::from_str::<RedfishSpec>(&written).unwrap(), expected);
        assert!(serde_json::from_str::<RedfishSpec>(r#"{"sessionsLimit":8}"#).is_err());
    }

    #[test]
    fn refuses_what_could_not_work() {
        let with_timeout = |seconds| RedfishSpec {
            session_timeout: Duration::from_secs(seconds),
            ..RedfishSpec::default()
        };
        assert!(with_timeout(30).check().is_ok() && with_timeout(86_400).check().is_ok());
        assert!(with_timeout(29).check().is_err() && with_timeout(86_401).check().is_err());
        let breaks = |broken| RedfishSpec {
            reset_types: vec![ResetType::On],
            broken_reset_types: vec![broken],
            ..RedfishSpec::default()
        };
        assert!(breaks(ResetType::On).check().is_ok() && breaks(ResetType::ForceOff).check().is_err());
        let no_sessions = RedfishSpec {
            session_limit: 0,
            ..RedfishSpec::default()
        };
        assert!(no_sessions.check().is_err());
        let no_connections = RedfishSpec {
            connection_limit: 0,
            ..RedfishSpec::default()
        };
        assert!(no_connections.check().is_err());
    }
}
