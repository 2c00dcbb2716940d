//! `LogService`: the event log of a machine, where it has one. Its entries stand in the collection itself (DSP0268,
//! `LogEntryCollection`).

use std::time::Duration;

use serde_json::{Value, json};

use super::body_of::{collection, reference, resource, set};
use super::schema;
use super::system::SYSTEMS;
use crate::host::Acting;

/// Where the logs of a system are; absent where it has none.
pub(super) fn place(acting: &Acting<'_>, id: &str) -> Option<String> {
    let has_log = !acting.state.redfish.spec.log.is_empty() && acting.core.identities.find(id).is_some();
    has_log.then(|| format!("{SYSTEMS}/{id}/LogServices"))
}

pub(super) fn services(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let place = place(acting, id)?;
    let members = [format!("{place}/SEL")].into_iter();
    Some(collection(
        schema::LOG_SERVICES,
        &place,
        "Log Service Collection",
        members,
    ))
}

pub(super) fn service(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let path = format!("{}/SEL", place(acting, id)?);
    Some(resource(
        schema::LOG_SERVICE,
        &path,
        "SEL",
        "System Event Log",
        json!({
            "LogEntryType": "SEL",
            "MaxNumberOfRecords": acting.state.redfish.spec.log.len(),
            "OverWritePolicy": "WrapsWhenFull",
            "ServiceEnabled": true,
            "Entries": reference(&format!("{path}/Entries")),
        }),
    ))
}

pub(super) fn entries(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let path = format!("{}/SEL/Entries", place(acting, id)?);
    let count = u64::try_from(acting.state.redfish.spec.log.len()).unwrap_or(u64::MAX);
    let members: Vec<Value> = (1..=count)
        .filter_map(|number| entry(acting, id, number))
        .collect();
    let none = std::iter::empty();
    let mut whole = collection(schema::LOG_ENTRIES, &path, "Log Entry Collection", none);
    set(&mut whole, "Members@odata.count", json!(members.len()));
    set(&mut whole, "Members", json!(members));
    Some(whole)
}

/// The entry of this number, from 1. Each was made a second after the one before it.
pub(super) fn entry(acting: &Acting<'_>, id: &str, number: u64) -> Option<Value> {
    let path = format!("{}/SEL/Entries/{number}", place(acting, id)?);
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    let message = acting.state.redfish.spec.log.get(index)?;
    Some(resource(
        schema::LOG_ENTRY,
        &path,
        &number.to_string(),
        "Log Entry",
        json!({
            "EntryType": "SEL",
            "Created": acting.date_time(Duration::from_secs(number)),
            "Severity": "Warning",
            "Message": message,
        }),
    ))
}
