//! What is found: each failure by its reason, and the recovery once it is corrected.

use anyhow::{Context as _, Result};
use bmc_simulator::{CertificateDefect, DecoySpec, Fault, Injection, RequestClass};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::refusal::{self, Case};
use world::{HostOptions, World, WorldHost, objects};

use super::{POLICY, daemon, is_not_ready, is_ready, ready_metric};

pub(crate) fn faulty(
    what: &'static str,
    fault: impl Into<Injection>,
    reason: Reason,
    says: &[&'static str],
) -> Case {
    let fault = fault.into();
    // From the start: the first check may come as soon as the host is described.
    Case::new(what, reason, says).options(|options| {
        options.simulated = Box::new(move |spec| spec.fault(fault.clone()));
    })
}

fn addressed(what: &'static str, reason: Reason, says: &[&'static str], address: &'static str) -> Case {
    Case::new(what, reason, says).endpoint(move |endpoint| endpoint["address"] = json!(address))
}

/// What the policy, the objects or the Secret get wrong.
fn mistakes() -> Vec<Case> {
    let named = "BMCEndpoint/{host}";
    vec![
        addressed(
            "not allowed",
            Reason::BmcAddressNotAllowed,
            &[named, "192.0.2.7"],
            "redfish://192.0.2.7/redfish/v1/Systems/1",
        ),
        addressed(
            "unreachable",
            Reason::BmcUnreachable,
            &[named, "cannot be reached"],
            "redfish://127.0.0.1:1/redfish/v1/Systems/1",
        ),
        addressed(
            "unknown scheme",
            Reason::BmcAddressInvalid,
            &["telnet"],
            "telnet://127.0.0.1",
        ),
        Case::new("no Secret", Reason::BmcCredentialsMissing, &["Secret {host}-bmc"])
            .secret(|secret| *secret = Value::Null),
        Case::new(
            "wrong password",
            Reason::BmcCredentialsRejected,
            &[named, "Secret"],
        )
        .secret(|secret| secret["password"] = json!("Wr0ng-canary-Pa55word")),
        Case::new("no trust given", Reason::BmcTlsUntrusted, &[named, "certificate"])
            .secret(|secret| drop(secret.as_object_mut().expect("is an object").remove("ca.crt"))),
        Case::new("two systems", Reason::BmcSystemAmbiguous, &[named, "2 systems"])
            .options(|options| {
                let uuid = "7d1a2f4e-6c0b-4a55-9a51-2f8a60b1c3d4";
                options.simulated =
                    Box::new(move |spec| spec.system_uuid(uuid).decoy(DecoySpec::new("0").uuid(uuid)));
            })
            .endpoint(|endpoint| {
                let address = endpoint["address"].as_str().expect("is text");
                let (base, _) = address.split_once("/redfish/").expect("has a path");
                endpoint["address"] = json!(base);
            }),
        Case::new("no Node", Reason::NodeMissing, &[named, "no status.nodeRef"])
            .options(|options| options.has_node = false),
        Case::new(
            "Node without a UUID",
            Reason::IdentityUnproven,
            &[named, "Node {host}"],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.system_uuid.clear();
                node
            });
        }),
    ]
}

/// What BMCs get wrong.
fn defects() -> Vec<Case> {
    let named = "BMCEndpoint/{host}";
    let types = "/Actions/#ComputerSystem.Reset/ResetType@Redfish.AllowableValues";
    let only_restarts = Fault::JsonSet {
        pointer: types.to_owned(),
        value: json!(["GracefulRestart", "On"]),
    };
    vec![
        faulty(
            "expired",
            Fault::Certificate(CertificateDefect::Expired),
            Reason::BmcTlsUntrusted,
            &[named, "certificate"],
        ),
        faulty(
            "expires within the month",
            Fault::Certificate(CertificateDefect::ExpiresSoon),
            Reason::BmcCertificateExpiring,
            &[named, "the certificate of the BMC expires on "],
        ),
        faulty(
            "says Off of a host that runs",
            Fault::ReportLiteral(Some("Off".to_owned())),
            Reason::NodeStillReporting,
            &[named, "the BMC says Off, and Node {host} is Ready"],
        ),
        faulty(
            "another UUID",
            Fault::WrongUuid,
            Reason::IdentityMismatch,
            &[named, "Node {host} has"],
        ),
        faulty(
            "no right",
            Fault::http_status(403).on(RequestClass::SystemGet),
            Reason::BmcForbidden,
            &[named, "role Operator"],
        ),
        faulty(
            "HTML",
            Fault::HtmlInsteadOfJson,
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
            "cannot be switched off",
            only_restarts.on(RequestClass::SystemGet),
            Reason::BmcCommandRefused,
            &[named, "ForceOff is not among it"],
        ),
        faulty(
            "a word of its own",
            Fault::ReportLiteral(Some("Hibernating".to_owned())),
            Reason::BmcPowerStateUnknown,
            &[named, "\"Hibernating\""],
        ),
    ]
}

