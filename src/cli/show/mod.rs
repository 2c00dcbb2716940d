//! How subcommands show what they found.

use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use serde::Serialize;

/// How to show what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    // No docstrings: clap would print each on lines of its own.
    Table,
    Json,
    Yaml,
}

impl Output {
    /// Prints a value for programs. Answers `false` where a person is to be shown a table.
    pub(super) fn for_programs(self, value: &impl Serialize) -> anyhow::Result<bool> {
        let text = match self {
            Self::Table => return Ok(false),
            Self::Json => serde_json::to_string(value)? + "\n",
            // Several values are several documents.
            Self::Yaml => format!("---\n{}", serde_saphyr::to_string(value)?),
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        Ok(true)
    }
}

/// What a word in a table says of a host.
fn tone(word: &str) -> Option<&'static str> {
    match word {
        "Healthy" | "yes" => Some("\x1b[32m"),
        "Waiting" | "Skipped" => Some("\x1b[33m"),
        "Unhealthy" | "Unknown" | "no" => Some("\x1b[31m"),
        _ => None,
    }
}

/// Columns whose words have a colour.
const COLOURED: [&str; 2] = ["HEALTH", "READY"];

/// Whether colours are wanted: on a terminal, if nothing speaks against it (<https://no-color.org>).
fn is_coloured(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    is_terminal && !refused && variable("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Prints rows below headings, each column as wide as it needs.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    let coloured = is_coloured(io::stdout().is_terminal(), |name| std::env::var(name).ok());
    let mut out = io::stdout().lock();
    for line in lines(headings, rows, coloured) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn lines(headings: &[&str], rows: &[Vec<String>], coloured: bool) -> Vec<String> {
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(column, heading)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .fold(heading.len(), usize::max)
        })
        .collect();
    let head: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(headings.iter().zip(&widths));
        let cells = cells.map(|(cell, (heading, &width))| {
            let tone = tone(cell).filter(|_| coloured && COLOURED.contains(heading));
            let padded = format!("{cell:<width$}");
            tone.map_or_else(|| padded.clone(), |tone| format!("{tone}{padded}\x1b[0m"))
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(&head).chain(rows).map(line).collect()
}

#[cfg(test)]
mod tests;
