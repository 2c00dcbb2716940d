//! `AccountService`, `ManagerAccount` and `Role`.

use serde_json::{Value, json};

use super::{PASSWORD_LENGTH, Role};
use crate::host::Acting;
use crate::redfish::body_of::{collection, reference, resource};
use crate::redfish::message::{Base, Message};
use crate::redfish::schema;

pub(in crate::redfish) const SERVICE: &str = "/redfish/v1/AccountService";
pub(in crate::redfish) const ACCOUNTS: &str = "/redfish/v1/AccountService/Accounts";
pub(in crate::redfish) const ROLES: &str = "/redfish/v1/AccountService/Roles";

/// `/redfish/v1/AccountService`.
pub(in crate::redfish) fn service(acting: &Acting<'_>) -> Value {
    let policy = acting.state.redfish.accounts.policy;
    resource(
        schema::ACCOUNT_SERVICE,
        SERVICE,
        "AccountService",
        "Account Service",
        json!({
            "Status": {"State": "Enabled", "Health": "OK"},
            "ServiceEnabled": true,
            "HTTPBasicAuth": "Enabled",
            "LocalAccountAuth": "Enabled",
            "SupportedAccountTypes": ["Redfish"],
            "MinPasswordLength": PASSWORD_LENGTH.start(),
            "MaxPasswordLength": PASSWORD_LENGTH.end(),
            "AccountLockoutThreshold": policy.threshold,
            "AccountLockoutDuration": policy.duration,
            "AccountLockoutCounterResetAfter": policy.reset_after,
            "AccountLockoutCounterResetEnabled": true,
            "Accounts": reference(ACCOUNTS),
            "Roles": reference(ROLES),
        }),
    )
}

/// `/redfish/v1/AccountService/Accounts`.
pub(in crate::redfish) fn accounts(acting: &Acting<'_>) -> Value {
    let ids = acting.state.redfish.accounts.ids();
    let uris = ids.map(|id| format!("{ACCOUNTS}/{id}"));
    collection(schema::ACCOUNTS, ACCOUNTS, "Accounts Collection", uris)
}

/// `/redfish/v1/AccountService/Accounts/{id}`.
pub(in crate::redfish) fn account(acting: &Acting<'_>, id: u64) -> Option<Value> {
    let accounts = &acting.state.redfish.accounts;
    let account = accounts.get(id)?;
    let role = account.role.as_str();
    Some(resource(
        schema::ACCOUNT,
        &format!("{ACCOUNTS}/{id}"),
        &id.to_string(),
        "User Account",
        json!({
            "UserName": accounts.username(id, &acting.state.credentials),
            "Password": null,
            "RoleId": role,
            "Enabled": account.enabled,
            "Locked": accounts.is_locked(id, acting.now),
            "PasswordChangeRequired": account.password_change_required,
            "AccountTypes": ["Redfish"],
            "Links": {"Role": reference(&format!("{ROLES}/{role}"))},
        }),
    ))
}

/// `/redfish/v1/AccountService/Roles`.
pub(in crate::redfish) fn roles() -> Value {
    let uris = Role::ALL.iter().map(|role| format!("{ROLES}/{}", role.as_str()));
    collection(schema::ROLES, ROLES, "Roles Collection", uris)
}

/// `/redfish/v1/AccountService/Roles/{id}`.
pub(in crate::redfish) fn role(id: &str) -> Option<Value> {
    let role = Role::named(id)?;
    let privileges: Vec<&str> = role
        .privileges()
        .iter()
        .map(|privilege| privilege.as_str())
        .collect();
    Some(resource(
        schema::ROLE,
        &format!("{ROLES}/{id}"),
        id,
        "User Role",
        json!({
            "RoleId": id,
            "IsPredefined": true,
            "AssignedPrivileges": privileges,
            "OemPrivileges": [],
        }),
    ))
}

/// The message that the password has to be changed first, if it has to.
pub(in crate::redfish) fn password_change(acting: &Acting<'_>, id: u64) -> Option<Message> {
    let account = acting.state.redfish.accounts.get(id)?;
    account
        .password_change_required
        .then(|| Base::PasswordChangeRequired.message(&[&format!("{ACCOUNTS}/{id}")]))
}
