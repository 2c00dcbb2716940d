//! Secrets that cannot be used, and logins that the BMC rejects.

use std::sync::Arc;

use anyhow::Result;
use bmc_simulator::{Entry, Event};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use remediator_bmc::{FOR_ADDRESSES, FOR_FINGERPRINTS};
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::refusal::{self, Case};
use world::{World, WorldHost, objects};

use super::daemon;

const OTHER_FINGERPRINT: &str = "abababababababababababababababababababababababababababababababab";

#[tokio::test]
async fn a_secret_without_credentials_is_named_and_a_corrected_one_is_used() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [
        Case::new(
            "no Secret",
            Reason::BmcCredentialsMissing,
            &["Secret {host}-bmc", "does not exist"],
        )
        .secret(|secret| *secret = Value::Null),
        Case::new(
            "no password",
            Reason::BmcCredentialsMissing,
            &["Secret {host}-bmc", "no key \"password\""],
        )
        .secret(|secret| drop(secret.as_object_mut().expect("is an object").remove("password"))),
        Case::new(
            "empty password",
            Reason::BmcCredentialsMissing,
            &["Secret {host}-bmc", "\"password\"", "is empty"],
        )
        .secret(|secret| secret["password"] = json!(" \n")),
        Case::new(
            "colon in the user name",
            Reason::BmcCredentialsMissing,
            &["Secret {host}-bmc", "\"username\"", "colon"],
        )
        .secret(|secret| secret["username"] = json!("ad:min")),
        Case::new(
            "unusable CA",
            Reason::BmcTlsUntrusted,
            &["BMCEndpoint/{host}", "certificate"],
        )
        .secret(|secret| secret["ca.crt"] = json!("no certificate at all")),
    ];
    let world = refusal::make(&daemon.cluster, "secret", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;
    for one in &refused {
        refusal::never_contacted(&one.host.bmc)?;
    }

    for one in &refused {
        let credentials = one.host.bmc.credentials();
        let good = json!({
            "username": credentials.username, "password": credentials.password, "ca.crt": one.host.bmc.ca_pem(),
        });
        if one.what == "no Secret" {
            objects::create_secret(&world, &one.host.name, good).await?;
        } else {
            objects::patch_secret(&world, &one.host.name, good).await?;
        }
    }
    let going_on = refused.iter().map(|one| refusal::goes_on(&world, one.host));
    let results = futures::future::join_all(going_on).await;
    refusal::collect(refused.iter().map(|one| one.what), results)?;
    Ok(())
}

#[tokio::test]
async fn a_rejected_login_is_tried_once_and_again_when_the_secret_changes() -> world::Outcome {
    let daemon = &daemon().await?;
    let wrong = "Wr0ng-canary-Pa55word";
    let mut cases = [Case::new(
        "wrong password",
        Reason::BmcCredentialsRejected,
        &["{host}", "Secret"],
    )
    .secret(move |secret| secret["password"] = json!(wrong))];
    let world = refusal::make(&daemon.cluster, "rejected", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;
    let host = refused[0].host;
    assert_eq!(refusal::logins(&host.bmc), 1, "{:?}", host.bmc.journal());

    // The next round knows that this version was rejected, and does not even connect.
    let connections = host.bmc.counters().tcp_connections;
    let latched = |journal: &remediator_core::journal::Journal| {
        journal.message.contains("this version is not tried again")
    };
    world
        .remediation_until(&host.remediation(), refusal::PATIENCE, latched)
        .await?;
    assert_eq!(refusal::logins(&host.bmc), 1);
    assert_eq!(host.bmc.counters().tcp_connections, connections);

    let right = json!({"password": host.bmc.credentials().password});
    objects::patch_secret(&world, &host.name, right).await?;
    refusal::goes_on(&world, host).await?;
    // A reading that breaks off on a busy machine is begun anew, with a login of its own. What locks accounts is the
    // rejected one.
    let journal = host.bmc.journal();
    let is_rejected = |entry: &&Arc<Entry>| matches!(entry.event, Event::AuthFailed { .. });
    assert_eq!(journal.iter().filter(is_rejected).count(), 1, "{journal:?}");
    Ok(())
}

/// Its annotations; those of earlier calls stay.
async fn annotate(world: &World, host: &WorldHost, annotations: Value) -> Result<()> {
    let secrets = Api::<Secret>::namespaced(world.client.clone(), &world.namespace);
    let change = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let name = format!("{}-bmc", host.name);
    secrets.patch(&name, &PatchParams::default(), &change).await?;
    Ok(())
}

fn bound(what: &'static str, says: &[&'static str], annotation: &'static str, value: &'static str) -> Case {
    let named = ["Secret", "{host}-bmc is not offered", annotation];
    let says: Vec<_> = named.into_iter().chain(says.iter().copied()).collect();
    Case::new(what, Reason::BmcCredentialsForOthers, &says)
        .broken_by(move |world, host| Box::pin(annotate(world, host, json!({annotation: value}))))
}

#[tokio::test]
async fn a_secret_that_is_for_other_bmcs_is_offered_to_none_until_it_is_for_this_one() -> world::Outcome {
    let daemon = &daemon().await?;
    let unpinned = "not verified by fingerprints";
    let mut cases = [
        bound(
            "another address",
            &["does not name 127."],
            FOR_ADDRESSES,
            "192.0.2.1, bmc.example",
        ),
        bound("a network", &["must hold hosts"], FOR_ADDRESSES, "127.0.0.0/8"),
        bound("nothing", &["must hold hosts"], FOR_ADDRESSES, ""),
        bound(
            "an unknown annotation",
            &["are known"],
            "baremetal-remediator.io/for-address",
            "127.0.0.1",
        ),
        bound("no fingerprint", &["must hold SHA-256"], FOR_FINGERPRINTS, "ab"),
        bound("a CA", &[unpinned], FOR_FINGERPRINTS, OTHER_FINGERPRINT),
        bound(
            "another fingerprint",
            &["names none"],
            FOR_FINGERPRINTS,
            OTHER_FINGERPRINT,
        )
        .broken_by(|world, host| {
            Box::pin(async move {
                let fingerprint = host.bmc.certificate_sha256_fingerprint();
                let tls = json!({"tls": {"fingerprints": [fingerprint]}});
                objects::patch_endpoint(world, &host.name, tls).await?;
                annotate(world, host, json!({FOR_FINGERPRINTS: OTHER_FINGERPRINT})).await
            })
        }),
    ];
    let world = refusal::make(&daemon.cluster, "bound", &mut cases).await?;
    let refused = refusal::all_refused(&world, daemon, &cases).await?;
    for one in &refused {
        refusal::never_contacted(&one.host.bmc)?;
    }

    for one in &refused {
        let bmc = &one.host.bmc;
        let mut right = json!({
            FOR_ADDRESSES: format!("192.0.2.1,{}", bmc.address()), FOR_FINGERPRINTS: null,
            "baremetal-remediator.io/for-address": null,
        });
        if one.what == "another fingerprint" {
            right[FOR_FINGERPRINTS] = json!(bmc.certificate_sha256_fingerprint());
        }
        annotate(&world, one.host, right).await?;
    }
    let going_on = refused.iter().map(|one| refusal::goes_on(&world, one.host));
    let results = futures::future::join_all(going_on).await;
    refusal::collect(refused.iter().map(|one| one.what), results)?;
    Ok(())
}
