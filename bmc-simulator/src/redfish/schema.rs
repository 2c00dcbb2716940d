//! The schemas (DMTF DSP8010) that the resources follow: types, `$metadata` and `JsonSchemas`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::body_of::{collection, resource};

/// Where DMTF publishes schema files.
const PUBLISHED: &str = "http://redfish.dmtf.org/schemas/v1";
pub(super) const SCHEMAS: &str = "/redfish/v1/JsonSchemas";

/// A schema and the version of it that is followed; collections have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schema {
    name: &'static str,
    version: Option<&'static str>,
}

const fn of(name: &'static str, version: &'static str) -> Schema {
    Schema {
        name,
        version: Some(version),
    }
}

const fn unversioned(name: &'static str) -> Schema {
    Schema { name, version: None }
}

pub(super) const SERVICE_ROOT: Schema = of("ServiceRoot", "v1_17_0");
pub(super) const SYSTEM: Schema = of("ComputerSystem", "v1_22_0");
pub(super) const SYSTEMS: Schema = unversioned("ComputerSystemCollection");
pub(super) const CHASSIS: Schema = of("Chassis", "v1_25_0");
pub(super) const ALL_CHASSIS: Schema = unversioned("ChassisCollection");
pub(super) const MANAGER: Schema = of("Manager", "v1_19_0");
pub(super) const MANAGERS: Schema = unversioned("ManagerCollection");
pub(super) const NETWORK_PROTOCOL: Schema = of("ManagerNetworkProtocol", "v1_10_0");
pub(super) const ETHERNET: Schema = of("EthernetInterface", "v1_12_0");
pub(super) const ETHERNETS: Schema = unversioned("EthernetInterfaceCollection");
pub(super) const SESSION_SERVICE: Schema = of("SessionService", "v1_1_9");
pub(super) const SESSION: Schema = of("Session", "v1_7_1");
pub(super) const SESSIONS: Schema = unversioned("SessionCollection");
pub(super) const ACCOUNT_SERVICE: Schema = of("AccountService", "v1_17_0");
pub(super) const ACCOUNT: Schema = of("ManagerAccount", "v1_13_0");
pub(super) const ACCOUNTS: Schema = unversioned("ManagerAccountCollection");
pub(super) const ROLE: Schema = of("Role", "v1_3_2");
pub(super) const ROLES: Schema = unversioned("RoleCollection");
pub(super) const TASK_SERVICE: Schema = of("TaskService", "v1_2_1");
pub(super) const TASK: Schema = of("Task", "v1_7_4");
pub(super) const TASKS: Schema = unversioned("TaskCollection");
pub(super) const EVENT_SERVICE: Schema = of("EventService", "v1_11_0");
pub(super) const SUBSCRIPTION: Schema = of("EventDestination", "v1_15_0");
pub(super) const SUBSCRIPTIONS: Schema = unversioned("EventDestinationCollection");
pub(super) const EVENT: Schema = of("Event", "v1_10_0");
pub(super) const REGISTRY_FILE: Schema = of("MessageRegistryFile", "v1_1_4");
pub(super) const REGISTRY_FILES: Schema = unversioned("MessageRegistryFileCollection");
pub(super) const REGISTRY: Schema = of("MessageRegistry", "v1_6_0");
pub(super) const SCHEMA_FILE: Schema = of("JsonSchemaFile", "v1_1_4");
pub(super) const SCHEMA_FILES: Schema = unversioned("JsonSchemaFileCollection");
pub(super) const BIOS: Schema = of("Bios", "v1_2_0");
pub(super) const UPDATE_SERVICE: Schema = of("UpdateService", "v1_14_0");
pub(super) const FIRMWARE: Schema = of("SoftwareInventory", "v1_10_0");
pub(super) const FIRMWARE_ALL: Schema = unversioned("SoftwareInventoryCollection");
pub(super) const ACTION_INFO: Schema = of("ActionInfo", "v1_4_0");
pub(super) const LOG_SERVICE: Schema = of("LogService", "v1_6_0");
pub(super) const LOG_SERVICES: Schema = unversioned("LogServiceCollection");
pub(super) const LOG_ENTRY: Schema = of("LogEntry", "v1_16_1");
pub(super) const LOG_ENTRIES: Schema = unversioned("LogEntryCollection");
pub(super) const MESSAGE: Schema = of("Message", "v1_2_0");

