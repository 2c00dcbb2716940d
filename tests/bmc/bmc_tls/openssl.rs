//! HTTPS servers of OpenSSL's `s_server`, with keys, certificates and protocols of its making.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use remediator_bmc::Fingerprint;

/// The resource that the servers answer with.
pub(crate) const SYSTEM: &str = "/redfish/v1/Systems/1";

/// A certificate and its key, in PEM, in a folder of their own. The folder goes when it is dropped.
pub(crate) struct Identity {
    folder: PathBuf,
}

impl Drop for Identity {
    fn drop(&mut self) {
        // What is left behind is below the target folder.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Identity {
    /// Takes a certificate and a key that are there.
    pub(crate) fn of(certificate: &str, key: &str) -> Result<Self> {
        let folder = folder()?;
        std::fs::write(folder.join("cert.pem"), certificate)?;
        std::fs::write(folder.join("key.pem"), key)?;
        Ok(Self { folder })
    }

    /// Of version 3, self-signed and no authority, for 127.0.0.1. `key` is `rsa:BITS` or `ec:CURVE`, `more`
    /// are options of `openssl req`.
    pub(crate) fn version_3(key: &str, more: &[&str]) -> Result<Self> {
        let folder = folder()?;
        write_configuration(&folder)?;
        make_key(&folder, key)?;
        let extended = ["-x509", "-extensions", "leaf"];
        openssl(&folder, &[&REQUEST[..], &extended, more].concat())?;
        Ok(Self { folder })
    }

    /// Of version 1, which has no extensions.
    pub(crate) fn version_1(key: &str) -> Result<Self> {
        let folder = folder()?;
        write_configuration(&folder)?;
        make_key(&folder, key)?;
        // From 3.2 on version 1 has to be asked for by an option that is not known before.
        let asked = openssl(&folder, &[&REQUEST[..], &["-x509", "-x509v1"]].concat());
        if asked.is_err() {
            openssl(&folder, &[&REQUEST[..], &["-x509"]].concat())?;
        }
        let text = openssl(&folder, &["x509", "-in", "cert.pem", "-noout", "-text"])?;
        ensure!(text.contains("Version: 1 (0x0)"), "not of version 1: {text}");
        Ok(Self { folder })
    }

    /// As an administrator would read it.
    pub(crate) fn pin(&self) -> Result<Fingerprint> {
        let options = ["x509", "-in", "cert.pem", "-noout", "-fingerprint", "-sha256"];
        Ok(openssl(&self.folder, &options)?.parse()?)
    }

    pub(crate) fn pem(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.join("cert.pem"))?)
    }

    pub(crate) fn key_pem(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.join("key.pem"))?)
    }

    /// Starts a server on a free port, which serves [`SYSTEM`]. `options` say what it speaks.
    pub(crate) fn serve(&self, options: &[&str]) -> Result<Server> {
        let place = self.folder.join(SYSTEM.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().context("no folder")?)?;
        let body = r##"{"PowerState":"On","Actions":{"#ComputerSystem.Reset":{
            "target":"/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
            "ResetType@Redfish.AllowableValues":["On","ForceOff"]}}}"##;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        std::fs::write(
            place,
            format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
        )?;
        // Level 0 lets it do what it would refuse as too weak.
        let mut child = command(&self.folder)
            .args(["s_server", "-HTTP", "-accept", "127.0.0.1:0"])
            .args(["-cert", "cert.pem", "-key", "key.pem"])
            .args(["-cipher", "ALL:@SECLEVEL=0"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context(MISSING)?;
        let output = child.stdout.take().context("no standard output")?;
        // Its port is in what it says first, when it listens.
        let port = BufReader::new(output).lines().find_map(|line| {
            let line = line.ok()?;
            line.strip_prefix("ACCEPT ")?.parse().ok()
        });
        let server = Server {
            address: port.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0))),
            child,
        };
        ensure!(port.is_some(), "openssl s_server does not start with {options:?}");
        Ok(server)
    }
}

/// What OpenSSL's client says of a server where it trusts this authority (PEM), and of its certificate.
pub(crate) fn presented_by(server: SocketAddr, authority: &str) -> Result<String> {
    let of_authority = Identity::of(authority, "")?;
    let address = server.to_string();
    let options = [
        "s_client",
        "-connect",
        &address,
        "-CAfile",
        "cert.pem",
        "-verify_return_error",
    ];
    let said = openssl(&of_authority.folder, &options)?;
    std::fs::write(of_authority.folder.join("seen.pem"), &said)?;
    let text = openssl(
        &of_authority.folder,
        &["x509", "-in", "seen.pem", "-noout", "-text"],
    )?;
    Ok(said + &text)
}

/// A running server. Ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const MISSING: &str =
    "openssl is not installed; install OpenSSL's command line (Debian: apt-get install openssl)";

const REQUEST: [&str; 10] = [
    "req",
    "-new",
    "-config",
    "openssl.cnf",
    "-key",
    "key.pem",
    "-out",
    "cert.pem",
    "-days",
    "30",
];

fn write_configuration(folder: &Path) -> Result<()> {
    let text = "[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = bmc\n\
                [leaf]\nbasicConstraints = critical,CA:FALSE\nsubjectAltName = IP:127.0.0.1\n";
    Ok(std::fs::write(folder.join("openssl.cnf"), text)?)
}

fn make_key(folder: &Path, key: &str) -> Result<()> {
    let (kind, parameter) = key.split_once(':').context("no parameter")?;
    let (algorithm, option) = match kind {
        "rsa" => ("RSA", format!("rsa_keygen_bits:{parameter}")),
        _ => ("EC", format!("ec_paramgen_curve:{parameter}")),
    };
    let options = [
        "genpkey",
        "-algorithm",
        algorithm,
        "-pkeyopt",
        &option,
        "-out",
        "key.pem",
    ];
    openssl(folder, &options).map(|_| ())
}

fn openssl(folder: &Path, options: &[&str]) -> Result<String> {
    let output = command(folder)
        .args(options)
        .stdin(Stdio::null())
        .output()
        .context(MISSING)?;
    ensure!(
        output.status.success(),
        "openssl {}: {}",
        options.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Without the configuration of the distribution, which may forbid what old BMCs do.
fn command(folder: &Path) -> Command {
    let mut command = Command::new("openssl");
    command.current_dir(folder).env("OPENSSL_CONF", "/dev/null");
    command
}

fn folder() -> Result<PathBuf> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("openssl-{}-{number}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
