//! What a BMC says in words: Redfish error objects (DSP0266, "Error responses"), in all the shapes
//! in which they are met.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::redact::Redactor;

/// "Not ready yet", said in a 400: Dell (`SYS518`, `SWC0700`) and HPE after a power operation
/// (openstack/sushy `connector.py`, quadsproject/badfish issue 129).
const NOT_READY: [&str; 3] = ["SYS518", "SWC0700", "InvalidOperationForSystemState"];
/// The host is in that state: DMTF Base registry, and Dell (NVIDIA/libredfish `network.rs`).
const ALREADY: [&str; 2] = [".NoOperation", ".PSU501"];
/// The table of sessions is full: DMTF Base registry, and Dell (stmcginnis/gofish issue 75).
const SESSIONS_FULL: [&str; 2] = ["SessionLimitExceeded", "RAC0218"];
/// HPE answers a wrong password with a 400 of this message.
const BAD_LOGIN: &str = "UnauthorizedLoginAttempt";

/// What is shown for want of any words.
const NOTHING: &str = "no explanation";

/// The messages in a body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    /// Whether the body has an `error` object.
    pub(super) is_error: bool,
    /// Message identifiers and texts.
    listed: Vec<(String, String)>,
    /// For want of messages.
    fallback: String,
}

impl Messages {
    /// Reads a body of any kind.
    pub(super) fn of(body: &[u8]) -> Self {
        let start = body.trim_ascii_start();
        let plain = |fallback: &str| Self {
            fallback: fallback.to_owned(),
            ..Self::default()
        };
        if start.is_empty() {
            return plain(NOTHING);
        }
        if start.starts_with(b"<") {
            return plain("an HTML or XML page");
        }
        let Ok(body) = serde_json::from_slice::<Value>(start) else {
            return plain("no JSON");
        };
        let error = body.get("error");
        let listed = error.unwrap_or(&body).get("@Message.ExtendedInfo");
        let fallback = |error| format!("{} {}", word(error, "code"), word(error, "message"));
        Self {
            is_error: error.is_some(),
            listed: listed.map(messages).unwrap_or_default(),
            fallback: error.map_or_else(|| NOTHING.to_owned(), fallback),
        }
    }

    /// The messages of a task that failed (DSP0268 `Task.Messages`).
    pub(super) fn of_messages(list: &Value) -> Self {
        Self {
            is_error: true,
            listed: messages(list),
            fallback: NOTHING.to_owned(),
        }
    }

    /// Whether a body that came with a good status is an error after all. HPE wraps success in an `error` object
    /// with the message `Base.*.Success` (HPE server management portal, "Redfish error responses and messages").
    pub(super) fn denies_success(&self) -> bool {
        let good = |(id, _): &(String, String)| id.ends_with(".Success") || id.ends_with(".NoOperation");
        self.is_error && (self.listed.is_empty() || !self.listed.iter().all(good))
    }

    /// Whether the BMC says that nothing had to be done: by the identifier of a message. What it says in words may be
    /// about something else.
    pub(super) fn says_already(&self) -> bool {
        // `error.code` is an identifier, too (DSP0266, "Error responses"), and is first there.
        let code = self.fallback.split(' ').take(1);
        let mut identifiers = self.listed.iter().map(|(id, _)| id.as_str()).chain(code);
        identifiers.any(|id| ALREADY.iter().any(|already| id.ends_with(already)))
    }

    /// Whether the BMC says that it is not ready.
    pub(super) fn says_not_ready(&self) -> bool {
        self.mentions(&NOT_READY)
    }

    /// Whether the BMC has no session left to give.
    pub(super) fn says_sessions_full(&self) -> bool {
        self.mentions(&SESSIONS_FULL)
    }

    /// Whether the BMC rejects user name or password.
    pub(super) fn says_bad_login(&self) -> bool {
        self.mentions(&[BAD_LOGIN])
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let listed = self.listed.iter().flat_map(|(id, text)| [id, text]);
        let mut texts = listed.chain([&self.fallback]);
        texts.any(|text| words.iter().any(|word| text.contains(word)))
    }

    /// The words, fit to be shown.
    pub(super) fn text(&self, redactor: &Redactor) -> String {
        let listed = self.listed.iter().take(4);
        let mut spoken: Vec<String> = listed
            .map(|(id, text)| format!("{id} {text}").trim().to_owned())
            .collect();
        spoken.retain(|text| !text.is_empty());
        if spoken.is_empty() {
            spoken.push(self.fallback.clone());
        }
        let text = spoken.join("; ");
        redactor.clean(text.trim().trim_end_matches('.'))
    }
}

/// Identifiers and texts of messages.
fn messages(said: &Value) -> Vec<(String, String)> {
    let message = |value: &Value| (word(value, "MessageId"), word(value, "Message"));
    match said {
        Value::Array(list) => list.iter().map(message).collect(),
        // iDRAC sends one object where a list belongs.
        single @ Value::Object(_) => vec![message(single)],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![],
    }
}

fn word(value: &Value, key: &str) -> String {
    let word = value.get(key).and_then(Value::as_str);
    word.unwrap_or_default().to_owned()
}
