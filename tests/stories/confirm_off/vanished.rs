//! A host of which a person spoke before its BMC could be asked even once: the way to it is in the journal all the same.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams};
use remediator_api::BMCEndpoint;
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::{World, WorldHost, objects};

use super::{LONG, awaits, strategy};

/// When the host is on again, after its Secret is back.
const BACK: Duration = Duration::from_mins(1);

/// A host whose Node is silent, and whose BMC cannot be asked without a Secret, of which a person is asked.
pub(super) async fn is_asked_about(world: &World, host: &WorldHost) -> Result<String> {
    let secrets = Api::<Secret>::namespaced(world.client.clone(), &world.namespace);
    let secret = format!("{}-bmc", host.name);
    secrets.delete(&secret, &DeleteParams::default()).await?;
    world.falls_silent(host).await?;
    let name = world.request(host, strategy()).await?;
    let asked = awaits(world, &name).await?;
    let message = world::journal(&asked).message;
    let missing = Reason::BmcCredentialsMissing.as_str();
    ensure!(message.contains(missing), "{message}");
    Ok(name)
}

/// Its BMCEndpoint goes once the word about it was taken.
pub(super) async fn loses_its_endpoint(world: &World, host: &WorldHost, name: &str) -> Result<()> {
    let is_taken = |journal: &remediator_core::journal::Journal| journal.confirmation.is_some();
    world.remediation_until(name, LONG, is_taken).await?;
    let endpoints = Api::<BMCEndpoint>::namespaced(world.client.clone(), &world.namespace);
    endpoints.delete(&host.name, &DeleteParams::default()).await?;
    Ok(())
}

pub(super) async fn comes_back_with_its_secret(world: &World, host: &WorldHost, name: &str) -> Result<()> {
    let login = json!({
        "username": host.bmc.credentials().username, "password": host.bmc.credentials().password,
        "ca.crt": host.bmc.ca_pem(),
    });
    objects::create_secret(world, &host.name, login).await?;
    let is_on = host.bmc.wait_for(|_| host.transitions() == (1, 1));
    let is_on = tokio::time::timeout(BACK, is_on).await;
    is_on.context("its host stays off, whose BMCEndpoint is gone")??;
    let ended = world.remediation_ended(name, LONG).await?;
    ensure!(world::phase(&ended) == Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}
