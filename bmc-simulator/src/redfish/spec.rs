//! What one BMC's Redfish service is to be like, where services of vendors differ.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Range of `SessionTimeout` (DMTF `SessionService_v1.xml`): 30 seconds to one day.
pub(super) const SESSION_TIMEOUT_SECONDS: std::ops::RangeInclusive<u64> = 30..=86_400;

/// How a BMC's Redfish service behaves. The default is a plain service that follows DSP0266.
///
/// In JSON: `{"sessionLimit":8,"sessionTimeout":"30m","resetAnswer":"task"}`, every field optional.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RedfishSpec {
    /// Open sessions at one time; the next login is answered 503 with `SessionLimitExceeded` (iDRAC: 8).
    pub session_limit: u16,
    /// A session that is not used for so long ends; 30 s to 1 day. `SessionTimeout` changes it.
    #[serde(with = "crate::human::text")]
    pub session_timeout: Duration,
    /// When an account is locked after failed logins.
    pub lockout: LockoutSpec,
    /// The account begins with `PasswordChangeRequired`: 403 to all but the change of its password.
    pub password_change_required: bool,
    /// Where the allowed values of `ResetType` are told.
    pub reset_values: ResetValues,
    /// What a reset that is accepted is answered.
    pub reset_answer: ResetAnswer,
    /// A restart or power cycle of a machine that is off powers it on. Else it does nothing, as the machine
    /// itself; DMTF's use-case checker expects the former.
    pub restart_powers_on: bool,
    /// 412 to a reset that carries `If-Match` (iDRAC10: stmcginnis/gofish PR#510).
    pub reset_refuses_if_match: bool,
    /// 428 to a PATCH without `If-Match` (Huawei: ansible/ansible#60031).
    pub patch_needs_if_match: bool,
    /// Decoys answer 503 while the machine is off (NVIDIA/infra-controller issue 5418).
    pub decoys_unavailable_while_off: bool,
}

impl Default for RedfishSpec {
    fn default() -> Self {
        Self {
            session_limit: 64,
            session_timeout: Duration::from_mins(30),
            lockout: LockoutSpec::default(),
            password_change_required: false,
            reset_values: ResetValues::Inline,
            reset_answer: ResetAnswer::NoContent,
            restart_powers_on: false,
            reset_refuses_if_match: false,
            patch_needs_if_match: false,
            decoys_unavailable_while_off: false,
        }
    }
}

impl RedfishSpec {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.session_limit == 0 {
            return Err("no session could ever be opened: write a session limit of 1 or more");
        }
        if !SESSION_TIMEOUT_SECONDS.contains(&self.session_timeout.as_secs()) {
            return Err("Redfish allows a session time-out of 30 s to 1 day: write such a duration");
        }
        Ok(())
    }
}

/// When failed logins lock an account (`AccountService`, the properties `AccountLockout*`). Only logins
/// of an account that exists count; both HTTP Basic and the opening of a session do.
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
}

impl Default for LockoutSpec {
    fn default() -> Self {
        Self {
            threshold: 0,
            duration: Duration::from_mins(5),
            reset_after: Duration::from_mins(5),
            tries_prolong: false,
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
}

#[cfg(test)]
mod tests {
    use super::{Duration, LockoutSpec, RedfishSpec, ResetAnswer, ResetValues};

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
        let no_sessions = RedfishSpec {
            session_limit: 0,
            ..RedfishSpec::default()
        };
        assert!(no_sessions.check().is_err());
    }
}
