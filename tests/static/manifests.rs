//! What `deploy/crds` holds is what the types say.

use std::process::Command;

#[test]
fn the_definitions_that_are_shipped_are_the_ones_that_the_types_make() -> anyhow::Result<()> {
    let checked = Command::new(env!("CARGO_BIN_EXE_baremetal-remediator"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["manifests", "--out", "deploy/crds", "--check"])
        .output()?;
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    Ok(())
}
