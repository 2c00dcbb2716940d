//! Row by row, what a certificate or a protocol of a BMC leads to.

use anyhow::{Context as _, Result, ensure};
use rcgen::{BasicConstraints, IsCa, date_time_ymd};
use remediator_bmc::{Fingerprint, ServerTrust, TlsFailure};

use super::middle::Middle;
use super::openssl::Identity;
use super::{TLS_1_2, TLS_1_3, authority, connect, made, pins, refused, trusted};

/// Trusted by its fingerprint over this version of TLS, and not by another fingerprint.
async fn pinned(identity: &Identity, options: &[&str], version: &str) -> Result<()> {
    let server = identity.serve(options)?;
    let inspection = trusted(server.address, pins(&[identity])?).await?;
    ensure!(inspection.tls_version == Some(version), "{inspection:?}");
    let seen = identity.pin()?;
    let presented = inspection.certificate.context("no certificate")?;
    ensure!(
        presented.fingerprint == seen && presented.not_after.is_some(),
        "{presented:?}"
    );
    let other = ServerTrust::Fingerprints(vec![Fingerprint([7; 32])]);
    let failure = refused(server.address, other).await?;
    ensure!(failure == TlsFailure::FingerprintMismatch(seen), "{failure}");
    Ok(())
}

/// Refused where exactly this certificate is the authority.
async fn not_by_authority(identity: &Identity, options: &[&str]) -> Result<TlsFailure> {
    let server = identity.serve(options)?;
    refused(server.address, authority(identity)?).await
}

