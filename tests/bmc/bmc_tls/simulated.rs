//! The simulator's certificates, to the daemon and to OpenSSL.

use anyhow::{Result, ensure};
use bmc_simulator::{CertificateDefect, Fault, HostSpec, Simulator};
use remediator_bmc::{ServerTrust, TlsFailure};

use super::openssl::presented_by;
use super::refused;

#[tokio::test(flavor = "multi_thread")]
async fn its_certificates_of_version_1_are_what_they_say() -> Result<()> {
    let simulator = Simulator::builder().hosts([HostSpec::new("a")]).start().await?;
    let [host] = simulator.hosts() else {
        anyhow::bail!("one host")
    };
    host.inject(Fault::Certificate(CertificateDefect::X509V1))?;
    let authority = host.ca_pem();
    let text = presented_by(host.address(), &authority)?;
    ensure!(text.contains("Verification: OK"), "{text}");
    ensure!(
        text.contains("Version: 1 (0x0)") && !text.contains("X509v3"),
        "{text}"
    );
    let failure = refused(host.address(), ServerTrust::CertificateAuthority(authority)).await?;
    ensure!(failure == TlsFailure::OldVersion, "{failure:?}");
    Ok(())
}
