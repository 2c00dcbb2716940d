//! The image: what its recipe says, and that the program runs with no more than the image has.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use world::rendered::tool;
use world::repository;

use crate::empty_folder;

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
/// What distroless/cc has of these: libc6 and libgcc-s1 of Debian.
const LIBRARIES: [&str; 4] = ["ld-linux", "libc.so.6", "libm.so.6", "libgcc_s.so.1"];

fn read(file: &str) -> Result<String> {
    fs::read_to_string(repository().join(file)).with_context(|| file.to_owned())
}

fn judged_well(judge: &mut Command) -> Result<()> {
    let output = judge.output()?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(
        output.status.success(),
        "{judge:?}: {}",
        String::from_utf8_lossy(&said)
    );
    Ok(())
}

#[test]
fn linters_find_nothing_in_the_recipe_and_the_workflows() -> Result<()> {
    judged_well(tool("hadolint")?.arg("Containerfile"))?;
    // No path: all of .github/workflows. Its helpers are not there everywhere.
    judged_well(tool("actionlint")?.args(["-shellcheck=", "-pyflakes="]))
}

#[test]
fn the_image_is_built_as_the_tests_are_and_runs_as_nobody_by_number() -> Result<()> {
    let recipe = read("Containerfile")?;
    let toolchain = read("rust-toolchain.toml")?;
    let channel = toolchain.lines().find_map(|line| line.strip_prefix("channel = "));
    let channel = channel.context("no channel")?.trim_matches('"');
    let builder = format!("ARG BUILDER=docker.io/library/rust:{channel}-bookworm");
    for line in [builder.as_str(), "USER 65532:65532"] {
        assert!(recipe.lines().any(|one| one == line), "{line}");
    }
    assert!(recipe.contains("build --locked --release --package baremetal-remediator "));
    Ok(())
}

#[test]
fn actions_are_pinned_by_commit() -> Result<()> {
    for entry in fs::read_dir(repository().join(".github/workflows"))? {
        let file = entry?.path();
        let text = fs::read_to_string(&file)?;
        let used = text.lines().filter_map(|line| line.split_once("uses: "));
        for (_, used) in used.filter(|(_, used)| !used.starts_with("./")) {
            let commit = used.split_once('@').and_then(|(_, rest)| rest.split(' ').next());
            let is_commit = |text: &str| text.len() == 40 && text.bytes().all(|one| one.is_ascii_hexdigit());
            assert!(commit.is_some_and(is_commit), "{}: {used}", file.display());
        }
    }
    Ok(())
}

/// The context of the build has what Cargo needs, which no container runtime has to be there to show.
#[test]
fn the_build_gets_every_file_that_cargo_reads() -> Result<()> {
    let context = empty_folder("context")?;
    let ignored = read(".dockerignore")?;
    let kept: Vec<&str> = ignored
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    let left_out: Vec<String> = ignored
        .lines()
        .filter_map(|line| line.strip_prefix("**/"))
        .map(|name| format!("--exclude={name}"))
        .collect();
    let copied = Command::new("bash")
        .current_dir(repository())
        .env("CONTEXT", &context)
        .args([
            "-c",
            "set -o pipefail; tar -c \"$@\" | tar -x -C \"$CONTEXT\"",
            "copy",
        ])
        .args(left_out)
        .args(kept)
        .status()?;
    ensure!(copied.success(), "the context cannot be copied");
    let mut cargo = Command::new(env!("CARGO"));
    // Reads each manifest of the workspace, with the lock file as it is.
    let tree = [
        "tree",
        "--locked",
        "--offline",
        "--package=baremetal-remediator",
        "--edges=normal,build",
    ];
    judged_well(cargo.current_dir(&context).args(tree))?;
    // What the program embeds.
    assert!(context.join("deploy/base/confirm-off.yaml").is_file());
    fs::remove_dir_all(&context)?;
    Ok(())
}

/// The libraries that the program is linked against: names and places.
fn libraries() -> Result<Vec<PathBuf>> {
    let listed = Command::new("ldd").arg(PROGRAM).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let places = listed.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(places.map(PathBuf::from).collect())
}

/// A root with the program and what distroless/cc has for it, and nothing else.
fn root() -> Result<PathBuf> {
    let root = empty_folder("root")?;
    let put = |from: &Path, to: &str| -> Result<()> {
        let place = root.join(to.trim_start_matches('/'));
        fs::create_dir_all(place.parent().context("a folder")?)?;
        // A debug build is large. What is a link itself has to be followed.
        let is_file = fs::symlink_metadata(from)?.is_file();
        if !is_file || fs::hard_link(from, &place).is_err() {
            fs::copy(from, place).with_context(|| from.display().to_string())?;
        }
        Ok(())
    };
    for library in libraries()? {
        let name = library
            .file_name()
            .context("a name")?
            .to_string_lossy()
            .into_owned();
        let is_there = LIBRARIES.iter().any(|known| name.starts_with(known));
        assert!(is_there, "{name} is not in distroless/cc");
        put(&library, &library.to_string_lossy())?;
    }
    put(Path::new(PROGRAM), "usr/local/bin/baremetal-remediator")?;
    Ok(root)
}

/// Runs the program as any user, with that root.
fn inside(root: &Path, arguments: &[&str]) -> Result<Output> {
    let is_root = fs::metadata("/proc/self")?.uid() == 0;
    let mut command = if is_root {
        let mut command = Command::new("chroot");
        command.arg("--userspec=1000700000:0").arg(root);
        command
    } else {
        let mut command = Command::new("unshare");
        command.arg("--map-root-user").arg("--root").arg(root);
        command
    };
    let program = command.arg("/usr/local/bin/baremetal-remediator").args(arguments);
    Ok(program
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()?)
}

#[test]
fn the_program_runs_in_a_root_with_nothing_but_what_the_image_has() -> Result<()> {
    let root = root()?;
    let version = inside(&root, &["--version"])?;
    let said = String::from_utf8_lossy(&version.stdout).into_owned();
    let expected = format!("baremetal-remediator {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&version.stderr));

    let nowhere = inside(&root, &["run"])?;
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert_eq!(nowhere.status.code(), Some(2), "{said}");
    assert!(
        said.contains("KUBECONFIG"),
        "says where a cluster is looked for: {said}"
    );
    assert!(!said.contains("panicked"), "{said}");
    fs::remove_dir_all(&root)?;
    Ok(())
}
