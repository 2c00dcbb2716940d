//! Links of the documents.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use world::repository;

use super::{Documents, documents};

/// Where a link of a document leads to inside the repository, and behind which anchor. `None`: elsewhere.
fn target(from: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        return Some((from.to_owned(), anchor));
    }
    let mut target = PathBuf::new();
    for part in from.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir => {
                target.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::Prefix(_) | Component::RootDir => target.push(part),
        }
    }
    Some((target, anchor))
}

/// Why a link leads nowhere.
fn dead(documents: &Documents, from: &Path, link: &str) -> Option<String> {
    let (path, anchor) = target(from, link)?;
    let place = from.display();
    if !repository().join(&path).exists() {
        return Some(format!("{place}: {link} is not there"));
    }
    let anchor = anchor?;
    let is_there = documents
        .get(&path)
        .is_some_and(|to| to.anchors.contains(&anchor));
    (!is_there).then(|| format!("{place}: {link} names no heading"))
}

#[test]
fn no_link_is_dead() -> Result<()> {
    let documents = documents()?;
    let links = documents
        .iter()
        .flat_map(|(from, document)| document.links.iter().map(move |link| (from, link)));
    let dead: Vec<String> = links
        .filter_map(|(from, link)| dead(&documents, from, link))
        .collect();
    assert!(dead.is_empty(), "{}", dead.join("\n"));
    Ok(())
}

#[test]
fn a_dead_link_is_noticed() -> Result<()> {
    let documents = documents()?;
    let from = Path::new("docs/README.md");
    for (link, is_dead) in [
        ("no-such.md", true),
        ("install.md#no-such", true),
        ("../README.md", false),
        ("#no-such", true),
        ("https://example.com/no-such", false),
    ] {
        assert_eq!(dead(&documents, from, link).is_some(), is_dead, "{link}");
    }
    Ok(())
}

#[test]
fn every_document_is_reached_from_the_index() -> Result<()> {
    let documents = documents()?;
    let (mut reached, mut next) = (BTreeSet::new(), vec![PathBuf::from("docs/README.md")]);
    while let Some(path) = next.pop() {
        let links = documents.get(&path).map(|document| document.links.as_slice());
        let targets = links
            .unwrap_or_default()
            .iter()
            .filter_map(|link| target(&path, link));
        next.extend(
            targets
                .map(|(path, _)| path)
                .filter(|path| !reached.contains(path)),
        );
        reached.insert(path);
    }
    let mut files = Vec::new();
    super::below(&repository().join("docs"), &mut files)?;
    for file in files {
        let path = file.strip_prefix(repository())?;
        assert!(
            reached.contains(path),
            "no link leads from docs/README.md to {}",
            path.display()
        );
    }
    Ok(())
}
