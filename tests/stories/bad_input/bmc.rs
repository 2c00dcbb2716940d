//! BMCs that answer nonsense, or not at all.

use anyhow::{Context as _, Result};
use bmc_simulator::{Fault, Injection, RequestClass};
use futures::FutureExt as _;
use futures::future::join_all;
use remediator_core::phase::Reason;
use serde_json::json;
use world::refusal::{self, Case, Refused};
use world::{World, objects};

use super::daemon;

fn faulty(what: &'static str, fault: impl Into<Injection>, reason: Reason, says: &[&'static str]) -> Case {
    let fault = fault.into();
    Case::new(what, reason, says).broken_by(move |_, host| {
        let injected = host.bmc.inject(fault.clone());
        async move { injected.context("the fault is refused") }.boxed()
    })
}

fn cases() -> Vec<Case> {
    let named = "BMCEndpoint/{host}";
    vec![
        faulty(
            "HTML",
            Fault::HtmlInsteadOfJson,
            Reason::BmcProtocolError,
            &[named, "not Redfish"],
        ),
        faulty(
            "HTML once logged in",
            Fault::HtmlInsteadOfJson.on(RequestClass::SystemGet),
            Reason::BmcProtocolError,
            &[named, "not Redfish"],
        ),
        faulty(
            "half of the JSON",
            Fault::TruncatedJson.on(RequestClass::SystemGet),
            Reason::BmcProtocolError,
            &[named, "not Redfish"],
        ),
        faulty(
            "503",
            Fault::http_status(503).on(RequestClass::SystemGet),
            Reason::BmcNotReady,
            &[named, "HTTP 503"],
        ),
        faulty(
            "an account without the right",
            Fault::http_status(403).on(RequestClass::SystemGet),
            Reason::BmcForbidden,
            &[named, "HTTP 403", "role Operator"],
        ),
        faulty(
            "hangs",
            Fault::Hang,
            Reason::BmcUnreachable,
            &[named, "does not answer"],
        ),
        Case::new(
            "closed port",
            Reason::BmcUnreachable,
            &[named, "127.0.0.1:1", "cannot be reached"],
        )
        .endpoint(|endpoint| endpoint["address"] = json!("redfish://127.0.0.1:1/redfish/v1/Systems/1")),
    ]
}

/// The BMC recovers, or its address is corrected.
async fn recover(world: &World, one: &Refused<'_>) -> Result<()> {
    one.host.bmc.clear_faults();
    let address = format!(
        "redfish+{}{}",
        one.host.bmc.redfish_url(),
        one.host.bmc.system_path()
    );
    objects::patch_endpoint(world, &one.host.name, json!({"address": address})).await?;
    refusal::goes_on(world, one.host).await
}

#[tokio::test]
async fn a_bmc_that_makes_no_sense_is_named_and_used_when_it_recovers() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = cases();
    let world = refusal::make(&daemon.cluster, "bmc", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;

    let results = join_all(refused.iter().map(|one| recover(&world, one))).await;
    refusal::collect(refused.iter().map(|one| one.what), results)?;
    Ok(())
}

#[tokio::test]
async fn a_bmc_that_is_busy_for_a_while_is_asked_again() -> world::Outcome {
    let daemon = &daemon().await?;
    let busy = Fault::http_status(503).on(RequestClass::SystemGet).times(1);
    let says = ["BMCEndpoint/{host}", "HTTP 503"];
    let mut cases = [faulty("busy", busy, Reason::BmcNotReady, &says)];
    let world = refusal::make(&daemon.cluster, "busy", &mut cases).await?;
    let host = &world.hosts[0];

    refusal::fall_ill(&world, host).await?;

    refusal::refused(&world, daemon, &host.remediation(), Reason::BmcNotReady, &says).await?;
    Ok(refusal::goes_on(&world, host).await?)
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_gets_no_credentials() -> world::Outcome {
    let daemon = &daemon().await?;
    let says = ["BMCEndpoint/{host}", "redirects", "is not followed"];
    let mut cases = [
        Case::new("before the login", Reason::BmcProtocolError, &says),
        Case::new("after the login", Reason::BmcProtocolError, &says),
    ];
    let thief = bmc_simulator::Simulator::builder()
        .host(bmc_simulator::HostSpec::new("thief").bind(world::own_address()))
        .start()
        .await?;
    let thief = thief.host("thief")?;
    let to = format!("{}{}", thief.redfish_url(), thief.system_path());
    for (case, class) in cases.iter_mut().zip([None, Some(RequestClass::SystemGet)]) {
        let fault = Injection {
            on: class,
            ..Fault::Redirect { to: to.clone() }.into()
        };
        case.breakage = faulty("", fault, case.reason, &[]).breakage;
    }
    let world = refusal::make(&daemon.cluster, "redirect", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;

    refusal::never_contacted(&thief)?;
    for one in &refused {
        assert!(one.host.bmc.counters().requests > 0, "{} was not asked", one.what);
    }
    Ok(())
}
