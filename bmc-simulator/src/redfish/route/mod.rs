//! From method and path to what is meant.

use axum::http::Method;

use super::oem::OemAction;
use crate::counters::RequestClass;

/// A resource of the service. Identifiers are as they were sent; whether there is such a resource is
/// its renderer's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    Versions,
    ServiceRoot,
    Odata,
    Metadata,
    Systems,
    System(String),
    Reset(String),
    ResetInfo(String),
    /// An action of a vendor, and the id of what it is about.
    Oem(OemAction, String),
    Bios(String),
    BiosSettings(String),
    LogServices(String),
    Log(String),
    LogEntries(String),
    LogEntry(String, u64),
    AllChassis,
    Chassis(String),
    Managers,
    Manager(String),
    ManagerReset(String),
    NetworkProtocol(String),
    Ethernets(String),
    Ethernet(String, String),
    SessionService,
    Sessions,
    Session(String),
    /// Where sessions usually are and this BMC has none: it knows no method.
    NoSessions,
    AccountService,
    Accounts,
    Account(u64),
    Roles,
    Role(String),
    TaskService,
    Tasks,
    Task(u64),
    TaskMonitor(u64),
    EventService,
    EventStream,
    SubmitTestEvent,
    Subscriptions,
    Subscription(u64),
    UpdateService,
    FirmwareInventory,
    Firmware(String),
    Registries,
    Registry(String),
    RegistryDocument(String),
    Schemas,
    Schema(String),
    Unknown,
}

impl Route {
    /// Reads a path; one slash at the end is allowed (DSP0266, "Redfish-defined URIs").
    pub(super) fn of(path: &str) -> Self {
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<&str> = path.split('/').collect();
        match segments.as_slice() {
            ["", "redfish"] => Self::Versions,
            ["", "redfish", "v1", below @ ..] => Self::below_root(below),
            _ => Self::Unknown,
        }
    }

    /// As [`of`](Self::of), where a POST to the members of a collection is one to the collection
    /// (DSP0266, "POST (create)").
    pub(super) fn of_request(method: &Method, path: &str) -> Self {
        let trimmed = path.strip_suffix('/').unwrap_or(path);
        let collection = trimmed.strip_suffix("/Members").map(Self::of);
        collection
            .filter(|route| method == Method::POST && route.method_allowed(method))
            .filter(|route| *route != Self::Unknown)
            .unwrap_or_else(|| Self::of(path))
    }

    fn below_root(segments: &[&str]) -> Self {
        let text = |id: &&str| (*id).to_owned();
        match segments {
            [] => Self::ServiceRoot,
            ["odata"] => Self::Odata,
            ["$metadata"] => Self::Metadata,
            ["Systems"] => Self::Systems,
            ["Systems", id] => Self::System(text(id)),
            ["Systems", id, "Actions", "ComputerSystem.Reset"] => Self::Reset(text(id)),
            ["Systems", id, "ResetActionInfo"] => Self::ResetInfo(text(id)),
            ["Systems", id, "Actions", "Oem", action @ ..] => {
                OemAction::of_system(action).map_or(Self::Unknown, |action| Self::Oem(action, text(id)))
            }
            ["Systems", id, "Bios"] => Self::Bios(text(id)),
            ["Systems", id, "Bios", "Settings"] => Self::BiosSettings(text(id)),
            ["Systems", id, "LogServices"] => Self::LogServices(text(id)),
            ["Systems", id, "LogServices", "SEL"] => Self::Log(text(id)),
            ["Systems", id, "LogServices", "SEL", "Entries"] => Self::LogEntries(text(id)),
            ["Systems", id, "LogServices", "SEL", "Entries", entry] => {
                number(entry).map_or(Self::Unknown, |entry| Self::LogEntry(text(id), entry))
            }
            ["Chassis"] => Self::AllChassis,
            ["Chassis", id, "Actions", "Oem", action @ ..] => {
                OemAction::of_chassis(action).map_or(Self::Unknown, |action| Self::Oem(action, text(id)))
            }
            ["Chassis", id] => Self::Chassis(text(id)),
            ["Managers"] => Self::Managers,
            ["Managers", id, below @ ..] => Self::below_manager(text(id), below),
            ["SessionService"] => Self::SessionService,
            ["SessionService", "Sessions"] | ["Sessions"] => Self::Sessions,
            ["SessionService", "Sessions", id] | ["Sessions", id] => Self::Session(text(id)),
            _ => Self::of_service(segments),
        }
    }

    fn below_manager(id: String, segments: &[&str]) -> Self {
        match segments {
            [] => Self::Manager(id),
            ["Actions", "Manager.Reset"] => Self::ManagerReset(id),
            ["NetworkProtocol"] => Self::NetworkProtocol(id),
            ["EthernetInterfaces"] => Self::Ethernets(id),
            ["EthernetInterfaces", interface] => Self::Ethernet(id, (*interface).to_owned()),
            _ => Self::Unknown,
        }
    }

