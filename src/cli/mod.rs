//! The subcommands.

pub mod arguments;
pub mod bmc;
mod candidates;
mod cluster;
mod confirm_off;
pub mod exit;
pub mod history;
mod manifests;
pub mod plan;
mod program;
mod progress;
mod run;
mod shell;
mod show;
mod usage;
mod version;

use std::ffi::OsString;
use std::io::Write as _;

use crate::cli::arguments::{Arguments, Command};
pub use crate::cli::program::Program;

/// Does what a command line says, whose first word is the name of the program. What means nothing, and whoever asks for help,
/// is answered here, with the end of the process.
///
/// # Errors
/// Whatever ends it early, for the exit status.
pub fn main(words: Vec<OsString>) -> anyhow::Result<()> {
    let program = Program::called(words.first().map(OsString::as_os_str));
    if program == Program::PluginCompletion {
        let words = words
            .iter()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned());
        let lines = candidates::candidates(&program.command(), &words.collect::<Vec<_>>());
        return Ok(writeln!(std::io::stdout().lock(), "{}", lines.join("\n"))?);
    }
    let arguments = program.parse(words).unwrap_or_else(|error| error.exit());
    execute(program, arguments)
}

fn execute(program: Program, arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Bmc(arguments) => once(bmc::bmc(&arguments)),
        Command::Plan(arguments) => once(plan::plan(&arguments)),
        Command::History(arguments) => once(history::history(&arguments)),
        Command::ConfirmOff(arguments) => once(confirm_off::confirm_off(&arguments)),
        Command::Run(arguments) => run::run(&arguments),
        Command::Manifests(arguments) => manifests::manifests(&arguments),
        Command::Version(arguments) => version::version(&arguments),
        Command::Completion(arguments) => shell::completion(program.command(), program.file(), &arguments),
        Command::Man(arguments) => shell::man(program.command(), &arguments),
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
