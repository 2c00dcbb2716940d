//! Rooms import downwards only, and files inside a room do not import each other in circles of many.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that fails says so"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The rooms under `src`, from the top to the bottom. One imports only those below it.
const ROOMS: [&str; 18] = [
    "main",
    "lib",
    "cli",
    "daemon",
    "status_page",
    "readiness",
    "mhc",
    "requests",
    "remediation",
    "snapshot",
    "fencing",
    "metal3",
    "bmc_access",
    "clusters",
    "watch",
    "leadership",
    "report",
    "single_flight",
];
/// Below all rooms, in any order: they import nothing of the rooms but what is before them here.
const GROUND: [&str; 3] = ["api_call", "clock", "test_server"];

/// So many files may import each other, such as a file and the one that it was split from.
const LARGEST_CIRCLE: usize = 3;

/// A file by its module path, and the modules that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// `src/mhc/status/mod.rs` is `mhc::status`.
fn module(source: &Path, file: &Path) -> Result<String> {
    let below = file.strip_prefix(source)?.with_extension("");
    let mut parts: Vec<_> = below
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    Ok(parts.join("::"))
}

/// The code of a source outside its tests, without comments.
fn code(source: &str) -> String {
    let code: Vec<&str> = source
        .split("#[cfg(test)]\nmod tests {")
        .take(1)
        .flat_map(str::lines)
        .filter_map(|line| line.split("//").next())
        .collect();
    code.join(" ")
}

/// The words of a code and what is between them: names, `::`, and single characters.
fn words(code: &str) -> Vec<&str> {
    let is_name = |one: char| one.is_alphanumeric() || one == '_';
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            _ if rest.starts_with("::") => 2,
            _ if is_name(first) => rest.find(|one| !is_name(one)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Adds the paths of the tree that begins at a word, each with what leads to it, and answers where the tree ends.
fn tree(words: &[&str], mut at: usize, before: &[&str], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    while let Some(word) = words.get(at) {
        at += 1;
        if *word == "{" {
            while words.get(at).is_some_and(|word| *word != "}") {
                let end = tree(words, at, &path, found);
                // Over `as another`, and the comma.
                at = end
                    + words[end..]
                        .iter()
                        .take_while(|word| !matches!(**word, "," | "}"))
                        .count();
                at += usize::from(words.get(at) == Some(&","));
            }
            return at + 1;
        }
        path.push(word);
        // What follows may also be `::<T>`.
        if words.get(at) != Some(&"::") || words.get(at + 1) == Some(&"<") {
            break;
        }
        at += 1;
    }
    found.push(path.into_iter().map(str::to_owned).collect());
    at
}

/// Every path that a code names, groups taken apart.
fn paths(code: &str) -> Vec<Vec<String>> {
    let (words, mut found, mut at) = (words(code), Vec::new(), 0);
    while at < words.len() {
        let begins = words.get(at + 1) == Some(&"::") && words[at].starts_with(char::is_alphabetic);
        at = if begins {
            tree(&words, at, &[], &mut found)
        } else {
            at + 1
        };
    }
    found
}

/// A path from the root of the crate: `super`, `self`, or a module below the one that names it. `None`: of another crate,
/// or of something that was imported.
fn from_the_root(path: &[String], own: &str, modules: &BTreeSet<String>) -> Option<String> {
    let first = path.first()?;
    let mut at: Vec<&str> = own.split("::").collect();
    let mut rest = path;
    match first.as_str() {
        "crate" => {
            at.clear();
            rest = rest.get(1..)?;
        }
        "self" => rest = rest.get(1..)?,
        "super" => {}
        below if modules.contains(&format!("{own}::{below}")) => {}
        _ => return None,
    }
    while rest.first().is_some_and(|first| first == "super") {
        at.pop();
        rest = rest.get(1..)?;
    }
    at.extend(rest.iter().map(String::as_str).filter(|part| *part != "self"));
    Some(at.join("::"))
}

fn imports() -> Result<Imports> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&source, &mut found)?;
    let is_test = |file: &PathBuf| file.iter().any(|part| part == "tests" || part == "tests.rs");
    found.retain(|file| !is_test(file));
    let modules = found
        .iter()
        .map(|file| module(&source, file))
        .collect::<Result<BTreeSet<_>>>()?;
    let mut imports = Imports::new();
    for file in &found {
        let own = module(&source, file)?;
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let named = paths(&code(&text));
        let named = named
            .iter()
            .filter_map(|path| longest(&from_the_root(path, &own, &modules)?, &modules));
        imports.insert(own.clone(), named.filter(|other| *other != own).collect());
    }
    Ok(imports)
}

/// The module that a path leads into: it may go on with a type or a function.
fn longest(path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut path = path;
    loop {
        if modules.contains(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

fn depth(room: &str) -> Option<usize> {
    ROOMS.iter().chain(&GROUND).position(|one| *one == room)
}

#[test]
fn rooms_import_downwards_only() -> Result<()> {
    let mut upwards = Vec::new();
    for (module, others) in imports()? {
        let own = depth(room(&module)).with_context(|| format!("{module} is in no room; add it to ROOMS"))?;
        for other in others {
            let its =
                depth(room(&other)).with_context(|| format!("{other} is in no room; add it to ROOMS"))?;
            if its < own {
                upwards.push(format!("{module} imports {other}"));
            }
        }
    }
    assert!(
        upwards.is_empty(),
        "these import upwards:\n{}",
        upwards.join("\n")
    );
    Ok(())
}

/// The files that one reaches.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        for other in imports.get(&module).into_iter().flatten() {
            if reached.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    reached
}

#[test]
fn no_circle_of_imports_has_more_than_three_files() -> Result<()> {
    let imports = imports()?;
    let reach: BTreeMap<&String, BTreeSet<String>> = imports
        .keys()
        .map(|module| (module, reached(&imports, module)))
        .collect();
    let mut circles = BTreeSet::new();
    for (module, reached) in &reach {
        let back = reached
            .iter()
            .filter(|other| reach.get(other).is_some_and(|others| others.contains(*module)));
        let circle: BTreeSet<&String> = back.collect();
        if circle.len() > LARGEST_CIRCLE {
            circles.insert(format!("{circle:?}"));
        }
    }
    assert!(
        circles.is_empty(),
        "these import each other in a circle: {circles:#?}"
    );
    Ok(())
}

#[test]
fn what_a_file_imports_is_noticed() {
    let source = "use crate::a::{b::{c, d}, e as f};\nuse super::{g, self};\nfn f() { crate::h::i(); } // crate::no\n\
        fn j() { below::k(); other::l(); self::m::<crate::n>(); super::super::o() }\n\
        #[cfg(test)]\nmod tests {\nuse crate::t;";
    let modules = BTreeSet::from(["top::own::below".to_owned()]);
    let found: Vec<String> = paths(&code(source))
        .iter()
        .filter_map(|path| from_the_root(path, "top::own", &modules))
        .collect();
    assert_eq!(
        found,
        [
            "a::b::c",
            "a::b::d",
            "a::e",
            "top::g",
            "top",
            "h::i",
            "top::own::below::k",
            "top::own::m",
            "n",
            "o"
        ]
    );
}
