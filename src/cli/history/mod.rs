//! `history`: what remediations did, for auditors: exported as a chain of hashes, and verified without a cluster.

mod chain;
mod export;
mod record;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use serde_json::json;

use self::chain::Chain;
use crate::cli::cluster::ClusterArguments;
use crate::cli::show::Output;

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct HistoryArguments {
    #[command(subcommand)]
    verb: HistoryVerb,
}

#[derive(Debug, Subcommand)]
enum HistoryVerb {
    /// Print each PowerCycleRemediation as one line of JSON that holds the hash of the line before. The last hash goes to
    /// standard error: keep it elsewhere.
    Export {
        #[command(flatten)]
        cluster: ClusterArguments,
        /// Of all namespaces, which is meant also where none is named: an export is to lack nothing.
        #[arg(short = 'A', long, conflicts_with = "namespace")]
        all_namespaces: bool,
        /// Go on after an earlier export, which is verified first, and leave out what stands there unchanged. The output is
        /// to be appended to that file. An empty file is the beginning.
        #[arg(long, value_name = "FILE")]
        after: Option<PathBuf>,
    },
    /// Check that no line of an export was changed, removed, inserted or moved. Removed lines at the end, and an export that
    /// was made anew as a whole, show only by comparing the last hash with the one that the export printed. Exit status:
    /// 0 whole, 1 broken, 2 not read.
    Verify {
        /// The export; `-` is standard input.
        file: PathBuf,
        /// A line for people, JSON or YAML for programs.
        #[arg(short, long, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
}

/// Ends with this when nothing is known of an export.
#[derive(Debug, thiserror::Error)]
#[error("the export could not be read, so nothing is known of it; name a file that you may read")]
pub struct NotRead;

pub(super) async fn history(arguments: &HistoryArguments) -> anyhow::Result<()> {
    match &arguments.verb {
        HistoryVerb::Export { cluster, after, .. } => {
            // Read to its end before anything is printed, which may go to the same file.
            let earlier = after.as_deref().map(read).transpose()?;
            export::export(cluster, earlier.unwrap_or_default()).await
        }
        HistoryVerb::Verify { file, output } => {
            let Chain { count, last, .. } = read(file)?;
            if output.for_programs(&json!({"records": count, "lastHash": last}))? {
                return Ok(());
            }
            let whole = format!("{count} records, chain whole, last hash {last}");
            Ok(writeln!(io::stdout().lock(), "{whole}")?)
        }
    }
}

/// The chain of an export that is whole.
fn read(file: &Path) -> anyhow::Result<Chain> {
    let open = || -> anyhow::Result<Box<dyn BufRead>> {
        if file == Path::new("-") {
            return Ok(Box::new(io::stdin().lock()));
        }
        Ok(Box::new(BufReader::new(File::open(file).context(NotRead)?)))
    };
    let read = open().and_then(Chain::read);
    read.with_context(|| file.display().to_string())
}
