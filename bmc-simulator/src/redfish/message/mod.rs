//! Messages (DSP0266, "Error responses"): what is sent in `@Message.ExtendedInfo` and in events, and
//! the registries that define them.

mod base;
mod event;
mod registry;
mod vendor;

pub(super) use base::Base;
pub(super) use event::{ResourceEvent, TaskEvent};
pub(super) use registry::{REGISTRIES, document, file, files};
pub(super) use vendor::vendor_error;

use serde_json::{Map, Value, json};

use super::schema;

/// `Resource.Health`, as severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Ok,
    Warning,
    Critical,
}

impl Severity {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "Warning",
            Self::Critical => "Critical",
        }
    }
}

/// An entry of a message registry. Names, severities and numbers of arguments are DMTF's (DSP8011);
/// the wording is ours, which DSP0266 leaves to the service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Definition {
    pub(super) key: &'static str,
    pub(super) severity: Severity,
    /// `%1` to `%3` stand for the arguments.
    pub(super) text: &'static str,
    pub(super) resolution: &'static str,
}

impl Definition {
    /// How many arguments the text takes.
    pub(super) fn arguments(&self) -> usize {
        (1..=3)
            .take_while(|number| self.text.contains(&format!("%{number}")))
            .count()
    }
}

/// A message with its arguments.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// Registry, version and key.
    pub(super) id: String,
    pub(super) text: String,
    pub(super) severity: Severity,
    pub(super) arguments: Vec<String>,
    resolution: &'static str,
    related: Option<String>,
}

impl Message {
    fn of(registry: &str, definition: Definition, arguments: &[&str]) -> Self {
        let mut text = definition.text.to_owned();
        for (index, argument) in arguments.iter().enumerate() {
            text = text.replace(&format!("%{}", index.saturating_add(1)), argument);
        }
        Self {
            id: format!("{registry}.{}", definition.key),
            text,
            severity: definition.severity,
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            resolution: definition.resolution,
            related: None,
        }
    }

    /// The same message, about this property of the request.
    pub(super) fn about(mut self, property: &str) -> Self {
        self.related = Some(format!("#/{property}"));
        self
    }

    /// As an entry of `@Message.ExtendedInfo`.
    pub(super) fn to_json(&self) -> Value {
        let mut entry = json!({
            "@odata.type": schema::MESSAGE.odata_type(),
            "MessageId": self.id,
            "Message": self.text,
            "MessageArgs": self.arguments,
            "MessageSeverity": self.severity.as_str(),
            "Resolution": self.resolution,
        });
        if let Some(related) = &self.related {
            super::body_of::set(&mut entry, "RelatedProperties", json!([related]));
        }
        entry
    }
}

/// The body of an error response; the first message is also the error's own.
pub(super) fn error(messages: &[Message]) -> Value {
    let list: Vec<Value> = messages.iter().map(Message::to_json).collect();
    let (code, text) = match messages {
        [one] => (one.id.clone(), one.text.clone()),
        _ => {
            let general = Base::GeneralError.message(&[]);
            (general.id, general.text)
        }
    };
    json!({"error": {"code": code, "message": text, "@Message.ExtendedInfo": list}})
}

/// Adds messages to a body that is no error (DSP0266, "Extended information").
pub(super) fn annotate(body: &mut Map<String, Value>, messages: &[Message]) {
    if !messages.is_empty() {
        let list = messages.iter().map(Message::to_json).collect();
        body.insert("@Message.ExtendedInfo".to_owned(), Value::Array(list));
    }
}
