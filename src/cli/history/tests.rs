//! An export as text: what `verify` accepts, and what it finds.

use std::io::{BufReader, repeat};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::chain::Chain;
use super::export::lines;
use super::record::Record;

/// Two lines whose hashes were computed with sha256sum.
const BY_SHA256SUM: &str = concat!(
    r#"{"previous":"0000000000000000000000000000000000000000000000000000000000000000","record":"#,
    r#"{"resourceVersion":"7","uid":"a"},"hash":"943e598fc6568457217d26bd5a3696e0823ce3b9873f835e16a6265bc76e7809"}"#,
    "\n",
    r#"{"previous":"943e598fc6568457217d26bd5a3696e0823ce3b9873f835e16a6265bc76e7809","record":"#,
    r#"{"uid":"b","resourceVersion":"8"},"hash":"a917970ac12cc8b9d7e9039f0565da8c2a49f999275d35d7a6ccb9f9c90be520"}"#,
    "\n",
);

fn export(records: &[String]) -> String {
    let mut chain = Chain::default();
    records.iter().map(|record| chain.link(record) + "\n").collect()
}

fn numbered(count: usize) -> Vec<String> {
    let record = |number| format!(r#"{{"uid":"{number}","resourceVersion":"1"}}"#);
    (0..count).map(record).collect()
}

/// The number of the first wrong line.
fn wrong_line(export: &[u8]) -> Option<u64> {
    let error = Chain::read(export).err()?.to_string();
    let (number, _) = error
        .strip_prefix("line ")
        .unwrap()
        .split_once(" is wrong: ")
        .unwrap();
    Some(number.parse().unwrap())
}

fn joined(lines: &[&str]) -> Vec<u8> {
    lines.concat().into_bytes()
}

#[test]
fn hashes_are_those_that_other_tools_compute() {
    let records = [
        r#"{"resourceVersion":"7","uid":"a"}"#,
        r#"{"uid":"b","resourceVersion":"8"}"#,
    ];
    assert_eq!(export(&records.map(ToOwned::to_owned)), BY_SHA256SUM);
    let chain = Chain::read(BY_SHA256SUM.as_bytes()).unwrap();
    assert_eq!(chain.count, 2);
    assert!(BY_SHA256SUM.ends_with(&format!("{}\"}}\n", chain.last)));
    assert!(chain.has("b", "8") && !chain.has("b", "7") && !chain.has("c", "8"));
}

#[test]
fn every_changed_or_missing_byte_is_found_in_its_line() {
    let whole = export(&numbered(3)).into_bytes();
    let mut number = 1;
    for at in 0..whole.len() {
        for changed in [whole[at] ^ 1, whole[at] ^ 0x20, b'\n', b' ', 0xff] {
            let mut edited = whole.clone();
            edited[at] = changed;
            let found = (changed != whole[at]).then_some(number);
            assert_eq!(wrong_line(&edited), found, "byte {at}: {changed}");
        }
        let mut edited = whole.clone();
        edited.remove(at);
        assert_eq!(wrong_line(&edited), Some(number), "byte {at} removed");
        number += u64::from(whole[at] == b'\n');
    }
}

#[test]
fn lines_that_are_removed_inserted_or_moved_are_found() {
    let whole = export(&numbered(5));
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let forged = export(&["{\"uid\":\"x\",\"resourceVersion\":\"1\"}".to_owned()]);
    for at in 0..lines.len() {
        let number = Some(at as u64 + 1);
        let mut removed = lines.clone();
        removed.remove(at);
        let is_tail = at + 1 == lines.len();
        assert_eq!(wrong_line(&joined(&removed)), number.filter(|_| !is_tail));
        for inserted in lines.iter().copied().chain([forged.as_str(), "\n"]) {
            let mut more = lines.clone();
            more.insert(at, inserted);
            // The same line before itself: the second is wrong.
            let second = number.map(|number| number + u64::from(inserted == lines[at]));
            let found = if at == 0 && inserted == forged {
                Some(2)
            } else {
                second
            };
            assert_eq!(wrong_line(&joined(&more)), found);
        }
        for other in at + 1..lines.len() {
            let mut moved = lines.clone();
            moved.swap(at, other);
            assert_eq!(wrong_line(&joined(&moved)), number);
        }
    }
    let more = [&lines[..], &lines[4..]].concat();
    assert_eq!(wrong_line(&joined(&more)), Some(6));
}

#[test]
fn removed_lines_at_the_end_show_in_the_last_hash_only() {
    let (whole, cut) = (export(&numbered(3)), export(&numbered(2)));
    assert!(whole.starts_with(&cut));
    let [whole, cut, none] = [&*whole, &*cut, ""].map(|text| Chain::read(text.as_bytes()).unwrap());
    assert_ne!(whole.last, cut.last);
    assert_eq!((cut.count, none.count), (2, 0));
    assert_eq!(none.last, "0".repeat(64));
}

#[test]
fn a_line_without_an_end_takes_no_memory_without_an_end() {
    let fault = Chain::read(BufReader::new(repeat(b'x'))).err().unwrap();
    let said = fault.to_string();
    assert!(said.starts_with("line 1 is wrong: a line end"), "{said}");
}

#[test]
fn a_record_that_names_no_object_is_wrong_though_its_hash_is_right() {
    for record in ["{}", r#"{"uid":"a"}"#, "[", r#"{"uid":1,"resourceVersion":"1"}"#] {
        assert_eq!(
            wrong_line(export(&[record.to_owned()]).as_bytes()),
            Some(1),
            "{record}"
        );
    }
}

proptest! {
    /// Whatever is put in the place of whatever part: either it is found, or the rest is as it was.
    #[test]
    fn what_is_accepted_is_the_export_or_its_beginning(
        texts in prop::collection::vec("\\PC{0,20}", 1..6),
        from in any::<prop::sample::Index>(),
        until in any::<prop::sample::Index>(),
        instead in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let record = |text: &String| json!({"uid": text, "resourceVersion": text}).to_string();
        let whole = export(&texts.iter().map(record).collect::<Vec<_>>()).into_bytes();
        prop_assert_eq!(wrong_line(&whole), None);
        let ends = [from, until].map(|index| index.index(whole.len().saturating_add(1)));
        let (from, until) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let edited = [&whole[..from], &instead, &whole[until..]].concat();
        if wrong_line(&edited).is_none() {
            prop_assert!(whole.starts_with(&edited));
        }
    }
}

fn record(name: &str, version: &str, created: &str) -> Record {
    let object = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "namespace": "a", "name": name, "uid": format!("uid-{name}"), "resourceVersion": version,
            "creationTimestamp": created,
        },
        "spec": {"machineName": "worker-1"},
    });
    Record::of(&serde_json::from_value(object).unwrap()).unwrap()
}

