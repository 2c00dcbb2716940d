//! `$expand`: resources in place of links to them.

use serde_json::Value;

/// Deepest expansion, as `ProtocolFeaturesSupported` says.
pub(in crate::redfish) const MAX_LEVELS: u8 = 3;

/// Which links are expanded, and how deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) struct Expand {
    /// Links to subordinate resources: those outside of `Links`.
    pub(in crate::redfish) subordinate: bool,
    /// Links within `Links`.
    pub(in crate::redfish) links: bool,
    /// 1 = what the resource itself links to.
    pub(in crate::redfish) levels: u8,
}

impl Expand {
    /// `*`, `.` or `~`, perhaps with `($levels=N)`.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let mut characters = value.chars();
        let (subordinate, links) = match characters.next()? {
            '*' => (true, true),
            '.' => (true, false),
            '~' => (false, true),
            _ => return None,
        };
        let levels = match characters.as_str() {
            "" => 1,
            given => given.strip_prefix("($levels=")?.strip_suffix(')')?.parse().ok()?,
        };
        Some(Self {
            subordinate,
            links,
            levels,
        })
    }

    fn deeper(self) -> Option<Self> {
        let levels = self.levels.checked_sub(1)?;
        Some(Self { levels, ..self })
    }
}

/// Replaces links in `body` by what `read` finds at them; a link to nothing that is served stays.
pub(in crate::redfish) fn expand(
    body: &mut Value,
    how: Expand,
    read: &mut impl FnMut(&str) -> Option<Value>,
) {
    let Some(deeper) = how.deeper() else {
        return;
    };
    let Value::Object(properties) = body else {
        return;
    };
    for (name, value) in properties.iter_mut() {
        let wanted = if name == "Links" {
            how.links
        } else {
            how.subordinate
        };
        // An annotation such as `@Redfish.Settings` or an action is no link to a resource.
        if wanted && name != "Actions" && !name.starts_with('@') {
            replace(value, deeper, read);
        }
    }
}

fn replace(value: &mut Value, deeper: Expand, read: &mut impl FnMut(&str) -> Option<Value>) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, deeper, read)),
        Value::Object(properties) => {
            let link = (properties.len() == 1)
                .then(|| properties.get("@odata.id"))
                .flatten();
            let found = link.and_then(Value::as_str).and_then(&mut *read);
            match found {
                Some(mut resource) => {
                    expand(&mut resource, deeper, read);
                    *value = resource;
                }
                None => properties
                    .values_mut()
                    .for_each(|value| replace(value, deeper, read)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Expand, expand};
    use serde_json::{Value, json};

    fn read(uri: &str) -> Option<Value> {
        match uri {
            "/a" => Some(json!({"@odata.id": "/a", "Id": "a", "Below": {"@odata.id": "/b"}})),
            "/b" => Some(json!({"@odata.id": "/b", "Id": "b"})),
            _ => None,
        }
    }

    fn expanded(how: &str) -> Value {
        let mut body = json!({
            "@odata.id": "/root",
            "Members": [{"@odata.id": "/a"}, {"@odata.id": "/nothing"}],
            "Links": {"Other": {"@odata.id": "/b"}},
        });
        expand(&mut body, Expand::parse(how).unwrap(), &mut read);
        body
    }

    #[test]
    fn each_kind_expands_its_links_only() {
        let below = expanded(".");
        assert_eq!(below["Members"][0]["Id"], "a");
        assert_eq!(below["Members"][1], json!({"@odata.id": "/nothing"}));
        assert_eq!(below["Links"]["Other"], json!({"@odata.id": "/b"}));
        let links = expanded("~");
        assert_eq!(links["Members"][0], json!({"@odata.id": "/a"}));
        assert_eq!(links["Links"]["Other"]["Id"], "b");
    }

    #[test]
    fn levels_end_where_they_say() {
        assert_eq!(expanded("*")["Members"][0]["Below"], json!({"@odata.id": "/b"}));
        assert_eq!(expanded("*($levels=2)")["Members"][0]["Below"]["Id"], "b");
    }
}
