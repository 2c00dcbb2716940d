//! What the documents say about the checkout is true: links lead somewhere, command lines are accepted, folders exist.

mod commands;
mod links;
mod markdown;
mod reference;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use markdown::Document;
use serde_json::Value;
use world::repository;

/// Documents by their path in the repository.
type Documents = BTreeMap<PathBuf, Document>;

/// Folders with documents, each with those below it.
const FOLDERS: [&str; 2] = ["docs", "bmc-simulator"];

fn documents() -> Result<Documents> {
    let mut files = Vec::new();
    for entry in fs::read_dir(repository())? {
        files.push(entry?.path());
    }
    for folder in FOLDERS {
        below(&repository().join(folder), &mut files)?;
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok((file.strip_prefix(repository())?.to_owned(), Document::read(&text)))
    };
    files.into_iter().map(read).collect()
}

/// The whole objects that the documents show, with `filled` in place of what a reader fills in for a fingerprint.
pub(super) fn objects(filled: &str) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (path, document) in documents()? {
        let whole = |block: &&String| block.starts_with("apiVersion:");
        for block in document.yaml.iter().filter(whole) {
            let block = block.replace("<SHA-256 of the BMC's certificate>", filled);
            let of_block: Vec<Value> =
                serde_saphyr::from_multiple(&block).with_context(|| path.display().to_string())?;
            objects.extend(of_block);
        }
    }
    Ok(objects)
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
