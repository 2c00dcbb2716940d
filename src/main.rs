//! The program: TLS provider, arguments, subcommand, exit status.

use std::process::ExitCode;

use baremetal_remediator::cli;
use clap::Parser as _;

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
    match cli::execute(cli::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.is::<cli::bmc::NotConfirmed>() || error.is::<cli::history::NotRead>() {
                return ExitCode::from(2);
            }
            if let Some(interrupted) = error.downcast_ref::<cli::bmc::Interrupted>() {
                return ExitCode::from(interrupted.status);
            }
            ExitCode::FAILURE
        }
    }
}
