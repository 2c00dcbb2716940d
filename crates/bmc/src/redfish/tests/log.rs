//! The newest entries of a BMC's log, which nothing depends on.

use super::*;
use crate::{CommandAnswer, LogEntry};

const LOGS: &str = "/redfish/v1/Systems/1/LogServices";

/// The log services as the BMC lists them.
fn services(names: &[&str]) -> Value {
    let members = names
        .iter()
        .map(|name| json!({"@odata.id": format!("{LOGS}/{name}")}));
    json!({"Members": members.collect::<Vec<_>>()})
}

fn entry(number: i64, message: &str) -> Value {
    json!({
        "Created": format!("2026-01-01T00:00:{number:02}Z"),
        "Severity": "Critical",
        "Message": message,
    })
}

/// A BMC that behaves well and answers this below its log services.
fn logging(
    answers: impl Fn(&str) -> Option<Response<Body>> + Clone + Send + Sync + 'static,
) -> impl Fn(Seen) -> Option<Response<Body>> + Clone + Send + Sync + 'static {
    let behaved = well_behaved();
    move |seen: Seen| {
        if seen.path.starts_with(LOGS) {
            return answers(&seen.path);
        }
        if seen.line() == format!("GET {PATH}") {
            let mut body = system("On");
            body["LogServices"] = json!({"@odata.id": LOGS});
            return answer(200, &body);
        }
        behaved(seen)
    }
}

/// What is told of the log, and what was asked for it.
async fn told(
    answers: impl Fn(&str) -> Option<Response<Body>> + Clone + Send + Sync + 'static,
) -> (Vec<LogEntry>, Vec<String>) {
    let fake = Fake::start(logging(answers)).await;
    let mut bmc = connect(of(&fake)).await;
    bmc.read().await.unwrap();
    let entries = bmc.newest_log().await;
    // Whatever came of it, the BMC can be used as before.
    bmc.read().await.unwrap();
    assert!(matches!(
        bmc.command(Verb::PowerOff, soon()).await,
        Ok(CommandAnswer::Accepted)
    ));
    let asked = fake.log().into_iter().filter(|line| line.contains(LOGS));
    (entries, asked.collect())
}

/// A service that holds this many entries, of which it lists so many on a page, the oldest first.
fn pages(path: &str, count: i64, page: i64) -> Option<Response<Body>> {
    let entries = format!("{LOGS}/SEL/Entries");
    if path == LOGS {
        return answer(200, &services(&["AuditLog", "SEL"]));
    }
    if path == format!("{LOGS}/SEL") {
        return answer(200, &json!({"Entries": {"@odata.id": entries}}));
    }
    let skipped = path.strip_prefix(&entries)?;
    let skipped: i64 = skipped
        .strip_prefix("?$skip=")
        .map_or(0, |skipped| skipped.parse().unwrap());
    let listed = (skipped..count.min(skipped.saturating_add(page)))
        .map(|number| entry(number, &format!("event {number}")));
    answer(
        200,
        &json!({"Members": listed.collect::<Vec<_>>(), "Members@odata.count": count}),
    )
}

#[tokio::test]
async fn the_newest_five_come_first_wherever_the_bmc_lists_them() {
    for (count, page, requests) in [(0, 50, 3), (3, 50, 3), (12, 50, 3), (50, 20, 4), (21, 20, 4)] {
        let (entries, asked) = told(move |path| pages(path, count, page)).await;
        let messages: Vec<_> = entries.iter().map(|entry| entry.message.clone()).collect();
        let newest = (0..count).rev().take(5).map(|number| format!("event {number}"));
        assert_eq!(messages, newest.collect::<Vec<_>>(), "{count} on pages of {page}");
        assert_eq!(asked.len(), requests, "{count} on pages of {page}: {asked:?}");
        assert!(
            entries
                .iter()
                .all(|entry| entry.severity.as_deref() == Some("Critical"))
        );
    }
}

/// The messages that are told of entries which a BMC lists so, whatever page it is asked for.
async fn told_of(listed: Vec<Value>, count: usize) -> Vec<String> {
    let (entries, _) = told(move |path| {
        if path.contains("Entries") {
            let page = json!({"Members": listed, "Members@odata.count": count});
            return answer(200, &page);
        }
        pages(path, 0, 1)
    })
    .await;
    entries.into_iter().map(|entry| entry.message).collect()
}

#[tokio::test]
async fn a_bmc_that_sends_its_first_page_again_is_not_told_twice() {
    for with_id in [true, false] {
        let listed = (0..3).map(|number| {
            let mut entry = entry(number, &format!("event {number}"));
            if with_id {
                entry["@odata.id"] = json!(format!("{LOGS}/SEL/Entries/{number}"));
            }
            entry
        });
        let messages = told_of(listed.collect(), 50).await;
        assert_eq!(messages, ["event 2", "event 1", "event 0"], "{with_id}");
    }
}

#[tokio::test]
async fn of_entries_without_a_time_the_last_listed_are_the_newest() {
    let without = |created: Value| {
        let listed = (0..7).map(|number| json!({"Created": created, "Message": format!("event {number}")}));
        told_of(listed.collect(), 7)
    };
    let newest = ["event 6", "event 5", "event 4", "event 3", "event 2"];
    for created in [json!(null), json!("yesterday"), json!("2026-01-01T00:00:00Z")] {
        assert_eq!(without(created.clone()).await, newest, "{created}");
    }
    // A BMC that lists the newest first, two of them of the same second.
    let listed = [(5, "d"), (4, "c"), (4, "b"), (1, "a")];
    let listed = listed.map(|(second, message)| entry(second, message));
    assert_eq!(told_of(listed.to_vec(), 4).await, ["d", "c", "b", "a"]);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_costs_nothing_else() {
    let refusals = [
        |_: &str| answer(401, &json!({})),
        |_: &str| answer(403, &json!({})),
        |_: &str| answer(404, &json!({})),
        |_: &str| answer(500, &json!({})),
        |_: &str| reply(200, &[], "<html>"),
        |_: &str| answer(200, &services(&["AuditLog"])),
        |_: &str| answer(200, &json!({"Members": [{"@odata.id": "http://elsewhere/SEL"}]})),
        |_: &str| None,
    ];
    for (index, refusal) in refusals.into_iter().enumerate() {
        let (entries, asked) = told(refusal).await;
        assert_eq!(entries, [], "{index}");
        assert!(asked.len() <= 1, "{index}: {asked:?}");
    }
}

#[tokio::test]
async fn a_message_is_bounded_printable_and_without_the_password() {
    let said = format!("{CANARY}\u{7}{}", "x".repeat(10_000));
    let (entries, _) = told(move |path| {
        if path.ends_with("Entries") {
            return answer(
                200,
                &json!({"Members": [entry(0, &said), {"Message": 7}, 8, {"Message": " "}]}),
            );
        }
        pages(path, 0, 1)
    })
    .await;
    let [only] = &entries[..] else {
        panic!("{entries:?}")
    };
    assert!(only.message.len() <= 256, "{}", only.message.len());
    assert!(!only.message.contains(CANARY) && !only.message.contains('\u{7}'));
}
