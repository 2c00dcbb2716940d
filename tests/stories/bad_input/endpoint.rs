//! BMCEndpoints that lead nowhere, or to somewhere else.

use anyhow::Result;
use futures::FutureExt as _;
use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, DeleteParams};
use remediator_api::BMCEndpoint;
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::refusal::{self, Case, Refused};
use world::{World, WorldHost, conditions, objects};

use super::daemon;

fn good_endpoint(one: &Refused<'_>) -> Value {
    json!({
        "machineName": one.host.name,
        "address": one.host.bmc_address,
        "credentialsSecret": {"name": format!("{}-bmc", one.host.name)},
    })
}

async fn correct(world: &World, one: &Refused<'_>) -> Result<()> {
    let endpoints = Api::<BMCEndpoint>::namespaced(world.client.clone(), &world.namespace);
    match one.what {
        "no endpoint" => objects::create_endpoint(world, &one.host.name, good_endpoint(one)).await?,
        "two endpoints" | "one address for two hosts" | "one UUID for two hosts" => {
            let second = format!("{}-second", one.host.name);
            if one.what != "two endpoints" {
                is_refused(world, &second).await?;
            }
            endpoints.delete(&second, &DeleteParams::default()).await?;
        }
        _ => {
            let mut spec = good_endpoint(one);
            spec["systemUUID"] = Value::Null;
            spec["tls"] = Value::Null;
            objects::patch_endpoint(world, &one.host.name, spec).await?;
        }
    }
    refusal::goes_on(world, one.host).await
}

const TWIN: [&str; 3] = [
    "BMCEndpoint {host}-second in namespace",
    "has the address or the system UUID of BMCEndpoint/{host}, too",
    "exactly one",
];

/// A second endpoint that describes the same host.
async fn second(world: &World, host: &WorldHost, spec: Value) -> Result<()> {
    objects::create_endpoint(world, &format!("{}-second", host.name), spec).await
}

/// The other side is told, too.
async fn is_refused(world: &World, endpoint: &str) -> Result<()> {
    let is_said = |condition: &Condition| condition.reason == Reason::HostAmbiguous.as_str();
    let endpoints = objects::ours(world, "BMCEndpoint");
    conditions::until(endpoints, endpoint, "Accepted", refusal::PATIENCE, is_said).await?;
    Ok(())
}

fn cases() -> Vec<Case> {
    let address = |what, reason, says, address: &'static str| {
        Case::new(what, reason, says).endpoint(move |endpoint| endpoint["address"] = json!(address))
    };
    let named = "spec.address of BMCEndpoint/{host}";
    vec![
        Case::new(
            "no endpoint",
            Reason::HostNotFound,
            &["no BMCEndpoint names Machine {host}"],
        )
        .endpoint(|endpoint| *endpoint = Value::Null),
        Case::new(
            "two endpoints",
            Reason::HostAmbiguous,
            &["{host}-second", "all name Machine {host}"],
        )
        .broken_by(|world, host| {
            async move {
                let second = json!({
                    "nodeName": host.name, "address": "redfish://127.0.0.1",
                    "credentialsSecret": {"name": "none"},
                });
                objects::create_endpoint(world, &format!("{}-second", host.name), second).await
            }
            .boxed()
        }),
        Case::new("one address for two hosts", Reason::HostAmbiguous, &TWIN).broken_by(|world, host| {
            let spec = json!({
                "machineName": format!("{}-beside", host.name), "address": format!("{}/", host.bmc_address),
                "credentialsSecret": {"name": "none"},
            });
            async move { second(world, host, spec).await }.boxed()
        }),
        Case::new("one UUID for two hosts", Reason::HostAmbiguous, &TWIN).broken_by(|world, host| {
            let uuid = json!({"systemUUID": host.bmc.system_uuid()});
            let spec = json!({
                "machineName": format!("{}-beside", host.name), "address": "redfish://127.0.0.1:1/redfish/v1/Systems/1",
                "credentialsSecret": {"name": "none"}, "systemUUID": host.bmc.system_uuid(),
            });
            async move {
                objects::patch_endpoint(world, &host.name, uuid).await?;
                second(world, host, spec).await
            }
            .boxed()
        }),
        address(
            "unknown scheme",
            Reason::BmcAddressInvalid,
            &[named, "\"telnet\""],
            "telnet://127.0.0.1",
        ),
        address(
            "a scheme of old",
            Reason::BmcAddressInvalid,
            &[named, "\"ilo4\""],
            "ilo4://127.0.0.1",
        ),
        address(
            "open bracket",
            Reason::BmcAddressInvalid,
            &[named, "brackets"],
            "redfish://[::1/redfish/v1",
        ),
        address(
            "bad port",
            Reason::BmcAddressInvalid,
            &[named, "port"],
            "redfish://127.0.0.1:99999/redfish/v1",
        ),
        address(
            "IPMI",
            Reason::BmcProtocolNotAllowed,
            &["BMCEndpoint/{host}", "spec.bmc.protocols"],
            "ipmi://127.0.0.1",
        ),
        address(
            "outside the networks",
            Reason::BmcAddressNotAllowed,
            &["BMCEndpoint/{host}", "192.0.2.7", "no allowed BMC network"],
            "redfish://192.0.2.7/redfish/v1/Systems/1",
        ),
        address(
            "the metadata service",
            Reason::BmcAddressNotAllowed,
            &["BMCEndpoint/{host}", "169.254.169.254"],
            "redfish://169.254.169.254/redfish/v1/Systems/1",
        ),
        Case::new(
            "placeholder UUID",
            Reason::HostUnreadable,
            &["spec.systemUUID of BMCEndpoint/{host}"],
        )
        .endpoint(|endpoint| endpoint["systemUUID"] = json!("00000000-0000-0000-0000-000000000000")),
        Case::new(
            "bad fingerprint",
            Reason::HostUnreadable,
            &["spec.tls.fingerprints of BMCEndpoint/{host}"],
        )
        .endpoint(|endpoint| endpoint["tls"] = json!({"fingerprints": ["c0:ff:ee"]})),
    ]
}

#[tokio::test]
async fn an_endpoint_that_leads_nowhere_is_named_and_a_corrected_one_is_used() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = cases();
    let world = refusal::make(&daemon.cluster, "endpoint", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;
    for one in &refused {
        refusal::never_contacted(&one.host.bmc)?;
    }

    let results = join_all(refused.iter().map(|one| correct(&world, one))).await;
    refusal::collect(refused.iter().map(|one| one.what), results)?;
    Ok(())
}