/// `name/resourceVersion` of each line.
fn told(lines: &str) -> Vec<String> {
    let place = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| line["record"][field].as_str().unwrap().to_owned();
        format!("{}/{}", text("name"), text("resourceVersion"))
    };
    lines.lines().map(place).collect()
}

#[test]
fn a_later_export_goes_on_with_what_is_new_or_changed() {
    let (monday, tuesday) = ("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z");
    let all = vec![
        record("a", "9", tuesday),
        record("c", "2", monday),
        record("b", "1", monday),
    ];
    let mut file = lines(&mut Chain::default(), all).unwrap();
    assert_eq!(told(&file), ["b/1", "c/2", "a/9"]);

    let mut chain = Chain::read(file.as_bytes()).unwrap();
    let all = vec![
        record("b", "1", monday),
        record("c", "3", monday),
        record("d", "4", tuesday),
    ];
    file += &lines(&mut chain, all).unwrap();

    assert_eq!(told(&file), ["b/1", "c/2", "a/9", "c/3", "d/4"]);
    let mut again = Chain::read(file.as_bytes()).unwrap();
    assert_eq!((again.count, &again.last), (5, &chain.last));
    // The newest record of an object counts, not any.
    assert_eq!(lines(&mut again, vec![record("c", "3", monday)]).unwrap(), "");
    assert_eq!(
        told(&lines(&mut again, vec![record("c", "2", monday)]).unwrap()),
        ["c/2"]
    );
}

#[test]
fn a_record_says_who_asked_and_what_is_of_nobodys_concern_stays_away() {
    let object = json!({
        "metadata": {
            "namespace": "a", "name": "worker-1", "uid": "u", "resourceVersion": "1",
            "annotations": {"cluster.x-k8s.io/cloned-from-name": "cycle", "example.org/note": "p4ssword"},
            "ownerReferences": [{
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": "worker-1", "uid": "m",
            }],
            "managedFields": [
                {"manager": "kubectl-create", "operation": "Update", "time": "2026-03-02T00:00:00Z", "fieldsV1": {"f:spec": {}}},
                {"manager": "baremetal-remediator", "operation": "Update", "subresource": "status"},
            ],
        },
        "spec": {},
        "status": {
            "phase": "Succeeded", "reason": "NodeHealthy", "bmcSession": "/redfish/v1/SessionService/Sessions/1",
            "ofALaterVersion": 1,
        },
    });
    let record = Record::of(&serde_json::from_value(object).unwrap()).unwrap();
    let told = serde_json::to_value(&record).unwrap();
    assert_eq!(told["machine"], "worker-1", "{told}");
    let by = &told["requestedBy"];
    assert_eq!(
        by["annotations"],
        json!({"cluster.x-k8s.io/cloned-from-name": "cycle"})
    );
    assert_eq!(by["owners"][0]["kind"], "Machine");
    let writer = json!({"manager": "kubectl-create", "operation": "Update", "time": "2026-03-02T00:00:00Z"});
    assert_eq!(by["writers"], json!([writer]));
    let status = json!({"phase": "Succeeded", "reason": "NodeHealthy", "ofALaterVersion": 1});
    assert_eq!(told["status"], status);
    assert_eq!(told["unreadable"], Value::Null);
}

#[test]
fn what_cannot_be_read_is_exported_as_it_is_and_says_so() {
    let status = json!({"phase": "Thawing", "attempt": "many"});
    let object = json!({
        "metadata": {"namespace": "a", "name": "b", "uid": "u", "resourceVersion": "1"},
        "spec": {"machineName": 7}, "status": status,
    });
    let record = Record::of(&serde_json::from_value(object).unwrap()).unwrap();
    let told = serde_json::to_value(&record).unwrap();
    assert!(
        told["unreadable"]
            .as_str()
            .unwrap()
            .starts_with("spec.machineName: "),
        "{told}"
    );
    assert_eq!(
        (&told["spec"], &told["status"]),
        (&json!({"machineName": 7}), &status)
    );
    assert_eq!((&told["machine"], &told["node"]), (&Value::Null, &Value::Null));
    let chain = &mut Chain::default();
    assert_eq!(lines(chain, vec![record]).unwrap().lines().count(), 1);
}
