//! The subcommands.

pub mod arguments;
pub mod bmc;
mod confirm_off;
pub mod history;
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
        Command::Bmc(arguments) => once(bmc::bmc(&arguments)),
        Command::Plan(arguments) => once(plan::plan(&arguments)),
        Command::History(arguments) => once(history::history(&arguments)),
        Command::ConfirmOff(arguments) => once(confirm_off::confirm_off(&arguments)),
        Command::Run(arguments) => run::run(&arguments),
        Command::Manifests(arguments) => manifests::manifests(&arguments),
    }
}

fn once(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(command);
    // A name that is being resolved holds up a thread for as long as the resolver likes.
    runtime.shutdown_background();
    ended
}
