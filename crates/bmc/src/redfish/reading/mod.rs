//! Reads any bytes as everything that a BMC could answer, for fuzzing.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use http::StatusCode;

use super::messages::Messages;
use super::resource::{
    ActionInfo, Chassis, Collection, Described, LogPage, LogService, Root, System, decode,
};
use super::task::{self, Task, TaskProgress};
use crate::credentials::Credentials;
use crate::redact::Redactor;

/// What was read out of any bytes.
#[derive(Debug)]
pub struct ReadBody {
    /// Whether they were any resource that we know.
    pub is_resource: bool,
    /// What would be shown of them to people. Must not hold the password, whatever the bytes were.
    pub shown: String,
}

/// Reads any bytes as every kind of body that a BMC could send, in a conversation under this password.
/// Whatever they are, this must not panic.
pub fn read_body(body: &[u8], password: &str) -> ReadBody {
    let said = Messages::of(body);
    let _ = (said.denies_success(), said.says_already(), said.says_not_ready());
    let secret = BTreeMap::from([("username".to_owned(), "root"), ("password".to_owned(), password)]);
    let credentials = Credentials::from_secret(&secret, "1");
    let shown = credentials.map(|credentials| shown(body, &Redactor::new(&credentials)));
    let known = [
        decode::<System>(body).is_ok(),
        decode::<Described>(body).is_ok(),
        decode::<LogService>(body).is_ok(),
        decode::<LogPage>(body).is_ok(),
        decode::<Collection>(body).is_ok(),
        decode::<Root>(body).is_ok(),
        decode::<ActionInfo>(body).is_ok(),
        decode::<Chassis>(body).is_ok(),
        decode::<Task>(body).is_ok(),
    ];
    ReadBody {
        is_resource: known.contains(&true),
        shown: shown.unwrap_or_default(),
    }
}

/// All that is shown of a body, whatever it came in answer to.
fn shown(body: &[u8], redactor: &Redactor) -> String {
    let mut shown = Messages::of(body).text(redactor);
    let statuses = [200, 202, 500].map(StatusCode::from_u16);
    for status in statuses.into_iter().flatten() {
        if let TaskProgress::Failed(why) = task::course(status, body, redactor) {
            shown.push_str(&why);
        }
    }
    shown
}
