//! The name that the program is called by, and how its command line looks under it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::cli::arguments::Arguments;

/// By what name the program was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// By its own.
    Itself,
    /// As `kubectl pcr`: kubectl looks for `kubectl-pcr` in PATH.
    Plugin,
    /// By kubectl's completion, which looks for `kubectl_complete-pcr` in PATH.
    PluginCompletion,
}

/// What concerns the Pod and the release, and nobody who has a kubectl at hand.
const NOT_FOR_PEOPLE: [&str; 3] = ["run", "manifests", "man"];

impl Program {
    /// By the first word of the command line, which is a path.
    pub fn called(first: Option<&OsStr>) -> Self {
        let name = first.and_then(|first| Path::new(first).file_name());
        match name.and_then(OsStr::to_str) {
            Some("kubectl-pcr") => Self::Plugin,
            Some("kubectl_complete-pcr") => Self::PluginCompletion,
            Some(_) | None => Self::Itself,
        }
    }

    /// The name of the file that is run.
    pub fn file(self) -> &'static str {
        match self {
            Self::Itself => "baremetal-remediator",
            Self::Plugin | Self::PluginCompletion => "kubectl-pcr",
        }
    }

    /// The command line as this name shows it.
    pub fn command(self) -> clap::Command {
        let command = Arguments::command();
        match self {
            Self::Itself => command.bin_name(self.file()),
            Self::Plugin | Self::PluginCompletion => {
                let command = command.name(self.file()).bin_name("kubectl pcr");
                NOT_FOR_PEOPLE.into_iter().fold(command, |command, name| {
                    command.mut_subcommand(name, |one| one.hide(true))
                })
            }
        }
    }

    /// What a command line means.
    ///
    /// # Errors
    /// When it means nothing, or asks for help or the version. The error says so as a person has to be told.
    pub fn parse(self, words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
        let mut command = self.command();
        let found = command.try_get_matches_from_mut(words)?;
        Arguments::from_arg_matches(&found).map_err(|error| error.format(&mut command))
    }
}

#[cfg(test)]
mod tests;
