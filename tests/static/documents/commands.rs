//! Command lines of the documents.

use std::ffi::OsString;

use anyhow::Result;
use baremetal_remediator::cli::Program;
use clap::error::ErrorKind;
use world::repository;

use super::documents;
use super::markdown::Document;

/// Ends a simple command in a shell.
const ENDS: [&str; 7] = ["|", ">", ">>", "<", "&&", "||", ";"];

/// The words of a command line up to its end. What a reader has to fill in, such as `<name>`, counts as a word.
fn words(line: &str) -> Vec<String> {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let is_name = |text: &str| {
            text.chars()
                .all(|one| one.is_alphanumeric() || " -'.".contains(one))
        };
        rest = match after.split_once('>') {
            Some((name, after)) if !name.starts_with(' ') && is_name(name) => {
                filled.push_str(&name.replace([' ', '\''], "-"));
                after
            }
            Some(_) | None => {
                filled.push('<');
                after
            }
        };
    }
    filled.push_str(rest);
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for one in filled.chars() {
        match (quote, one) {
            (Some(mark), _) if one == mark => quote = None,
            (None, '"' | '\'') => {
                quote = Some(one);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (Some(_) | None, _) => word.get_or_insert_default().push(one),
        }
    }
    words.extend(word);
    let end = words.iter().position(|word| ENDS.contains(&word.as_str()));
    words.truncate(end.unwrap_or(words.len()));
    words
}

/// What our own parser says against a command line; nothing against one of another program.
fn refusal(line: &str) -> Option<String> {
    let words = words(line);
    let all: Vec<&str> = words.iter().map(String::as_str).collect();
    let (program, arguments) = match all.as_slice() {
        ["kubectl", "pcr", arguments @ ..] => (Program::Plugin, arguments),
        ["baremetal-remediator", arguments @ ..] => (Program::Itself, arguments),
        _ => return None,
    };
    if arguments.is_empty() {
        return None;
    }
    let words = std::iter::once("program")
        .chain(arguments.iter().copied())
        .map(OsString::from);
    let error = program.parse(words).err()?;
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!is_answer).then(|| format!("{line}: {error}"))
}

/// Whatever of a document may be a command line.
fn lines(document: &Document) -> impl Iterator<Item = &String> {
    document.shell.iter().chain(&document.code)
}

#[test]
fn every_command_line_is_one() -> Result<()> {
    let (mut wrong, mut seen) = (Vec::new(), 0_usize);
    for (path, document) in documents()? {
        for line in lines(&document) {
            let is_ours = ["kubectl pcr ", "baremetal-remediator "]
                .iter()
                .any(|name| line.starts_with(name));
            seen = seen.saturating_add(usize::from(is_ours));
            wrong.extend(refusal(line).map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 30, "only {seen} command lines were found");
    Ok(())
}

#[test]
fn a_wrong_command_line_is_noticed() {
    for line in [
        "kubectl pcr plna -A",
        "kubectl pcr plan -A -n <namespace>",
        "baremetal-remediator bmc check --al",
        "baremetal-remediator history verify",
    ] {
        assert!(refusal(line).is_some(), "{line}");
    }
    for line in [
        "kubectl pcr plan <machine> # why",
        "baremetal-remediator history export --after a.jsonl >> a.jsonl",
        "kubectl pcr confirm-off <name> --node <node> --reason \"it is # dark\"",
        "kubectl get pcr -A",
        "baremetal-remediator --help",
    ] {
        assert_eq!(refusal(line), None);
    }
}

#[test]
fn every_folder_that_is_applied_is_there() -> Result<()> {
    let mut seen = 0_usize;
    for (path, document) in documents()? {
        for line in lines(&document).filter(|line| line.starts_with("kubectl ")) {
            let words = words(line);
            let mut folders = words.iter().skip_while(|word| *word != "-k").skip(1);
            if let Some(folder) = folders.next() {
                let file = repository().join(folder).join("kustomization.yaml");
                assert!(file.is_file(), "{}: {line}", path.display());
                seen = seen.saturating_add(1);
            }
        }
        let named = lines(&document)
            .flat_map(|line| words(line))
            .filter(|word| word.starts_with("deploy/"));
        for name in named {
            let name = name.trim_end_matches([',', '.', ':']);
            assert!(repository().join(name).exists(), "{}: {name}", path.display());
        }
    }
    assert!(seen > 3, "only {seen} folders were found");
    Ok(())
}

#[test]
fn every_target_of_make_is_there() -> Result<()> {
    let makefile = std::fs::read_to_string(repository().join("Makefile"))?;
    for (path, document) in documents()? {
        for line in lines(&document) {
            let words = words(line);
            let mut rest = words.iter().skip_while(|word| word.contains('='));
            if rest.next().is_none_or(|first| first != "make") {
                continue;
            }
            if let Some(target) = rest.next() {
                let is_there = makefile
                    .lines()
                    .any(|line| line.starts_with(&format!("{target}:")));
                assert!(is_there, "{}: {line}", path.display());
            }
        }
    }
    Ok(())
}
