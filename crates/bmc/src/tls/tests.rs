use super::*;

#[test]
fn fingerprints_are_read_in_every_usual_form() {
    let plain = "ab".repeat(32);
    let colons = vec!["AB"; 32].join(":");
    for text in [
        plain.clone(),
        plain.to_uppercase(),
        colons.clone(),
        format!(" sha256:{plain}\n"),
        format!("SHA256 Fingerprint={colons}"),
    ] {
        assert_eq!(text.parse(), Ok(Fingerprint([0xab; 32])), "{text}");
    }
    assert_eq!(Fingerprint([0xab; 32]).to_string(), colons);
    for text in [
        "",
        "ab",
        &"zz".repeat(32),
        &"ab".repeat(20),
        &plain.replacen('a', "é", 1),
    ] {
        assert_eq!(text.parse::<Fingerprint>(), Err(BadFingerprint), "{text}");
    }
}

#[tokio::test]
async fn unusable_trust_is_an_error() {
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for trust in [
        ServerTrust::CertificateAuthority(String::new()),
        ServerTrust::CertificateAuthority(broken.to_owned()),
        ServerTrust::Fingerprints(vec![]),
    ] {
        let Err(error) = ClientSide::new(&trust).await else {
            panic!("{trust:?}")
        };
        assert_eq!(error.reason(), "BmcTrustUnusable", "{error}");
    }
}
