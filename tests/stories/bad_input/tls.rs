//! BMCs whose certificate is not the one that was stated.

use anyhow::{Context as _, Result};
use futures::FutureExt as _;
use futures::future::join_all;
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::refusal::{self, Case, Refused};
use world::{World, objects};

use super::daemon;

fn another_ca() -> Result<String> {
    let key = rcgen::KeyPair::generate()?;
    let mut parameters = rcgen::CertificateParams::new(Vec::new())?;
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    Ok(parameters.self_signed(&key)?.pem())
}

fn cases(another_ca: &str) -> Vec<Case> {
    let named = "BMCEndpoint/{host}";
    let tls = |what, says, tls: Value| {
        Case::new(what, Reason::BmcTlsUntrusted, says).endpoint(move |endpoint| endpoint["tls"] = tls.clone())
    };
    vec![
        tls(
            "another CA",
            &[named, "certificate"],
            json!({"caBundle": another_ca}),
        ),
        tls(
            "another fingerprint",
            &[named, "fingerprint"],
            json!({"fingerprints": ["ab".repeat(32)]}),
        ),
        tls(
            "unverified",
            &[named, "unverified TLS", "the policy demands verified TLS"],
            json!({"insecureSkipVerify": true}),
        ),
        tls(
            "CA bundle of nothing",
            &[named, "certificate"],
            json!({"caBundle": "nothing"}),
        ),
        Case::new(
            "clear text",
            Reason::BmcTlsUntrusted,
            &[named, "clear-text HTTP", "the policy demands verified TLS"],
        )
        .endpoint(|endpoint| {
            let address = endpoint["address"].as_str().expect("is text");
            endpoint["address"] = json!(address.replace("redfish+https", "redfish+http"));
        }),
        tls(
            "CA in a ConfigMap that is not there",
            &[named, "ConfigMap missing-ca", "does not exist"],
            json!({"caBundleFrom": {"kind": "ConfigMap", "name": "missing-ca"}}),
        ),
        tls(
            "CA in a Secret without the key",
            &[named, "has no key bmc.pem"],
            json!({"caBundleFrom": {"kind": "Secret", "name": "wrong-ca-bmc", "key": "bmc.pem"}}),
        ),
        Case::new(
            "fingerprint of nothing in the Secret",
            Reason::BmcTlsUntrusted,
            &["key certificateFingerprints of Secret", "64 hexadecimal digits"],
        )
        .secret(|secret| {
            let secret = secret.as_object_mut().expect("is an object");
            secret.remove("ca.crt");
            secret.insert("certificateFingerprints".to_owned(), json!("AB:CD"));
        }),
        Case::new(
            "CA and fingerprint in one Secret",
            Reason::BmcTlsUntrusted,
            &["has both certificateFingerprints and ca.crt"],
        )
        .secret(|secret| secret["certificateFingerprints"] = json!("ab".repeat(32))),
        Case::new("no trust given", Reason::BmcTlsUntrusted, &[named, "certificate"])
            .secret(|secret| drop(secret.as_object_mut().expect("is an object").remove("ca.crt"))),
        Case::new(
            "certificate swapped",
            Reason::BmcTlsUntrusted,
            &[named, "certificate"],
        )
        .broken_by(|_, host| {
            let swapped = host.bmc.swap_certificate();
            async move { swapped.map(drop).context("the certificate cannot be swapped") }.boxed()
        }),
    ]
}

/// The right fingerprint in some cases, the right CA in the others.
async fn correct(world: &World, one: &Refused<'_>) -> Result<()> {
    let bmc = &one.host.bmc;
    let name = &one.host.name;
    match one.what {
        "another fingerprint" | "unverified" => {
            let fingerprint = bmc.certificate_sha256_fingerprint();
            let tls = json!({"fingerprints": [fingerprint], "insecureSkipVerify": false});
            objects::patch_endpoint(world, name, json!({ "tls": tls })).await?;
        }
        "clear text" => {
            let address = format!("redfish+{}{}", bmc.redfish_url(), bmc.system_path());
            objects::patch_endpoint(world, name, json!({ "address": address })).await?;
        }
        "CA in a ConfigMap that is not there" => {
            objects::create_config_map(world, "missing-ca", json!({"ca.crt": bmc.ca_pem()})).await?;
        }
        "CA in a Secret without the key" => {
            let key = json!({"tls": {"caBundleFrom": {"kind": "Secret", "name": format!("{name}-bmc"), "key": "ca.crt"}}});
            objects::patch_endpoint(world, name, key).await?;
        }
        "fingerprint of nothing in the Secret" | "CA and fingerprint in one Secret" => {
            let fingerprint = format!("{},\n{}", "ab".repeat(32), bmc.certificate_sha256_fingerprint());
            let pinned = json!({"certificateFingerprints": fingerprint, "ca.crt": null});
            objects::patch_secret(world, name, pinned).await?;
        }
        "no trust given" | "certificate swapped" => {
            objects::patch_secret(world, name, json!({"ca.crt": bmc.ca_pem()})).await?;
        }
        _ => {
            objects::patch_endpoint(world, name, json!({"tls": {"caBundle": bmc.ca_pem()}})).await?;
        }
    }
    refusal::goes_on(world, one.host).await
}

#[tokio::test]
async fn invariant_11_an_unverified_bmc_gets_no_credentials_and_a_verified_one_is_used() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = cases(&another_ca()?);
    let world = refusal::make(&daemon.cluster, "tls", &mut cases).await?;
    objects::create_secret(&world, "wrong-ca", json!({"ca.crt": "nothing"})).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;
    for one in &refused {
        refusal::no_credentials_sent(&one.host.bmc).context(one.what)?;
        assert_eq!(one.host.bmc.counters().requests, 0, "{}", one.what);
    }

    let results = join_all(refused.iter().map(|one| correct(&world, one))).await;
    refusal::collect(refused.iter().map(|one| one.what), results)?;
    Ok(())
}
