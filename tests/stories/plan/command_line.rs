//! The command line as kubectl has it: kubeconfig and context by name, the name of the plugin, YAML, clean output.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result};
use world::{World, command, read_documents};

use super::{PROGRAM, planned};

pub(super) async fn is_that_of_kubectl(world: &World, kubeconfig: &Path) -> Result<()> {
    let nowhere = Path::new("/nowhere/kubeconfig");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&world.namespace);
    std::fs::create_dir_all(&folder)?;
    let plugin = folder.join("kubectl-pcr");
    symlink(PROGRAM, &plugin)?;
    let plugin = plugin.to_str().context("the path is no text")?;
    let file = kubeconfig.to_str().context("the path is no text")?;
    let of_context = |context| {
        [
            "plan",
            "-n",
            &world.namespace,
            "--kubeconfig",
            file,
            "--context",
            context,
            "-o",
            "yaml",
        ]
    };

    let (status, out, err) = command::run(plugin, nowhere, &of_context("harness")).await?;
    assert_eq!((status, err.as_str()), (Some(0), ""), "nothing is told to a pipe");
    assert!(!out.contains('\x1b'), "no colour in a pipe: {out}");
    let printed = folder.join("plan.yaml");
    std::fs::write(&printed, &out)?;
    assert_eq!(read_documents(&printed)?, [planned(world, kubeconfig).await?]);

    let (status, out, err) = command::run(plugin, nowhere, &of_context("of-another")).await?;
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(err.contains("of-another"), "{err}");
    let (status, _, err) = command::run(plugin, nowhere, &["plan"]).await?;
    assert_eq!(status, Some(1));
    assert!(
        err.contains("--kubeconfig") && err.contains("/nowhere/kubeconfig"),
        "{err}"
    );
    Ok(std::fs::remove_dir_all(folder)?)
}
