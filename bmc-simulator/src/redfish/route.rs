//! From method and path to what is meant.

use axum::http::Method;

use crate::counters::RequestClass;

/// A resource of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    Versions,
    ServiceRoot,
    Systems,
    System(String),
    Reset(String),
    SessionService,
    Sessions,
    Session(String),
    Unknown,
}

impl Route {
    /// Reads a path; one slash at the end is allowed (DSP0266 section 6.5).
    pub(super) fn of(path: &str) -> Self {
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<&str> = path.split('/').collect();
        match segments.as_slice() {
            ["", "redfish"] => Self::Versions,
            ["", "redfish", "v1", below @ ..] => Self::below_root(below),
            _ => Self::Unknown,
        }
    }

    fn below_root(segments: &[&str]) -> Self {
        match segments {
            [] => Self::ServiceRoot,
            ["Systems"] => Self::Systems,
            ["Systems", id] => Self::System((*id).to_owned()),
            ["Systems", id, "Actions", "ComputerSystem.Reset"] => Self::Reset((*id).to_owned()),
            ["SessionService"] => Self::SessionService,
            ["SessionService", "Sessions"] => Self::Sessions,
            ["SessionService", "Sessions", id] => Self::Session((*id).to_owned()),
            _ => Self::Unknown,
        }
    }

    /// The kind of request for counters and faults.
    pub(super) fn class(&self, method: &Method) -> RequestClass {
        let read = method == Method::GET || method == Method::HEAD;
        match self {
            Self::Versions | Self::ServiceRoot if read => RequestClass::ServiceRoot,
            Self::Systems if read => RequestClass::SystemCollection,
            Self::System(_) if read => RequestClass::SystemGet,
            Self::Reset(_) if method == Method::POST => RequestClass::Reset,
            Self::Sessions if method == Method::POST => RequestClass::SessionCreate,
            Self::Session(_) if method == Method::DELETE => RequestClass::SessionDelete,
            Self::Versions
            | Self::ServiceRoot
            | Self::Systems
            | Self::System(_)
            | Self::Reset(_)
            | Self::SessionService
            | Self::Sessions
            | Self::Session(_)
            | Self::Unknown => RequestClass::Other,
        }
    }

    /// Whether it is read without a login (DSP0266 section 13.3).
    pub(super) fn is_public(&self) -> bool {
        matches!(self, Self::Versions | Self::ServiceRoot)
    }

    /// Value of the `Allow` header.
    pub(super) fn allow(&self) -> &'static str {
        match self {
            Self::Versions
            | Self::ServiceRoot
            | Self::Systems
            | Self::System(_)
            | Self::SessionService
            | Self::Unknown => "GET, HEAD",
            Self::Reset(_) => "POST",
            Self::Sessions => "GET, HEAD, POST",
            Self::Session(_) => "GET, HEAD, DELETE",
        }
    }

    pub(super) fn method_allowed(&self, method: &Method) -> bool {
        *self == Self::Unknown || self.allow().split(", ").any(|allowed| allowed == method.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Route;

    #[test]
    fn reads_paths_and_refuses_look_alikes() {
        assert_eq!(Route::of("/redfish"), Route::Versions);
        assert_eq!(Route::of("/redfish/v1/"), Route::ServiceRoot);
        assert_eq!(Route::of("/redfish/v1/Systems/a"), Route::System("a".to_owned()));
        let reset = "/redfish/v1/Systems/a/Actions/ComputerSystem.Reset";
        assert_eq!(Route::of(reset), Route::Reset("a".to_owned()));
        for path in [
            "/",
            "/redfishv1",
            "/redfish/v1//Systems",
            "/redfish/v1/systems",
            "/x/redfish/v1",
        ] {
            assert_eq!(Route::of(path), Route::Unknown, "{path}");
        }
    }
}
