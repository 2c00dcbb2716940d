//! `$select`: only some properties.

use serde_json::{Map, Value};

/// What a selection always keeps (DSP0266, "The $select query parameter").
const ALWAYS: [&str; 5] = [
    "@odata.id",
    "@odata.type",
    "@odata.context",
    "@odata.etag",
    "@Message.ExtendedInfo",
];

/// Keeps the properties on these paths. In a collection the paths are those of its members where they
/// are expanded.
pub(in crate::redfish) fn select(body: &mut Value, paths: &[Vec<String>]) {
    let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
    prune(body, &paths);
}

fn prune(value: &mut Value, paths: &[&[String]]) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| prune(value, paths)),
        Value::Object(properties) => keep(properties, paths),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keep(properties: &mut Map<String, Value>, paths: &[&[String]]) {
    let collection = properties.contains_key("Members@odata.count");
    properties.retain(|name, value| {
        if ALWAYS.contains(&name.as_str()) {
            return true;
        }
        if collection && name.starts_with("Members") {
            prune(value, paths);
            return true;
        }
        // `Members@odata.count` and its like go with the property that they annotate.
        let property = name.split('@').next().unwrap_or_default();
        let below: Vec<&[String]> = paths
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| *first == name || *first == property)
            .map(|(_, rest)| rest)
            .collect();
        if !below.is_empty() && below.iter().all(|rest| !rest.is_empty()) {
            prune(value, &below);
        }
        !below.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::select;
    use serde_json::json;

    #[test]
    fn keeps_what_is_named_and_what_is_always_kept() {
        let mut body = json!({
            "@odata.id": "/x", "@odata.etag": "\"1\"", "Name": "n", "Id": "i",
            "Status": {"State": "Enabled", "Health": "OK"},
            "ResetType@Redfish.AllowableValues": ["On"],
        });
        let paths = [
            vec!["Status".to_owned(), "State".to_owned()],
            vec!["Name".to_owned()],
        ];
        select(&mut body, &paths);
        let expected = json!({
            "@odata.id": "/x", "@odata.etag": "\"1\"", "Name": "n", "Status": {"State": "Enabled"},
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn reaches_into_expanded_members() {
        let mut body = json!({
            "@odata.id": "/c", "Name": "c", "Members@odata.count": 1,
            "Members": [{"@odata.id": "/c/1", "Name": "one", "PowerState": "On"}],
        });
        select(&mut body, &[vec!["PowerState".to_owned()]]);
        let expected = json!({
            "@odata.id": "/c", "Members@odata.count": 1,
            "Members": [{"@odata.id": "/c/1", "PowerState": "On"}],
        });
        assert_eq!(body, expected);
    }
}