/// What a person would do about it.
async fn correct(world: &World, what: &str, host: &WorldHost) -> Result<bool> {
    let (bmc, name) = (&host.bmc, &host.name);
    bmc.clear_faults();
    let address = json!({"address": format!("redfish+{}{}", bmc.redfish_url(), bmc.system_path())});
    let credentials = bmc.credentials();
    let secret = json!({
        "username": credentials.username, "password": credentials.password, "ca.crt": bmc.ca_pem(),
    });
    match what {
        "no Secret" => objects::create_secret(world, name, secret).await?,
        "wrong password" | "no trust given" => objects::patch_secret(world, name, secret).await?,
        "Node without a UUID" => {
            let uuid = json!({"status": {"nodeInfo": {"systemUUID": bmc.system_uuid()}}});
            Api::<Node>::all(world.client.clone())
                .patch_status(name, &PatchParams::default(), &Patch::Merge(uuid))
                .await?;
        }
        // It would have to be installed.
        "no Node" => return Ok(false),
        _ => objects::patch_endpoint(world, name, address).await?,
    }
    Ok(true)
}

async fn is_found_and_corrected(world: &World, case: &Case, host: &WorldHost) -> Result<()> {
    let daemon = &daemon().await?;
    let metric = ready_metric(world, "BMCEndpoint", &host.name);
    let condition = is_not_ready(world, &host.name, case.reason).await?;
    refusal::useful(&condition.message, case.reason, &case.says, &host.name)?;
    refusal::told(world, &daemon.child, &host.name, case.reason, &case.says).await?;
    daemon.metric_becomes(&metric, Some("0")).await?;
    match case.what {
        "not allowed" | "unreachable" | "unknown scheme" | "no Secret" => {
            refusal::never_contacted(&host.bmc)?;
        }
        "no trust given" | "expired" => refusal::no_credentials_sent(&host.bmc)?,
        _ => {}
    }
    if correct(world, case.what, host).await? {
        is_ready(world, &host.name).await?;
        objects::event(world, &host.name, Reason::BmcReady.as_str()).await?;
        daemon.metric_becomes(&metric, Some("1")).await?;
    }
    refusal::untouched(&host.bmc)
}

async fn all_found_and_corrected(name: &str, mut cases: Vec<Case>) -> Result<()> {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let world = refusal::make(&daemon.cluster, name, &mut cases).await?;
    let checks = cases
        .iter()
        .zip(&world.hosts)
        .map(|(case, host)| is_found_and_corrected(&world, case, host));
    let results = join_all(checks).await;
    refusal::collect(cases.iter().map(|case| case.what), results)?;
    Ok(())
}

#[tokio::test]
async fn what_people_got_wrong_is_found_before_it_is_needed_and_its_correction_is_noticed() -> world::Outcome
{
    Ok(all_found_and_corrected("mistakes", mistakes()).await?)
}

#[tokio::test]
async fn what_bmcs_get_wrong_is_found_before_it_is_needed_and_their_recovery_is_noticed() -> world::Outcome {
    Ok(all_found_and_corrected("defects", defects()).await?)
}

#[tokio::test]
async fn a_ready_host_says_what_was_seen_where_people_look() -> world::Outcome {
    let _policy = POLICY.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "ready", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];

    let condition = is_ready(&world, &host.name).await?;

    assert_eq!(condition.reason, "BmcReady");
    for part in [
        "Redfish with a session",
        "the host is On",
        "its certificate expires on ",
    ] {
        assert!(condition.message.contains(part), "{}", condition.message);
    }
    let namespace = &world.namespace;
    let path = format!("/apis/baremetal-remediator.io/v1alpha1/namespaces/{namespace}/bmcendpoints");
    let table = cluster.get_table(&path).await?;
    for (column, cell) in [("Accepted", "True"), ("Ready", "True"), ("Finding", "BmcReady")] {
        assert_eq!(
            table.column(column).context(column)?,
            [cell],
            "{}",
            table.render()
        );
    }
    Ok(())
}

#[tokio::test]
async fn rejected_credentials_are_tried_once_however_often_the_host_is_checked() -> world::Outcome {
    let _policy = POLICY.read().await;
    let daemon = &daemon().await?;
    let mut cases = [Case::new("wrong password", Reason::BmcCredentialsRejected, &[])
        .secret(|secret| secret["password"] = json!("Wr0ng-canary-Pa55word"))];
    let world = refusal::make(&daemon.cluster, "once", &mut cases).await?;
    let host = &world.hosts[0];
    let condition = is_not_ready(&world, &host.name, Reason::BmcCredentialsRejected).await?;

    // The next check knows that this version was rejected, and says so.
    let latched = super::stands(&world, &host.name, "latched", |condition| {
        condition.message.contains("this version is not tried again")
    });
    let latched = latched.await?;

    assert!(latched.last_transition_time == condition.last_transition_time);
    assert_eq!(refusal::logins(&host.bmc), 1, "{:?}", host.bmc.journal());
    // And so does that of another host behind the same BMC, which counts its logins together.
    let (service, _) = host.bmc_address.split_once("/redfish/").context("has a path")?;
    let beside = json!({
        "machineName": "beside",
        "address": format!("{service}/redfish/v1/Systems/beside"),
        "credentialsSecret": {"name": format!("{}-bmc", host.name)},
    });
    objects::create_endpoint(&world, "beside", beside).await?;
    is_not_ready(&world, "beside", Reason::BmcCredentialsRejected).await?;
    assert_eq!(refusal::logins(&host.bmc), 1, "{:?}", host.bmc.journal());
    // A remediation keeps to it, too.
    refusal::fall_ill(&world, host).await?;
    let (name, reason) = (host.remediation(), Reason::BmcCredentialsRejected);
    refusal::refused(&world, &daemon.child, &name, reason, &[]).await?;
    assert_eq!(refusal::logins(&host.bmc), 1, "{:?}", host.bmc.journal());
    Ok(())
}
