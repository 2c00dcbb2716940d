//! Replays the corpora: what a fuzzer found stays mended.

use std::collections::BTreeSet;

use super::{control, fleet, http, query, ssdp};
use crate::MOST_HOSTS;

/// The inputs of one fuzz target, with their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).expect("the corpus is in the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(path).unwrap())
    };
    let all: Vec<_> = files.map(read).collect();
    assert!(all.len() >= 8, "{target}: {}", all.len());
    all
}

#[test]
fn requests_are_answered_and_harm_nobody() {
    let statuses: BTreeSet<u16> = corpus("http").iter().flat_map(|(_, bytes)| http(bytes)).collect();
    // That the seeds reach what they are meant for shows in the answers that there are.
    for status in [200, 201, 204, 304, 400, 401, 404, 405, 412, 415, 501] {
        assert!(statuses.contains(&status), "{status} is not among {statuses:?}");
    }
}

#[test]
fn queries_are_read_without_harm() {
    for (_, bytes) in corpus("query") {
        query(&bytes);
    }
}

#[test]
fn searches_are_understood_or_ignored() {
    let inputs = corpus("ssdp");
    let understood = inputs.iter().filter(|(_, bytes)| ssdp(bytes)).count();
    assert!(understood >= 3 && understood < inputs.len(), "{understood}");
}

#[test]
fn bodies_of_the_control_api_are_taken_or_refused() {
    let inputs = corpus("control");
    let taken = |wanted| {
        let all = inputs.iter().filter(|(_, bytes)| control(bytes) == Some(wanted));
        all.count()
    };
    assert!(taken(true) >= 8, "{}", taken(true));
    assert!(taken(false) >= 2, "{}", taken(false));
}

#[test]
fn fleet_files_are_read_or_refused() {
    let read = |(name, bytes): &(String, Vec<u8>)| Some((name.clone(), fleet(bytes)?));
    let fleets: Vec<_> = corpus("fleet").iter().filter_map(read).collect();
    let good = fleets.iter().filter(|(_, read)| read.is_ok()).count();
    assert!(good >= 4 && good < fleets.len(), "{good} of {}", fleets.len());
    for (name, read) in fleets {
        let told = read.map_err(|error| error.to_string());
        assert!(
            told.as_ref().is_ok_and(|count| *count <= MOST_HOSTS) || told.is_err_and(|text| text.len() > 10),
            "{name}"
        );
    }
}
