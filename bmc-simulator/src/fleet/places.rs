//! Where each field of a fleet file stands, for mistakes that show only when all of a host is looked at.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{FleetError, yaml};

/// Something that is wrong with one host of a group.
#[derive(Debug)]
pub(super) struct Flaw {
    /// The field of the host, such as `redfish.sessionLimit` or `machines[1].id`.
    field: String,
    /// Why, and what to write instead.
    reason: String,
}

impl Flaw {
    pub(super) fn of(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
        }
    }

    /// The error of the file `text`, in the group of this number, whose name is told where neither it nor the
    /// defaults say anything of the field.
    pub(super) fn placed(self, text: &str, group: usize, name: &Spanned<String>) -> FleetError {
        let Self { field, reason } = self;
        let own = format!("hosts[{group}]");
        let (part, place) = find(text, group, &field).unwrap_or((own, name.referenced));
        FleetError::at(place, format!("{part}.{field}: {reason}"))
    }
}

/// Where the field stands, in the group or in the defaults: in whichever there is more of the way to it, for
/// what a group does not say of a block is the defaults'.
fn find(text: &str, group: usize, field: &str) -> Option<(String, Location)> {
    // It was read before, so this fails for no reason that would be worth telling.
    let file: Node = serde_saphyr::from_str_with_options(text, yaml()).ok()?;
    let (hosts, _) = file.child("hosts")?;
    let own = hosts.element(group).and_then(|(own, _)| own.deepest(field));
    let usual = file.child("defaults").and_then(|(usual, _)| usual.deepest(field));
    let (own_steps, usual_steps) = (steps(own), steps(usual));
    let (part, found) = if own_steps >= usual_steps {
        (format!("hosts[{group}]"), own)
    } else {
        ("defaults".to_owned(), usual)
    };
    found.map(|(_, place)| (part, place))
}

fn steps(found: Option<(usize, Location)>) -> usize {
    found.map_or(0, |(steps, _)| steps)
}

/// A part of a file, with the places of what is in it.
#[derive(Debug, Default)]
enum Node {
    Map(Vec<(String, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    #[default]
    Leaf,
}

impl Node {
    fn child(&self, name: &str) -> Option<(&Self, Location)> {
        let Self::Map(children) = self else {
            return None;
        };
        let (_, child) = children.iter().find(|(own, _)| own == name)?;
        Some((&child.value, child.referenced))
    }

    fn element(&self, index: usize) -> Option<(&Self, Location)> {
        let Self::List(elements) = self else {
            return None;
        };
        let element = elements.get(index)?;
        Some((&element.value, element.referenced))
    }

    /// The place of a field, or of as much of the way to it as there is, and how many steps of the way that
    /// are; `None` when there is nothing.
    fn deepest(&self, field: &str) -> Option<(usize, Location)> {
        let (mut here, mut place) = (self, None);
        for (before, step) in field.split(['.', '[']).enumerate() {
            let next = match step.strip_suffix(']') {
                Some(index) => index.parse().ok().and_then(|index| here.element(index)),
                None => here.child(step),
            };
            let Some((below, at)) = next else {
                break;
            };
            (here, place) = (below, Some((before.saturating_add(1), at)));
        }
        place
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut children = Vec::new();
        while let Some(child) = map.next_entry()? {
            children.push(child);
        }
        Ok(Node::Map(children))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(Node::List(elements))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    const FILE: &str = "
defaults:
  username: x
  redfish:
    sessionLimit: 1
    etags: weak
hosts:
  - name: a
    redfish: {sessionTimeout: 5m,
              sessionLimit: 0}
  - name: b
    machines:
      - id: Node0
      - {id: ~, delays: {off: 1.5}}
";

    #[test]
    fn finds_the_field_or_what_comes_nearest() {
        for (group, field, line) in [
            (0, "redfish.sessionLimit", Some(("hosts[0]", 10))),
            (0, "redfish.sessionTimeout", Some(("hosts[0]", 9))),
            (0, "redfish.etags", Some(("defaults", 6))),
            (0, "redfish.other", Some(("hosts[0]", 9))),
            (0, "username", Some(("defaults", 3))),
            (1, "redfish.sessionLimit", Some(("defaults", 5))),
            (1, "machines[1].id", Some(("hosts[1]", 14))),
            (1, "machines[1].delays.off", Some(("hosts[1]", 14))),
            (1, "machines[7].id", Some(("hosts[1]", 13))),
            (1, "address", None),
            (7, "username", Some(("defaults", 3))),
        ] {
            let found = find(FILE, group, field);
            let found = found.as_ref().map(|(part, place)| (part.as_str(), place.line()));
            assert_eq!(found, line, "{group} {field}");
        }
        assert_eq!(find("[", 0, "name"), None);
    }
}