    fn of_service(segments: &[&str]) -> Self {
        let numbered = |id: &str, route: fn(u64) -> Self| number(id).map_or(Self::Unknown, route);
        match segments {
            ["AccountService"] => Self::AccountService,
            ["AccountService", "Accounts"] => Self::Accounts,
            ["AccountService", "Accounts", id] => numbered(id, Self::Account),
            ["AccountService", "Roles"] => Self::Roles,
            ["AccountService", "Roles", id] => Self::Role((*id).to_owned()),
            ["TaskService"] => Self::TaskService,
            ["TaskService", "Tasks"] => Self::Tasks,
            ["TaskService", "Tasks", id] => numbered(id, Self::Task),
            ["TaskService", "TaskMonitors", id] => numbered(id, Self::TaskMonitor),
            ["EventService"] => Self::EventService,
            ["EventService", "SSE"] => Self::EventStream,
            ["EventService", "Actions", "EventService.SubmitTestEvent"] => Self::SubmitTestEvent,
            ["EventService", "Subscriptions"] => Self::Subscriptions,
            ["EventService", "Subscriptions", id] => numbered(id, Self::Subscription),
            ["UpdateService"] => Self::UpdateService,
            ["UpdateService", "FirmwareInventory"] => Self::FirmwareInventory,
            ["UpdateService", "FirmwareInventory", id] => Self::Firmware((*id).to_owned()),
            ["Registries"] => Self::Registries,
            ["Registries", id] => Self::Registry((*id).to_owned()),
            ["Registries", id, file] if file.strip_suffix(".json") == Some(id) => {
                Self::RegistryDocument((*id).to_owned())
            }
            ["JsonSchemas"] => Self::Schemas,
            ["JsonSchemas", id] => Self::Schema((*id).to_owned()),
            _ => Self::Unknown,
        }
    }

    /// The kind of request for counters and faults.
    pub(super) fn class(&self, method: &Method) -> RequestClass {
        let read = method == Method::GET || method == Method::HEAD;
        if read && matches!(self, Self::Versions | Self::ServiceRoot) {
            RequestClass::ServiceRoot
        } else if read && *self == Self::Systems {
            RequestClass::SystemCollection
        } else if read && matches!(self, Self::System(_)) {
            RequestClass::SystemGet
        } else if method == Method::POST && matches!(self, Self::Reset(_)) {
            RequestClass::Reset
        } else if method == Method::POST && *self == Self::Sessions {
            RequestClass::SessionCreate
        } else if method == Method::DELETE && matches!(self, Self::Session(_)) {
            RequestClass::SessionDelete
        } else {
            RequestClass::Other
        }
    }

    /// The system that it is about.
    pub(super) fn system(&self) -> Option<&str> {
        if let Self::System(id)
        | Self::Reset(id)
        | Self::ResetInfo(id)
        | Self::Bios(id)
        | Self::BiosSettings(id) = self
        {
            Some(id)
        } else {
            None
        }
    }

    /// Whether it is read without a login (DSP0266, "Authentication requirements").
    pub(super) fn is_public(&self) -> bool {
        matches!(
            self,
            Self::Versions | Self::ServiceRoot | Self::Odata | Self::Metadata
        )
    }

    /// Value of the `Allow` header.
    pub(super) fn allow(&self) -> &'static str {
        match self {
            Self::Reset(_) | Self::Oem(..) | Self::ManagerReset(_) | Self::SubmitTestEvent => "POST",
            Self::EventStream => "GET",
            Self::NoSessions => "",
            Self::Sessions | Self::Accounts | Self::Subscriptions => "GET, HEAD, POST",
            Self::Session(_) | Self::Task(_) => "GET, HEAD, DELETE",
            Self::Account(_) | Self::Subscription(_) => "GET, HEAD, PATCH, DELETE",
            Self::System(_)
            | Self::BiosSettings(_)
            | Self::NetworkProtocol(_)
            | Self::SessionService
            | Self::AccountService
            | Self::EventService => "GET, HEAD, PATCH",
            Self::Versions
            | Self::ServiceRoot
            | Self::Odata
            | Self::Metadata
            | Self::Systems
            | Self::ResetInfo(_)
            | Self::Bios(_)
            | Self::UpdateService
            | Self::FirmwareInventory
            | Self::Firmware(_)
            | Self::LogServices(_)
            | Self::Log(_)
            | Self::LogEntries(_)
            | Self::LogEntry(..)
            | Self::AllChassis
            | Self::Chassis(_)
            | Self::Managers
            | Self::Manager(_)
            | Self::Ethernets(_)
            | Self::Ethernet(..)
            | Self::Roles
            | Self::Role(_)
            | Self::TaskService
            | Self::Tasks
            | Self::TaskMonitor(_)
            | Self::Registries
            | Self::Registry(_)
            | Self::RegistryDocument(_)
            | Self::Schemas
            | Self::Schema(_)
            | Self::Unknown => "GET, HEAD",
        }
    }

    pub(super) fn method_allowed(&self, method: &Method) -> bool {
        *self == Self::Unknown || self.allow().split(", ").any(|allowed| allowed == method.as_str())
    }
}

/// A number written in the one way in which we write it.
fn number(text: &str) -> Option<u64> {
    text.parse()
        .ok()
        .filter(|number: &u64| number.to_string() == text)
}

#[cfg(test)]
mod tests;
