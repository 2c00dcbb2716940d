//! The message registries as resources: only the messages that are sent, in our wording.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::Definition;
use super::base::{self, Base};
use super::event::{self, ResourceEvent, TaskEvent};
use crate::redfish::body_of::{collection, resource};
use crate::redfish::schema;

pub(in crate::redfish) const REGISTRIES: &str = "/redfish/v1/Registries";

/// One registry: its id, and the whole document, which is the same for all BMCs.
struct Registry {
    id: &'static str,
    document: LazyLock<Value>,
}

static ALL: [Registry; 3] = [
    Registry {
        id: base::PREFIX,
        document: LazyLock::new(|| {
            let messages = Base::ALL.iter().map(|message| message.definition());
            build(base::PREFIX, "0", "Base Message Registry", messages)
        }),
    },
    Registry {
        id: event::RESOURCE_PREFIX,
        document: LazyLock::new(|| {
            let messages = ResourceEvent::ALL.into_iter().map(ResourceEvent::definition);
            build(
                event::RESOURCE_PREFIX,
                "0",
                "Resource Event Message Registry",
                messages,
            )
        }),
    },
    Registry {
        id: event::TASK_PREFIX,
        document: LazyLock::new(|| {
            let messages = TaskEvent::ALL.into_iter().map(TaskEvent::definition);
            build(event::TASK_PREFIX, "3", "Task Event Message Registry", messages)
        }),
    },
];

fn find(id: &str) -> Option<&'static Registry> {
    ALL.iter().find(|registry| registry.id == id)
}

/// `/redfish/v1/Registries`.
pub(in crate::redfish) fn files() -> Value {
    let uris = ALL.iter().map(|registry| format!("{REGISTRIES}/{}", registry.id));
    collection(
        schema::REGISTRY_FILES,
        REGISTRIES,
        "Message Registry File Collection",
        uris,
    )
}

/// `/redfish/v1/Registries/{id}`: where the registry is.
pub(in crate::redfish) fn file(id: &str) -> Option<Value> {
    let id = find(id)?.id;
    let uri = format!("{REGISTRIES}/{id}");
    let place = json!([{"Language": "en", "Uri": format!("{uri}/{id}.json")}]);
    Some(resource(
        schema::REGISTRY_FILE,
        &uri,
        id,
        &format!("{id} Message Registry File"),
        json!({"Languages": ["en"], "Registry": id, "Location": place}),
    ))
}

/// `/redfish/v1/Registries/{id}/{id}.json`: the registry itself.
pub(in crate::redfish) fn document(id: &str) -> Option<&'static Value> {
    Some(&*find(id)?.document)
}

fn build(prefix: &str, errata: &str, name: &str, definitions: impl Iterator<Item = Definition>) -> Value {
    let (registry, version) = prefix.split_once('.').unwrap_or((prefix, ""));
    let messages: Map<String, Value> = definitions
        .map(|definition| (definition.key.to_owned(), entry(&definition)))
        .collect();
    json!({
        "@odata.type": schema::REGISTRY.odata_type(),
        "Id": format!("{prefix}.{errata}"),
        "Name": name,
        "Description": "The messages that this service sends, in its own wording.",
        "Language": "en",
        "RegistryPrefix": registry,
        "RegistryVersion": format!("{version}.{errata}"),
        "OwningEntity": "DMTF",
        "Messages": messages,
    })
}

fn entry(definition: &Definition) -> Value {
    let mut entry = json!({
        "Description": definition.text,
        "Message": definition.text,
        "MessageSeverity": definition.severity.as_str(),
        "NumberOfArgs": definition.arguments(),
        "Resolution": definition.resolution,
    });
    let kinds = vec!["string"; definition.arguments()];
    if !kinds.is_empty() {
        crate::redfish::body_of::set(&mut entry, "ParamTypes", json!(kinds));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::{ALL, Base, document};

    #[test]
    fn every_message_that_is_sent_is_defined_with_its_arguments() {
        for message in Base::ALL {
            let definition = message.definition();
            let path = format!("/Messages/{}/NumberOfArgs", definition.key);
            let count = document("Base.1.19").and_then(|whole| whole.pointer(&path));
            let count = count.and_then(serde_json::Value::as_u64);
            assert_eq!(count, u64::try_from(definition.arguments()).ok(), "{path}");
        }
        assert_eq!(ALL.len(), 3);
        assert!(document("Base.1.0").is_none());
    }
}
