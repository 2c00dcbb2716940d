//! What a shell is given: completions, and manual pages.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

/// Arguments of `completion`.
#[derive(Debug, Args)]
pub struct CompletionArguments {
    /// The shell.
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Folder to write to, one page a command. Default: the page of the program to standard output.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// `file`: the name of the file that is run.
pub(super) fn completion(
    mut command: Command,
    file: &str,
    arguments: &CompletionArguments,
) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, file, &mut script);
    // clap_complete 4.6.11 gives the functions of bash two names where that of the program has a hyphen
    // (`src/aot/shells/bash.rs`, `fn_name` and `subcommand_details`), and then completes nothing.
    let name = |separator| file.replace('-', separator);
    let script = String::from_utf8(script)?.replace(&name("__subcmd__"), &name("__"));
    Ok(std::io::stdout().lock().write_all(script.as_bytes())?)
}

pub(super) fn man(command: Command, arguments: &ManArguments) -> anyhow::Result<()> {
    let Some(folder) = &arguments.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return Ok(std::io::stdout().lock().write_all(&page)?);
    };
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.with_context(|| format!("cannot write pages to {}", folder.display()))
}
