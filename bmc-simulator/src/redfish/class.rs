//! Which requests belong to a kind of request that matters to a power client.

use axum::http::Method;

use super::route::Route;
use crate::RequestClass;

/// Stands for one segment of a path in [`templates`].
pub(crate) const SEGMENT: char = '{';

/// The methods of its requests; none = any.
pub(crate) fn methods(class: RequestClass) -> &'static [&'static str] {
    match class {
        RequestClass::ServiceRoot | RequestClass::SystemCollection | RequestClass::SystemGet => {
            &["GET", "HEAD"]
        }
        RequestClass::Reset | RequestClass::SessionCreate => &["POST"],
        RequestClass::SessionDelete => &["DELETE"],
        RequestClass::Connect
        | RequestClass::Other
        | RequestClass::IpmiPing
        | RequestClass::IpmiDiscovery
        | RequestClass::IpmiCipherSuites
        | RequestClass::IpmiOpenSession
        | RequestClass::IpmiRakp1
        | RequestClass::IpmiRakp3
        | RequestClass::IpmiSetPrivilege
        | RequestClass::IpmiChassisStatus
        | RequestClass::IpmiChassisControl
        | RequestClass::IpmiCloseSession
        | RequestClass::IpmiOther => &[],
    }
}

/// The paths of its requests, without the slash that may end them; none = any.
pub(crate) fn templates(class: RequestClass) -> &'static [&'static str] {
    match class {
        RequestClass::ServiceRoot => &["/redfish", "/redfish/v1"],
        RequestClass::SystemCollection => &["/redfish/v1/Systems"],
        RequestClass::SystemGet => &["/redfish/v1/Systems/{"],
        RequestClass::Reset => &["/redfish/v1/Systems/{/Actions/ComputerSystem.Reset"],
        RequestClass::SessionCreate => &[
            "/redfish/v1/SessionService/Sessions",
            "/redfish/v1/SessionService/Sessions/Members",
            "/redfish/v1/Sessions",
            "/redfish/v1/Sessions/Members",
        ],
        RequestClass::SessionDelete => &["/redfish/v1/SessionService/Sessions/{", "/redfish/v1/Sessions/{"],
        RequestClass::Connect
        | RequestClass::Other
        | RequestClass::IpmiPing
        | RequestClass::IpmiDiscovery
        | RequestClass::IpmiCipherSuites
        | RequestClass::IpmiOpenSession
        | RequestClass::IpmiRakp1
        | RequestClass::IpmiRakp3
        | RequestClass::IpmiSetPrivilege
        | RequestClass::IpmiChassisStatus
        | RequestClass::IpmiChassisControl
        | RequestClass::IpmiCloseSession
        | RequestClass::IpmiOther => &[],
    }
}

/// The kind of one request; absent when no request has such a method, and where sessions may be or not,
/// as the host is set.
pub(crate) fn class_of(method: &str, path: &str) -> Option<RequestClass> {
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    let route = Route::of_request(&method, path);
    let placed = matches!(route, Route::Sessions | Route::Session(_));
    (!placed).then(|| route.class(&method))
}

/// Whether what is there is read without a login.
pub(crate) fn is_public(path: &str) -> bool {
    Route::of(path).is_public()
}

#[cfg(test)]
mod tests {
    use super::{Route, SEGMENT, class_of, methods, templates};
    use crate::RequestClass;

    #[test]
    fn methods_and_paths_are_those_that_requests_are_sorted_by() {
        let mut checked = 0;
        for class in RequestClass::ALL {
            for template in templates(class) {
                for method in methods(class) {
                    for end in ["", "/"] {
                        let path = format!("{}{end}", template.replace(SEGMENT, "1"));
                        let sorted = Route::of_request(&method.parse().unwrap(), &path);
                        assert_eq!(sorted.class(&method.parse().unwrap()), class, "{method} {path}");
                        checked += 1;
                    }
                }
                let path = template.replace(SEGMENT, "1");
                assert_ne!(class_of("PUT", &path), Some(class), "PUT {path}");
            }
        }
        assert_eq!(checked, 2 * (2 * 2 + 2 + 2 + 1 + 4 + 2));
    }
}
