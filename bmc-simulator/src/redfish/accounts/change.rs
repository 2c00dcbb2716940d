//! PATCH of `AccountService` and of a `ManagerAccount`.

use serde_json::Value;

use super::lock::Lock;
use super::{Login, PASSWORD_LENGTH, Policy, Role};
use crate::host::Acting;
use crate::journal::Ended;
use crate::redfish::message::{Base, Message};
use crate::redfish::patch::{Change, Plan, flag, text, whole};
use crate::redfish::sessions;
use crate::spec::Credentials;

/// A property of `AccountService`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) enum ServiceChange {
    Threshold(u64),
    Duration(u64),
    ResetAfter(u64),
}

impl ServiceChange {
    pub(in crate::redfish) fn apply(self, policy: &mut Policy) {
        match self {
            Self::Threshold(failures) => policy.threshold = failures,
            Self::Duration(seconds) => policy.duration = seconds,
            Self::ResetAfter(seconds) => policy.reset_after = seconds,
        }
    }
}

/// Longest lock that can be set, in seconds: a day.
const LONGEST: std::ops::RangeInclusive<u64> = 0..=86_400;

pub(in crate::redfish) fn plan_service(plan: &mut Plan, name: &str, value: &Value) -> bool {
    let change: fn(u64) -> ServiceChange = match name {
        "AccountLockoutThreshold" => ServiceChange::Threshold,
        "AccountLockoutDuration" => ServiceChange::Duration,
        "AccountLockoutCounterResetAfter" => ServiceChange::ResetAfter,
        _ => return false,
    };
    plan.take(whole(name, value, &LONGEST), |number| {
        Change::AccountService(change(number))
    });
    true
}

/// A property of a `ManagerAccount`.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::redfish) enum AccountChange {
    UserName(String),
    Password(String),
    Role(Role),
    Enabled(bool),
    Unlock,
    PasswordChangeRequired(bool),
}

impl std::fmt::Debug for AccountChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not derived: a password may be in there.
        formatter.write_str("AccountChange")
    }
}

pub(in crate::redfish) fn plan_account(
    plan: &mut Plan,
    acting: &Acting<'_>,
    id: u64,
    name: &str,
    value: &Value,
) -> bool {
    let change = |change| Change::Account(id, change);
    match name {
        "UserName" => {
            let free = user_name(acting, Some(id), value);
            plan.take(free, |name| change(AccountChange::UserName(name)));
        }
        "Password" => plan.take(password(value), |word| change(AccountChange::Password(word))),
        "RoleId" => plan.take(role(value), |role| change(AccountChange::Role(role))),
        "Enabled" => plan.take(flag(name, value), |on| change(AccountChange::Enabled(on))),
        // The service locks, people unlock (DMTF `ManagerAccount_v1.xml`, property Locked).
        "Locked" if value == &Value::Bool(true) => plan.wrong(not_listed("true", name)),
        "Locked" => plan.take(flag(name, value), |_| change(AccountChange::Unlock)),
        "PasswordChangeRequired" => plan.take(flag(name, value), |on| {
            change(AccountChange::PasswordChangeRequired(on))
        }),
        _ => return false,
    }
    true
}

fn not_listed(value: &str, name: &str) -> Message {
    Base::PropertyValueNotInList.message(&[value, name]).about(name)
}

pub(super) fn role(value: &Value) -> Result<Role, Message> {
    let name = text("RoleId", value)?;
    Role::named(&name).ok_or_else(|| not_listed(&name, "RoleId"))
}

pub(super) fn password(value: &Value) -> Result<String, Message> {
    let word = text("Password", value)?;
    if PASSWORD_LENGTH.contains(&word.len()) && !word.chars().any(char::is_control) {
        return Ok(word);
    }
    Err(Base::PropertyValueFormatError
        .message(&["***", "Password"])
        .about("Password"))
}

/// A user name that HTTP Basic can carry and that no other account has.
pub(super) fn user_name(acting: &Acting<'_>, own: Option<u64>, value: &Value) -> Result<String, Message> {
    let name = text("UserName", value)?;
    let fit = !name.is_empty() && name.len() <= 16 && !name.contains(|c: char| c == ':' || c.is_control());
    if !fit {
        return Err(Base::PropertyValueFormatError
            .message(&[&name, "UserName"])
            .about("UserName"));
    }
    let accounts = &acting.state.redfish.accounts;
    let bmc = &acting.state.credentials;
    let unchanged = own.and_then(|id| accounts.username(id, bmc)) == Some(name.as_str());
    if !unchanged && accounts.has_name(bmc, &name) {
        return Err(Base::ResourceAlreadyExists.message(&["ManagerAccount", "UserName", &name]));
    }
    Ok(name)
}

impl AccountChange {
    /// Makes the change. Sessions of the account end when its login changes, but for the one that
    /// changed it (as bmcweb does).
    pub(in crate::redfish) fn apply(self, acting: &mut Acting<'_>, id: u64, session: Option<&str>) {
        let state = &mut *acting.state;
        let Some(account) = state.redfish.accounts.get_mut(id) else {
            return;
        };
        account.revision = account.revision.wrapping_add(1);
        let mut ends = None;
        let mut users = Vec::new();
        let login: &mut Credentials = match &mut account.login {
            Login::Bmc => &mut state.credentials,
            Login::Own(own) => own,
        };
        match self {
            Self::UserName(name) => {
                users.extend([login.username.clone(), name.clone()]);
                login.username = name;
                ends = Some(Ended::CredentialsRotated);
            }
            Self::Password(password) => {
                users.push(login.username.clone());
                login.password = password;
                ends = Some(Ended::CredentialsRotated);
                account.password_change_required = false;
                account.lock = Lock::default();
            }
            Self::Role(role) => account.role = role,
            Self::Enabled(enabled) => {
                if enabled {
                    users.push(login.username.clone());
                } else {
                    ends = Some(Ended::AccountDisabled);
                }
                account.enabled = enabled;
            }
            Self::Unlock => {
                users.push(login.username.clone());
                account.lock = Lock::default();
            }
            Self::PasswordChangeRequired(required) => account.password_change_required = required,
        }
        acting.log_rotated(&users);
        if let Some(reason) = ends {
            sessions::end_of(acting, id, session, reason);
        }
    }
}
