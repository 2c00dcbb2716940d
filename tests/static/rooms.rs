//! Rooms import downwards only, and files inside a room do not import each other in circles of many.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The rooms under `src`, from the top to the bottom. One imports only those below it.
const ROOMS: [&str; 17] = [
    "main",
    "lib",
    "cli",
    "daemon",
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

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
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

/// Every path of this crate that a source names outside its tests, groups taken apart.
fn paths(source: &str) -> Vec<String> {
    let code: Vec<&str> = source
        .split("#[cfg(test)]\nmod tests {")
        .take(1)
        .flat_map(str::lines)
        .filter_map(|line| line.split("//").next())
        .collect();
    let code = code.join(" ");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = code.get(at..).unwrap_or_default();
        let end = rest
            .find(|one: char| !one.is_alphanumeric() && one != '_' && one != ':')
            .unwrap_or(rest.len());
        let (path, after) = rest.split_at(end);
        let path = path.trim_start_matches("crate::");
        match after.strip_prefix('{').and_then(|group| group.split_once('}')) {
            Some((group, _)) => {
                let names = group
                    .split(',')
                    .map(|name| name.split_whitespace().next().unwrap_or_default());
                found.extend(names.map(|name| format!("{path}{name}")));
            }
            None => found.push(path.to_owned()),
        }
    }
    found
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
        let named = paths(&text);
        let named = named.iter().filter_map(|path| longest(path, &modules));
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
    let source = "use crate::a::{b, c as d};\nfn f() { crate::e::g(); } // crate::no\n#[cfg(test)]\nmod tests {\nuse crate::t;";
    assert_eq!(paths(source), ["a::b", "a::c", "e::g"]);
}
