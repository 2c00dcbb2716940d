//! What the checkout must be like, without running anything for long.

mod clusterctl;
mod command_line;
mod core_purity;
mod deploy;
mod documents;
mod image;
mod invariants;
mod manifests;
mod monitoring;
mod olm;
mod rooms;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};

/// An empty folder of a test, by a name that no other one has.
fn empty_folder(name: &str) -> anyhow::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
