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
