//! What `src/lib.rs` states is tested by its number: no invariant without a test, and no test of one that is not stated.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use crate::rooms::files;

/// The numbers of the list under `# Invariants`.
fn stated(library: &str) -> BTreeSet<u32> {
    let lines = library.lines().filter_map(|line| line.strip_prefix("//! "));
    let list = lines.skip_while(|line| *line != "# Invariants");
    list.filter_map(|line| line.split_once(". ")?.0.parse().ok())
        .collect()
}

/// The numbers in the names of tests.
fn tested(source: &str) -> impl Iterator<Item = u32> {
    let names = source.split(concat!("fn ", "invariant_")).skip(1);
    names.filter_map(|name| name.split('_').next()?.parse().ok())
}

#[test]
fn each_invariant_has_a_test_that_bears_its_number() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stated = stated(&std::fs::read_to_string(root.join("src/lib.rs"))?);
    assert_eq!(stated, (1..=15).collect(), "they are counted without a gap");
    let mut sources = Vec::new();
    for folder in ["src", "crates", "tests"] {
        files(&root.join(folder), &mut sources)?;
    }
    let mut found = BTreeSet::new();
    for source in sources {
        found.extend(tested(&std::fs::read_to_string(source)?));
    }
    assert_eq!(found, stated);
    Ok(())
}

#[test]
fn numbers_are_read_where_they_stand() {
    let library = "//! 9. before\n//! # Invariants\n//!\n//! 1. One.\n//!    more of it, 7. of\n//! 2. Two.";
    assert_eq!(stated(library), [1, 2].into());
    let source = format!("fn {}12_a() {{}}\nasync fn {0}3_b() {{}}", "invariant_");
    assert_eq!(tested(&source).collect::<Vec<_>>(), [12, 3]);
}
