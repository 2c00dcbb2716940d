//! Reads any bytes as everything that a BMC could answer, for fuzzing.

use std::collections::BTreeMap;

use super::resource::{ActionInfo, Chassis, Collection, Root, System, decode};
use super::said::Said;
use crate::bmc::credentials::Credentials;
use crate::bmc::redact::Redactor;

/// Reads any bytes as every kind of body that a BMC could send: whatever they are, this must not panic, and
/// no word that is shown may hold the password. Answers whether they were any resource.
///
/// # Panics
/// When a password would be shown: a defect that the fuzzer is to find.
pub fn read_body(body: &[u8]) -> bool {
    const PASSWORD: &str = "canary-Pa55word";
    let secret = BTreeMap::from([("username".to_owned(), "root"), ("password".to_owned(), PASSWORD)]);
    if let Ok(credentials) = Credentials::from_secret(&secret, "1") {
        let said = Said::of(body);
        let text = said.text(&Redactor::new(&credentials));
        assert!(!text.contains(PASSWORD), "a password is shown");
        let _ = (said.denies_success(), said.says_already(), said.says_not_ready());
    }
    let known = [
        decode::<System>(body).is_ok(),
        decode::<Collection>(body).is_ok(),
        decode::<Root>(body).is_ok(),
        decode::<ActionInfo>(body).is_ok(),
        decode::<Chassis>(body).is_ok(),
    ];
    known.contains(&true)
}

#[cfg(test)]
mod tests {
    use super::read_body;

    #[test]
    fn the_corpus_is_read_without_harm() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/redfish_body");
        let files = std::fs::read_dir(folder).expect("the corpus is in the repository");
        let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.unwrap().path()).unwrap();
        let corpus: Vec<Vec<u8>> = files.map(read).collect();
        assert!(corpus.len() >= 10, "{}", corpus.len());
        let understood = corpus.iter().filter(|body| read_body(body)).count();
        assert!(understood >= 5, "{understood}");
    }
}
