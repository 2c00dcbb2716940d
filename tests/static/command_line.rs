//! The program at a shell: its names, its exit statuses, what it gives to a shell.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Result, ensure};

use crate::empty_folder;

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");

fn run(program: impl AsRef<Path>, words: &[&str]) -> Result<Output> {
    Ok(Command::new(program.as_ref())
        .args(words)
        .env_remove("KUBECONFIG")
        .output()?)
}

fn said(output: Output) -> Result<String> {
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_link_makes_it_a_plugin_of_kubectl() -> Result<()> {
    let folder = empty_folder("plugin")?;
    for name in ["kubectl-pcr", "kubectl_complete-pcr"] {
        symlink(PROGRAM, folder.join(name))?;
    }
    let help = said(run(folder.join("kubectl-pcr"), &["bmc", "off", "--help"])?)?;
    assert!(help.contains("Usage: kubectl pcr bmc off "), "{help}");
    let offered = said(run(folder.join("kubectl_complete-pcr"), &["pl"])?)?;
    assert_eq!(offered, "plan\n:4\n");
    Ok(())
}

#[test]
fn the_exit_status_means_the_same_in_all_commands() -> Result<()> {
    let folder = empty_folder("exit")?;
    let broken = folder.join("broken.jsonl");
    fs::write(&broken, "{}\n")?;
    let broken = broken.to_string_lossy().into_owned();
    for (words, status) in [
        (&["version"][..], 0),
        (&["history", "verify", broken.as_str()], 1),
        (&["plan", "--kubeconfig", "/nowhere"], 1),
        (&["bmc", "status", "x", "--kubeconfig", "/nowhere"], 1),
        (&["plan", "-A", "-n", "x"], 2),
        (&["history", "verify", "/nowhere"], 2),
        (&["confirm-off", "x"], 2),
        (&["no-such-command"], 2),
    ] {
        let output = run(PROGRAM, words)?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert_eq!(said.is_empty(), status == 0, "{words:?}: {said}");
    }
    Ok(())
}

#[test]
fn a_reader_that_has_gone_is_nothing_to_complain_about() -> Result<()> {
    let mut command = Command::new(PROGRAM);
    let piped = command
        .arg("manifests")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
    Ok(())
}

#[test]
fn bash_completes_with_its_script() -> Result<()> {
    let script = "source <(\"$0\" completion bash); COMP_WORDS=(baremetal-remediator bmc st); COMP_CWORD=2; \
        _baremetal__remediator baremetal-remediator st bmc; echo \"${COMPREPLY[@]}\"";
    let completed = said(run("bash", &["-c", script, PROGRAM])?)?;
    assert_eq!(completed, "status\n");
    Ok(())
}

#[test]
fn each_command_has_a_manual_page() -> Result<()> {
    let folder = empty_folder("man")?;
    said(run(PROGRAM, &["man", "--out", &folder.to_string_lossy()])?)?;
    for name in [
        "",
        "-plan",
        "-bmc-check",
        "-history-export",
        "-confirm-off",
        "-run",
    ] {
        let page = fs::read_to_string(folder.join(format!("baremetal-remediator{name}.1")))?;
        assert!(
            page.contains(".TH ") && page.contains(".SH OPTIONS"),
            "{name}: {page}"
        );
    }
    Ok(())
}
