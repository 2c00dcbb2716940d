//! Label selectors, read as strictly as Kubernetes reads them.
//!
//! Sources: apimachinery `pkg/apis/meta/v1/helpers.go` (`LabelSelectorAsSelector`), `pkg/labels/selector.go`
//! (`NewRequirement`, `Matches`), `pkg/util/validation/validation.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::Problem;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A selector as it stands in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawSelector {
    /// `matchLabels`.
    pub match_labels: BTreeMap<String, String>,
    /// `matchExpressions`.
    pub match_expressions: Vec<RawRequirement>,
}

/// One of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequirement {
    /// Label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// For `In` and `NotIn` at least one, for the others none.
    pub values: Vec<String>,
}

/// A selector that can be understood. All of its requirements have to be met; without any it selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Test {
    In(BTreeSet<String>),
    /// Met by an object without the label, too.
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    /// What of a selector can be understood, and what is wrong with the rest.
    pub(crate) fn read(raw: &RawSelector) -> (Self, Vec<Problem>) {
        let labels = raw.match_labels.iter();
        let labels = labels.map(|(key, value)| Requirement::read(key, "In", std::slice::from_ref(value)));
        let expressions = raw.match_expressions.iter();
        let expressions = expressions.map(|one| Requirement::read(&one.key, &one.operator, &one.values));
        let mut selector = Self::default();
        let mut problems = Vec::new();
        for requirement in labels.chain(expressions) {
            match requirement {
                Ok(requirement) => selector.requirements.push(requirement),
                Err(problem) => problems.push(problem),
            }
        }
        (selector, problems)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The same with one more label that has to have this value.
    pub(super) fn and(mut self, key: &str, value: &str) -> Self {
        self.requirements.push(Requirement {
            key: key.to_owned(),
            test: Test::In(BTreeSet::from([value.to_owned()])),
        });
        self
    }

    /// Whether it selects an object with these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|one| one.is_met_by(labels))
    }
}

impl Requirement {
    fn read(key: &str, operator: &str, values: &[String]) -> Result<Self, Problem> {
        if !is_label_key(key) {
            return Err(Problem::LabelKeyInvalid(key.to_owned()));
        }
        // A value may be empty.
        if let Some(value) = values.iter().find(|value| !value.is_empty() && !is_name(value)) {
            return Err(Problem::LabelValueInvalid(value.clone()));
        }
        let listed = || values.iter().cloned().collect::<BTreeSet<_>>();
        let key = key.to_owned();
        let test = match (operator, values.is_empty()) {
            ("In", false) => Test::In(listed()),
            ("NotIn", false) => Test::NotIn(listed()),
            ("Exists", true) => Test::Exists,
            ("DoesNotExist", true) => Test::DoesNotExist,
            ("In" | "NotIn", true) => return Err(Problem::ValuesMissing(key)),
            ("Exists" | "DoesNotExist", false) => return Err(Problem::ValuesUnwanted(key)),
            (other, _) => return Err(Problem::OperatorUnknown(other.to_owned())),
        };
        Ok(Self { key, test })
    }

    fn is_met_by(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
        }
    }
}

/// A name of at most 63 characters, after an optional DNS subdomain and a slash.
fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

fn is_name(name: &str) -> bool {
    let ends_well = |end: char| end.is_ascii_alphanumeric();
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= 63 && name.starts_with(ends_well) && name.ends_with(ends_well) && name.bytes().all(inner)
}

fn is_subdomain(prefix: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(plain)
    };
    prefix.len() <= 253 && prefix.split('.').all(is_label)
}
