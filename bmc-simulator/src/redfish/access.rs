//! Who may do what (DSP0266, "Operation-to-privilege mapping").

use axum::http::Method;
use serde_json::{Map, Value};

use super::accounts::Privilege;
use super::auth::Caller;
use super::route::Route;
use crate::host::Acting;

/// Whether the caller's role, or that it is about the caller itself, allows this.
pub(super) fn permits(acting: &Acting<'_>, caller: &Caller, route: &Route, method: &Method) -> bool {
    let Some(account) = acting.state.redfish.accounts.get(caller.account) else {
        return false;
    };
    let needed = if is_own(acting, caller, route, method) {
        &[Privilege::ConfigureSelf]
    } else {
        needed(route, is_read(method))
    };
    let held = account.role.privileges();
    needed.iter().any(|privilege| held.contains(privilege))
}

/// Whether a change of an account may name these properties. Of one's own account everybody may change
/// the password and nothing else, or a reader could become an administrator; and nobody may change more
/// than it while it has to be changed.
pub(super) fn permits_change(
    acting: &Acting<'_>,
    caller: &Caller,
    route: &Route,
    body: &Map<String, Value>,
) -> bool {
    if !matches!(route, Route::Account(_)) {
        return true;
    }
    let Some(account) = acting.state.redfish.accounts.get(caller.account) else {
        return false;
    };
    let all = account.role.privileges().contains(&Privilege::ConfigureUsers);
    let only_password = || {
        body.keys()
            .all(|name| name == "Password" || name.starts_with("@odata."))
    };
    all && !account.password_change_required || only_password()
}

/// What is allowed while the password has to be changed (DSP0266, "Password change required handling").
pub(super) fn permits_before_password_change(caller: &Caller, route: &Route, method: &Method) -> bool {
    let own_account = *route == Route::Account(caller.account);
    let own_session = matches!(route, Route::Session(id) if caller.session() == Some(id));
    own_account && (is_read(method) || method == Method::PATCH) || own_session && method == Method::DELETE
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

fn is_own(acting: &Acting<'_>, caller: &Caller, route: &Route, method: &Method) -> bool {
    let own_account = *route == Route::Account(caller.account) && method != Method::DELETE;
    let owner = if let Route::Session(id) = route {
        acting.state.sessions.account_of(id)
    } else {
        None
    };
    own_account || owner == Some(caller.account)
}

/// One of these is needed.
fn needed(route: &Route, read: bool) -> &'static [Privilege] {
    if read && matches!(route, Route::Account(_)) {
        &[Privilege::ConfigureManager, Privilege::ConfigureUsers]
    } else if read {
        &[Privilege::Login]
    } else if matches!(route, Route::Accounts | Route::Account(_) | Route::AccountService) {
        &[Privilege::ConfigureUsers]
    } else if matches!(
        route,
        Route::System(_) | Route::Reset(_) | Route::Oem(..) | Route::BiosSettings(_)
    ) {
        &[Privilege::ConfigureComponents]
    } else if matches!(route, Route::Subscriptions | Route::SubmitTestEvent) {
        &[Privilege::ConfigureManager, Privilege::ConfigureComponents]
    } else {
        &[Privilege::ConfigureManager]
    }
}
