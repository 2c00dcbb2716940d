//! `version`: which program this is, and which version of its API it speaks.

use std::env::consts::{ARCH, OS};

use clap::Args;
use kube::Resource as _;
use remediator_api::PowerCycleRemediation;
use serde::Serialize;

use crate::cli::show::{Output, table};

/// Arguments of `version`.
#[derive(Debug, Args)]
pub struct VersionArguments {
    /// A table for people, JSON or YAML for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Serialize)]
struct Build {
    version: &'static str,
    /// Group and version of its CustomResourceDefinitions.
    api: String,
    platform: String,
}

pub(super) fn version(arguments: &VersionArguments) -> anyhow::Result<()> {
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        api: PowerCycleRemediation::api_version(&()).into_owned(),
        platform: format!("{OS}/{ARCH}"),
    };
    if arguments.output.for_programs(&build)? {
        return Ok(());
    }
    let row = vec![build.version.to_owned(), build.api, build.platform];
    table(&["VERSION", "API", "PLATFORM"], &[row])
}
