use axum::http::Method;
use proptest::prelude::*;

use super::Route;
use crate::counters::RequestClass;

#[test]
fn reads_paths_and_refuses_look_alikes() {
    assert_eq!(Route::of("/redfish"), Route::Versions);
    assert_eq!(Route::of("/redfish/v1/"), Route::ServiceRoot);
    assert_eq!(Route::of("/redfish/v1/Systems/a"), Route::System("a".to_owned()));
    let reset = "/redfish/v1/Systems/a/Actions/ComputerSystem.Reset";
    assert_eq!(Route::of(reset), Route::Reset("a".to_owned()));
    assert_eq!(Route::of("/redfish/v1/TaskService/Tasks/7"), Route::Task(7));
    let document = "/redfish/v1/Registries/Base.1.19/Base.1.19.json";
    assert_eq!(
        Route::of(document),
        Route::RegistryDocument("Base.1.19".to_owned())
    );
    for path in [
        "/",
        "/redfishv1",
        "/redfish/v1//Systems",
        "/redfish/v1/systems",
        "/x/redfish/v1",
        "/redfish/v1/TaskService/Tasks/07",
        "/redfish/v1/TaskService/Tasks/x",
        "/redfish/v1/Registries/Base.1.19/Other.json",
        "/redfish/v1/Managers/BMC/Nothing",
    ] {
        assert_eq!(Route::of(path), Route::Unknown, "{path}");
    }
}

#[test]
fn a_post_to_members_is_one_to_the_collection() {
    let members = "/redfish/v1/SessionService/Sessions/Members";
    assert_eq!(Route::of_request(&Method::POST, members), Route::Sessions);
    let accounts = "/redfish/v1/AccountService/Accounts/Members/";
    assert_eq!(Route::of_request(&Method::POST, accounts), Route::Accounts);
    let read = Route::of_request(&Method::GET, members);
    assert_eq!(read, Route::Session("Members".to_owned()));
    let systems = Route::of_request(&Method::POST, "/redfish/v1/Systems/Members");
    assert_eq!(systems, Route::System("Members".to_owned()));
}

#[test]
fn only_what_is_counted_apart_has_a_class_of_its_own() {
    for (method, path, class) in [
        (Method::GET, "/redfish/v1", RequestClass::ServiceRoot),
        (
            Method::HEAD,
            "/redfish/v1/Systems",
            RequestClass::SystemCollection,
        ),
        (Method::GET, "/redfish/v1/Systems/1", RequestClass::SystemGet),
        (Method::PATCH, "/redfish/v1/Systems/1", RequestClass::Other),
        (
            Method::POST,
            "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
            RequestClass::Reset,
        ),
        (
            Method::POST,
            "/redfish/v1/SessionService/Sessions",
            RequestClass::SessionCreate,
        ),
        (
            Method::POST,
            "/redfish/v1/SessionService/Sessions/Members",
            RequestClass::SessionCreate,
        ),
        (
            Method::DELETE,
            "/redfish/v1/SessionService/Sessions/1",
            RequestClass::SessionDelete,
        ),
        (Method::GET, "/redfish/v1/Chassis/1", RequestClass::Other),
        (Method::GET, "/redfish/v1/$metadata", RequestClass::Other),
    ] {
        assert_eq!(Route::of_request(&method, path).class(&method), class, "{path}");
    }
}

proptest! {
    #[test]
    fn no_path_panics_and_a_slash_at_the_end_changes_nothing(path in "(/[A-Za-z0-9.$%-]{0,12}){0,8}") {
        prop_assume!(!path.ends_with('/'));
        prop_assert_eq!(Route::of(&path), Route::of(&format!("{path}/")));
    }

    #[test]
    fn any_text_is_some_route(path in "\\PC*") {
        let _ = Route::of_request(&Method::POST, &path);
    }

    #[test]
    fn ids_come_back_as_they_were_sent(id in "[A-Za-z0-9._-]{1,20}") {
        prop_assert_eq!(Route::of(&format!("/redfish/v1/Systems/{id}")), Route::System(id));
    }
}
