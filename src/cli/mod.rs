//! The subcommands.

pub mod arguments;
pub mod bmc;
mod manifests;
pub mod plan;
mod run;
mod show;

pub use crate::cli::arguments::Arguments;
use crate::cli::arguments::Command;

/// Runs a subcommand to its end.
///
/// # Errors
/// Whatever ends it early, for the exit status.
pub fn execute(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Bmc(arguments) => bmc::bmc(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Manifests(arguments) => manifests::manifests(&arguments),
    }
}
