//! What may come next on a command line of `kubectl pcr`, for kubectl's own completion. kubectl runs
//! `kubectl_complete-pcr` with the words so far, the one that is being typed last, and reads candidates a line each,
//! then `:` and a directive
//! (k8s.io/kubectl/pkg/cmd/plugin, `SetupPluginCompletion`; cobra, `ShellCompDirective`).

use clap::{Arg, Command};

/// No names of files: what is named here are objects.
const NO_FILES: &str = ":4";
/// The shell may go on with names of files.
const FILES: &str = ":0";

/// The lines that kubectl reads.
pub(super) fn candidates(command: &Command, words: &[String]) -> Vec<String> {
    let (typed, before) = words
        .split_last()
        .map_or(("", words), |(last, rest)| (last.as_str(), rest));
    let mut at = command;
    for word in before {
        at = at.find_subcommand(word).unwrap_or(at);
    }
    let awaited = before.last().and_then(|last| takes_value(at, last));
    let (mut lines, directive) = match awaited {
        Some(option) => (values(option), if is_file(option) { FILES } else { NO_FILES }),
        None if typed.starts_with('-') => (options(at), NO_FILES),
        None => (words_of(at), NO_FILES),
    };
    lines.retain(|line| line.starts_with(typed));
    lines.push(directive.to_owned());
    lines
}

/// The option of a word that waits for its value.
fn takes_value<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let is_meant = |option: &&Arg| {
        let long = word.strip_prefix("--").filter(|long| !long.is_empty());
        let short = word.strip_prefix('-').and_then(|short| short.parse().ok());
        (long.is_some() && long == option.get_long()) || (short.is_some() && short == option.get_short())
    };
    let mut options = command.get_arguments();
    options
        .find(is_meant)
        .filter(|option| option.get_action().takes_values())
}

fn values(option: &Arg) -> Vec<String> {
    let values = option.get_possible_values();
    values.iter().map(|value| value.get_name().to_owned()).collect()
}

fn is_file(option: &Arg) -> bool {
    let names = option.get_value_names().unwrap_or_default();
    names
        .iter()
        .any(|name| matches!(name.as_str(), "FILE" | "FOLDER"))
}

fn options(command: &Command) -> Vec<String> {
    let longs = command.get_arguments().filter_map(Arg::get_long);
    longs.map(|long| format!("--{long}")).collect()
}

/// Subcommands, or the words that may stand in the place of an argument.
fn words_of(command: &Command) -> Vec<String> {
    let seen = command.get_subcommands().filter(|one| !one.is_hide_set());
    let positionals = command.get_positionals().flat_map(values);
    seen.map(|one| one.get_name().to_owned())
        .chain(positionals)
        .collect()
}

#[cfg(test)]
mod tests;
