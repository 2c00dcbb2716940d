//! IPMI BMCs of others: OpenIPMI's ipmi_sim, and pyghmi's server.

use std::io::Read as _;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

pub(crate) const USERNAME: &str = "admin";
pub(crate) const PASSWORD: &str = "canary-Pa55word";
pub(crate) const UUID: &str = "61a39523-78f2-41e5-9862-e6402cfc3223";

/// A running BMC. Ends when it is dropped, and its folder with it.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    child: Child,
    folder: PathBuf,
    /// Where ipmi_sim's chassis writes down what it is told.
    log: Option<PathBuf>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // ipmi_sim ignores SIGTERM. Whatever stays behind is below the target folder.
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Peer {
    /// OpenIPMI's ipmi_sim, of Debian's package openipmi. It knows cipher suite 3 and not 17.
    pub(crate) fn ipmi_sim() -> Result<Self> {
        let (folder, address) = (folder("ipmi_sim")?, free_port()?);
        let power = folder.join("power");
        std::fs::write(&power, "1\n")?;
        std::fs::create_dir_all(folder.join("state"))?;
        let chassis = repository().join("tests/peers/ipmi/chassis.sh");
        let lan = format!(
            "name \"peer\"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 {}\n    priv_limit admin\n    \
             allowed_auths_admin none md2 md5 straight\n    guid {}\n  endlan\n  chassis_control \"{} {}\"\n  \
             user 1 true \"\" \"\" user 10 none md2 md5 straight\n  \
             user 2 true \"{USERNAME}\" \"{PASSWORD}\" admin 10 none md2 md5 straight\n",
            address.port(),
            UUID.replace('-', ""),
            chassis.display(),
            power.display(),
        );
        std::fs::write(folder.join("lan.conf"), lan)?;
        std::fs::write(folder.join("sim.emu"), EMULATION)?;
        let child = Command::new("ipmi_sim")
            .arg("-c")
            .arg(folder.join("lan.conf"))
            .arg("-f")
            .arg(folder.join("sim.emu"))
            .arg("-s")
            .arg(folder.join("state"))
            .arg("-n")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("ipmi_sim is not installed; run `make peers`")?;
        Ok(Self {
            name: "ipmi_sim",
            address,
            child,
            log: Some(folder.join("power.log")),
            folder,
        })
    }

    /// pyghmi's server, as virtualbmc uses it. It knows cipher suite 3 only, and says nothing to a user name
    /// that it does not know.
    pub(crate) fn pyghmi() -> Result<Self> {
        let python = target().join("peers/pyghmi/bin/python");
        ensure!(
            python.exists(),
            "pyghmi is not installed in {}; run `make peers`",
            python.display()
        );
        let (folder, address) = (folder("pyghmi")?, free_port()?);
        let child = Command::new(python)
            .arg(repository().join("tests/peers/ipmi/pyghmi-bmc.py"))
            .args([&address.port().to_string(), USERNAME, PASSWORD, UUID])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self {
            name: "pyghmi",
            address,
            child,
            log: None,
            folder,
        })
    }

    /// What was done to the power, in order: true for on. Ends the BMC.
    pub(crate) fn into_power_log(mut self) -> Result<Vec<bool>> {
        self.child.kill()?;
        let text = match &self.log {
            Some(log) => std::fs::read_to_string(log)?,
            None => {
                let mut text = String::new();
                let output = self.child.stdout.take().context("no standard output")?;
                std::io::BufReader::new(output).read_to_string(&mut text)?;
                text
            }
        };
        Ok(text.lines().map(|line| matches!(line, "1" | "on")).collect())
    }
}

/// One management controller without sensors.
const EMULATION: &str = "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n\
                         mc_enable 0x20\n";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", free_port()?.port()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn free_port() -> Result<SocketAddr> {
    Ok(UdpSocket::bind(("127.0.0.1", 0))?.local_addr()?)
}