#[tokio::test]
async fn a_proper_certificate_is_trusted_by_authority_and_by_fingerprint() -> Result<()> {
    for identity in [
        made(|_| {})?,
        made(|leaf| leaf.is_ca = IsCa::NoCa)?,
        Identity::version_3("rsa:2048", &[])?,
        Identity::version_3("ec:P-384", &[])?,
    ] {
        for (options, version) in [(TLS_1_3, "TLSv1.3"), (TLS_1_2, "TLSv1.2"), (&[], "TLSv1.3")] {
            pinned(&identity, options, version).await?;
            let server = identity.serve(options)?;
            trusted(server.address, authority(&identity)?).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_in_a_certificate_does_not_matter_to_a_fingerprint() -> Result<()> {
    let factory = made(|leaf| leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))?;
    let expired = made(|leaf| leaf.not_after = date_time_ymd(2020, 1, 1))?;
    let early = made(|leaf| leaf.not_before = date_time_ymd(4000, 1, 1))?;
    let elsewhere = made(|leaf| leaf.subject_alt_names.clear())?;
    let old = TlsFailure::OldVersion;
    for (identity, expected) in [
        (factory, TlsFailure::CaUsedAsEndEntity),
        (expired, TlsFailure::Expired),
        (early, TlsFailure::NotYetValid),
        (elsewhere, TlsFailure::NameMismatch),
        (Identity::version_1("rsa:2048")?, old.clone()),
        (Identity::version_1("ec:P-256")?, old.clone()),
        (Identity::version_1("ec:P-384")?, old),
        (
            Identity::version_3("rsa:2048", &["-sha1"])?,
            TlsFailure::IssuerSignature,
        ),
    ] {
        for (options, version) in [(TLS_1_3, "TLSv1.3"), (TLS_1_2, "TLSv1.2")] {
            pinned(&identity, options, version).await?;
            let failure = not_by_authority(&identity, options).await?;
            ensure!(failure == expected, "{failure:?}");
        }
    }
    // Not only the bytes that webpki cares for are odd on BMCs.
    let negative = Identity::version_3("ec:P-256", &["-set_serial", "-5"])?;
    pinned(&negative, TLS_1_3, "TLSv1.3").await
}

#[tokio::test]
async fn short_rsa_keys_are_verified_over_tls_1_2_by_fingerprint_only() -> Result<()> {
    for identity in [
        Identity::version_3("rsa:1024", &[])?,
        Identity::version_1("rsa:1024")?,
        Identity::version_3("rsa:1536", &[])?,
    ] {
        // With TLS 1.3 and PSS on offer OpenSSL takes them: the second handshake is what these see.
        for options in [TLS_1_2, &[]] {
            pinned(&identity, options, "TLSv1.2").await?;
        }
        // As OpenSSL before 1.1.1, which knows no PSS and takes what is offered first.
        let old = ["-tls1_2", "-sigalgs", "RSA+SHA512:RSA+SHA256"];
        pinned(&identity, &old, "TLSv1.2").await?;
        pinned(&identity, &["-tls1_2", "-sigalgs", "RSA+SHA256"], "TLSv1.2").await?;
    }
    Ok(())
}

#[tokio::test]
async fn short_rsa_keys_that_cannot_be_verified_are_refused() -> Result<()> {
    let short = Identity::version_3("rsa:1024", &[])?;
    let server = short.serve(TLS_1_3)?;
    let failure = refused(server.address, pins(&[&short])?).await?;
    ensure!(failure == TlsFailure::RsaKeyNeedsTls12(1024), "{failure:?}");
    for options in [TLS_1_3, TLS_1_2] {
        let failure = not_by_authority(&short, options).await?;
        ensure!(failure == TlsFailure::RsaKeyTooShort(1024), "{failure:?}");
    }
    let failure = not_by_authority(&Identity::version_1("rsa:1024")?, TLS_1_2).await?;
    ensure!(failure == TlsFailure::OldVersion, "{failure:?}");
    // Anybody with a computer can have this key.
    let shorter = Identity::version_3("rsa:768", &[])?;
    let server = shorter.serve(TLS_1_2)?;
    let failure = refused(server.address, pins(&[&shorter])?).await?;
    ensure!(failure == TlsFailure::RsaKeyTooShort(768), "{failure:?}");
    Ok(())
}

#[tokio::test]
async fn keys_that_nothing_of_ours_verifies_are_refused_with_those_that_we_do() -> Result<()> {
    let identity = Identity::version_3("ec:P-521", &[])?;
    for options in [TLS_1_3, TLS_1_2] {
        let server = identity.serve(options)?;
        let failure = refused(server.address, pins(&[&identity])?).await?;
        ensure!(failure == TlsFailure::HandshakeFailure, "{failure:?}");
        ensure!(failure.to_string().contains("P-256, P-384"), "{failure}");
    }
    Ok(())
}

#[tokio::test]
async fn where_nothing_is_verified_nothing_of_a_certificate_matters() -> Result<()> {
    for identity in [
        made(|leaf| leaf.not_after = date_time_ymd(2020, 1, 1))?,
        Identity::version_1("ec:P-256")?,
        Identity::version_1("rsa:1024")?,
    ] {
        for options in [TLS_1_3, TLS_1_2] {
            let server = identity.serve(options)?;
            trusted(server.address, ServerTrust::Unverified).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_bmc_with_a_short_key_has_one_handshake_a_connection_once_it_is_known() -> Result<()> {
    let (short, proper) = (Identity::version_3("rsa:1024", &[])?, made(|_| {})?);
    let (server, renewed) = (short.serve(&[])?, proper.serve(TLS_1_3)?);
    let middle = Middle::forwarding(server.address).await?;
    // Two fingerprints, so that the certificate can be exchanged while it is watched.
    let mut bmc = connect(middle.address, pins(&[&short, &proper])?).await?;
    for (handshakes, version) in [(2, "TLSv1.2"), (1, "TLSv1.2")] {
        let inspection = bmc.inspect().await?;
        ensure!(inspection.tls_version == Some(version), "{inspection:?}");
        assert_eq!(middle.accepted(), handshakes);
    }
    middle.forward_to(renewed.address);
    for (handshakes, version) in [(2, "TLSv1.3"), (1, "TLSv1.3")] {
        let inspection = bmc.inspect().await?;
        ensure!(inspection.tls_version == Some(version), "{inspection:?}");
        assert_eq!(middle.accepted(), handshakes);
    }
    Ok(())
}

#[tokio::test]
async fn one_of_two_fingerprints_is_enough() -> Result<()> {
    let (before, after) = (Identity::version_1("rsa:2048")?, made(|_| {})?);
    let trust = pins(&[&before, &after])?;
    for identity in [&before, &after] {
        let server = identity.serve(&[])?;
        trusted(server.address, trust.clone()).await?;
    }
    let stranger = made(|_| {})?;
    let server = stranger.serve(&[])?;
    let failure = refused(server.address, trust).await?;
    let seen = stranger.pin()?;
    ensure!(failure == TlsFailure::FingerprintMismatch(seen), "{failure:?}");
    Ok(())
}

#[tokio::test]
async fn protocols_that_are_too_old_are_refused_with_the_ways_out() -> Result<()> {
    let identity = Identity::version_3("rsa:2048", &[])?;
    for (options, expected) in [
        (&["-tls1"][..], TlsFailure::ProtocolVersion),
        (&["-tls1_1"], TlsFailure::ProtocolVersion),
        (
            &["-tls1_2", "-cipher", "AES256-GCM-SHA384:@SECLEVEL=0"],
            TlsFailure::HandshakeFailure,
        ),
        (
            &["-tls1_2", "-cipher", "AES128-SHA:@SECLEVEL=0"],
            TlsFailure::HandshakeFailure,
        ),
        (
            &["-tls1_2", "-cipher", "ECDHE-RSA-AES256-SHA:@SECLEVEL=0"],
            TlsFailure::HandshakeFailure,
        ),
        (
            &["-tls1_2", "-cipher", "DHE-RSA-AES256-GCM-SHA384:@SECLEVEL=0"],
            TlsFailure::HandshakeFailure,
        ),
    ] {
        let server = identity.serve(options)?;
        for trust in [pins(&[&identity])?, authority(&identity)?] {
            let failure = refused(server.address, trust).await?;
            ensure!(failure == expected, "{options:?}: {failure:?}");
            let said = failure.to_string();
            for words in ["Update its firmware", "ipmi://", "RemediationPolicy allows IPMI"] {
                ensure!(said.contains(words), "{said}");
            }
        }
    }
    Ok(())
}
