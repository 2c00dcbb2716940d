//! The core decides and does nothing else: no async, no clock, no client, no logging, no randomness.

use std::path::{Path, PathBuf};

/// Identifiers that have no place in pure code. The core is given the time and every fact.
const FORBIDDEN: [&str; 34] = [
    "async",
    "await",
    "Future",
    "tokio",
    "futures",
    "kube",
    "k8s_openapi",
    "reqwest",
    "hyper",
    "tracing",
    "log",
    "SystemTime",
    "Instant",
    "Zoned",
    "rand",
    "getrandom",
    "thread",
    "thread_local",
    "spawn",
    "sleep",
    "Mutex",
    "RwLock",
    "Atomic",
    "AtomicBool",
    "OnceLock",
    "LazyLock",
    "unsafe",
    "fs",
    "env",
    "net",
    "println",
    "eprintln",
    "print",
    "dbg",
];

/// The same, for what only two words in a row tell.
const FORBIDDEN_PATHS: [&str; 3] = ["Timestamp::now", "std::process", "std::io"];

/// What in this source breaks the rule, as `line: word`.
fn impure(source: &str) -> Vec<String> {
    let code = source.lines().zip(1_u32..).filter_map(|(line, number)| {
        let code = line.split("//").next().unwrap_or_default();
        (!code.trim().is_empty()).then_some((number, code))
    });
    code.flat_map(|(number, code)| {
        let words = code.split(|character: char| !character.is_alphanumeric() && character != '_');
        let words = words.filter(|word| FORBIDDEN.contains(word));
        let paths = FORBIDDEN_PATHS.into_iter().filter(|path| code.contains(path));
        let found: Vec<String> = words
            .chain(paths)
            .map(|word| format!("{number}: {word}"))
            .collect();
        found
    })
    .collect()
}

#[expect(clippy::expect_used, reason = "a helper of a test")]
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the core is there") {
        let path = entry.expect("can be listed").path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_core_is_pure() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/core/src");
    let mut files = Vec::new();
    sources(&core, &mut files);
    assert!(
        files.len() >= 15,
        "only {} files found below {}",
        files.len(),
        core.display()
    );

    let breaches: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let source = std::fs::read_to_string(file).expect("can be read");
            let name = file
                .strip_prefix(&core)
                .expect("below the core")
                .display()
                .to_string();
            impure(&source)
                .into_iter()
                .map(move |found| format!("crates/core/src/{name}:{found}"))
        })
        .collect();

    assert!(
        breaches.is_empty(),
        "crates/core/src decides from facts and `now` alone; do this in the shell instead:\n{}",
        breaches.join("\n")
    );
}

#[test]
fn impure_code_is_noticed() {
    let impurities = [
        "async fn step() {}",
        "let now = jiff::Timestamp::now();",
        "let start = std::time::Instant::now();",
        "tracing::info!(\"x\");",
        "    println!(\"{x}\");",
        "use kube::Api;",
        "let x: u8 = rand::random();",
    ];
    for source in impurities {
        assert_eq!(impure(source).len(), 1, "{source}");
    }
    for source in [
        "// no async here",
        "/// Waits for kube.",
        "let instant = now;",
        "\"kubernetes\"",
    ] {
        assert!(impure(source).is_empty(), "{source}");
    }
}
