//! POST of a new account.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Map, Value};

use super::change::{password, role, user_name};
use super::resources::ACCOUNTS;
use super::{Account, Lock, Login};
use crate::host::Acting;
use crate::redfish::message::{Base, Message};
use crate::redfish::patch::flag;
use crate::redfish::route::Route;
use crate::redfish::{read, reply};
use crate::spec::Credentials;

/// Answers a POST to the collection of accounts.
pub(in crate::redfish) fn create(acting: &mut Acting<'_>, object: &Map<String, Value>) -> Response<Body> {
    if acting.state.redfish.accounts.is_full() {
        let full = Base::CreateLimitReachedForResource.message(&[]);
        return reply::error(StatusCode::BAD_REQUEST, full);
    }
    let account = match account(acting, object) {
        Ok(account) => account,
        Err(messages) => return reply::errors(StatusCode::BAD_REQUEST, &messages),
    };
    let user = account.credentials(&acting.state.credentials).username.clone();
    let id = acting.state.redfish.accounts.add(account);
    acting.log_rotated(&[user]);
    match read::tagged(acting, &Route::Account(id)) {
        Some(created) => reply::created(&format!("{ACCOUNTS}/{id}"), &created),
        None => reply::no_content(),
    }
}

fn account(acting: &Acting<'_>, object: &Map<String, Value>) -> Result<Account, Vec<Message>> {
    let mut wrong: Vec<Message> = ["UserName", "Password", "RoleId"]
        .into_iter()
        .filter(|name| !object.contains_key(*name))
        .map(|name| {
            Base::CreateFailedMissingReqProperties
                .message(&[name])
                .about(name)
        })
        .collect();
    let mut note = |message| wrong.push(message);
    let (mut username, mut word, mut given) = (None, None, None);
    let (mut enabled, mut change_required) = (true, false);
    for (name, value) in object {
        match name.as_str() {
            "UserName" => username = user_name(acting, None, value).map_err(&mut note).ok(),
            "Password" => word = password(value).map_err(&mut note).ok(),
            "RoleId" => given = role(value).map_err(&mut note).ok(),
            "Enabled" => enabled = flag(name, value).map_err(&mut note).unwrap_or_default(),
            "PasswordChangeRequired" => {
                change_required = flag(name, value).map_err(&mut note).unwrap_or_default();
            }
            // All accounts are of the type Redfish, which clients may say.
            "AccountTypes" if *value == serde_json::json!(["Redfish"]) => {}
            _ if name.starts_with("@odata.") => {}
            _ => note(Base::PropertyUnknown.message(&[name]).about(name)),
        }
    }
    match (username, word, given) {
        (Some(username), Some(password), Some(role)) if wrong.is_empty() => Ok(Account {
            login: Login::Own(Credentials { username, password }),
            role,
            enabled,
            password_change_required: change_required,
            lock: Lock::default(),
            revision: 0,
        }),
        _ => Err(wrong),
    }
}