/// Every schema that an answer can follow.
const ALL: [Schema; 40] = [
    LOG_SERVICE,
    LOG_SERVICES,
    LOG_ENTRY,
    LOG_ENTRIES,
    SERVICE_ROOT,
    SYSTEM,
    SYSTEMS,
    CHASSIS,
    ALL_CHASSIS,
    MANAGER,
    MANAGERS,
    NETWORK_PROTOCOL,
    ETHERNET,
    ETHERNETS,
    SESSION_SERVICE,
    SESSION,
    SESSIONS,
    ACCOUNT_SERVICE,
    ACCOUNT,
    ACCOUNTS,
    ROLE,
    ROLES,
    TASK_SERVICE,
    TASK,
    TASKS,
    EVENT_SERVICE,
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    EVENT,
    REGISTRY_FILE,
    REGISTRY_FILES,
    REGISTRY,
    SCHEMA_FILE,
    SCHEMA_FILES,
    BIOS,
    UPDATE_SERVICE,
    FIRMWARE,
    FIRMWARE_ALL,
    ACTION_INFO,
    MESSAGE,
];

impl Schema {
    /// `ComputerSystem.v1_22_0`, or the bare name of a collection.
    fn id(self) -> String {
        match self.version {
            Some(version) => format!("{}.{version}", self.name),
            None => self.name.to_owned(),
        }
    }

    /// Value of `@odata.type`.
    pub(super) fn odata_type(self) -> String {
        format!("#{}.{}", self.id(), self.name)
    }
}

/// Value of the header `Link` for a resource of this `@odata.type` (DSP0266, "Response headers").
pub(super) fn link(odata_type: &str) -> Option<String> {
    let (id, _) = odata_type.strip_prefix('#')?.rsplit_once('.')?;
    Some(format!("<{PUBLISHED}/{id}.json>; rel=describedby"))
}

/// `/redfish/v1/JsonSchemas`.
pub(super) fn files() -> Value {
    let ids = ALL.iter().map(|schema| format!("{SCHEMAS}/{}", schema.id()));
    collection(SCHEMA_FILES, SCHEMAS, "JSON Schema File Collection", ids)
}

/// `/redfish/v1/JsonSchemas/{id}`: only where DMTF publishes the file, which is not repeated here.
pub(super) fn file(id: &str) -> Option<Value> {
    let schema = ALL.iter().find(|schema| schema.id() == id)?;
    let name = format!("{} Schema File", schema.name);
    Some(resource(
        SCHEMA_FILE,
        &format!("{SCHEMAS}/{id}"),
        id,
        &name,
        json!({
            "Languages": ["en"],
            "Schema": schema.odata_type(),
            "Location": [{"Language": "en", "PublicationUri": format!("{PUBLISHED}/{id}.json")}],
        }),
    ))
}

/// `/redfish/v1/$metadata`: the OData metadata document (DSP0266, "OData metadata"), one for all BMCs.
pub(super) static METADATA: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <edmx:Edmx xmlns:edmx=\"http://docs.oasis-open.org/odata/ns/edmx\" Version=\"4.0\">\n",
    );
    for schema in ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  <edmx:Reference Uri=\"{PUBLISHED}/{0}_v1.xml\">\n    <edmx:Include Namespace=\"{0}\"/>",
            schema.name
        );
        if schema.version.is_some() {
            let _ = writeln!(text, "    <edmx:Include Namespace=\"{}\"/>", schema.id());
        }
        text.push_str("  </edmx:Reference>\n");
    }
    for (file, namespace, alias) in [
        ("Resource_v1.xml", "Resource", ""),
        ("Resource_v1.xml", "Resource.v1_0_0", ""),
        (
            "RedfishExtensions_v1.xml",
            "RedfishExtensions.v1_0_0",
            " Alias=\"Redfish\"",
        ),
    ] {
        let _ = writeln!(
            text,
            "  <edmx:Reference Uri=\"{PUBLISHED}/{file}\">\n    <edmx:Include Namespace=\"{namespace}\"{alias}/>\n  </edmx:Reference>"
        );
    }
    let _ = write!(
        text,
        "  <edmx:DataServices>\n    \
             <Schema xmlns=\"http://docs.oasis-open.org/odata/ns/edm\" Namespace=\"Service\">\n      \
               <EntityContainer Name=\"Service\" Extends=\"{}.ServiceContainer\"/>\n    \
             </Schema>\n  \
           </edmx:DataServices>\n</edmx:Edmx>\n",
        SERVICE_ROOT.id()
    );
    text
});

#[cfg(test)]
mod tests {
    use super::{ALL, METADATA, file, link};

    #[test]
    fn links_name_the_published_schema() {
        let published = "<http://redfish.dmtf.org/schemas/v1/Role.v1_3_2.json>; rel=describedby";
        assert_eq!(link("#Role.v1_3_2.Role").as_deref(), Some(published));
        assert_eq!(link("Role"), None);
    }

    #[test]
    fn every_schema_is_in_the_metadata_and_has_a_file() {
        for schema in ALL {
            let include = format!("<edmx:Include Namespace=\"{}\"/>", schema.id());
            assert!(METADATA.contains(&include), "{include}");
            assert!(file(&schema.id()).is_some(), "{}", schema.id());
        }
    }
}
