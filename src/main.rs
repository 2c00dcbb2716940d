//! The program: TLS provider, arguments, subcommand, exit status.

use std::process::ExitCode;

use baremetal_remediator::cli;

#[allow(clippy::print_stderr)] // The last word of a program that could not do its work.
fn main() -> ExitCode {
    // First of all, so that no library chooses another provider.
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        eprintln!("error: another TLS provider was installed before ours; this is a defect of the program");
        return ExitCode::FAILURE;
    }
    match cli::main(std::env::args_os().collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !cli::exit::is_unread(&error) {
                eprintln!("error: {error:#}");
            }
            ExitCode::from(cli::exit::status(&error))
        }
    }
}
