//! The frame that every resource and every collection has (DSP0266, "Resource payload").

use serde_json::{Value, json};

use super::schema::Schema;

/// A resource: the properties that all have, and its own.
pub(super) fn resource(schema: Schema, uri: &str, id: &str, name: &str, own: Value) -> Value {
    let mut whole = json!({
        "@odata.id": uri,
        "@odata.type": schema.odata_type(),
        "Id": id,
        "Name": name,
    });
    if let (Value::Object(whole), Value::Object(own)) = (&mut whole, own) {
        whole.extend(own);
    }
    whole
}

/// A collection of the resources at these URIs.
pub(super) fn collection(
    schema: Schema,
    uri: &str,
    name: &str,
    members: impl Iterator<Item = String>,
) -> Value {
    let members: Vec<Value> = members.map(|member| reference(&member)).collect();
    json!({
        "@odata.id": uri,
        "@odata.type": schema.odata_type(),
        "Name": name,
        "Members@odata.count": members.len(),
        "Members": members,
    })
}

/// A link to another resource.
pub(super) fn reference(uri: &str) -> Value {
    json!({"@odata.id": uri})
}

/// Sets a property of an object; anything else is left alone.
pub(super) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
