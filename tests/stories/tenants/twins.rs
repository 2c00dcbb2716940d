//! Two namespaces describe one host, and each has a login that reaches it: nobody can tell whose it is, so neither powers it
//! off, in any path, until only one of them reaches it. What is only claimed is in the table of attempts.

use anyhow::{Context as _, Result, ensure};
use harness::{AUDITED_GROUP, Cluster};
use http::Method;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::holding::Holding;
use world::{HostOptions, World, WorldHost, acts, command, conditions, install, objects, refusal};

use super::allowed::is_because;
use super::attempt::Victim;
use super::{DAEMON, LONG, control_plane, policy};

const TWIN: &str = "twin";

/// A namespace whose objects describe a host of a world, too.
struct Twin<'a> {
    world: &'a World,
    namespace: String,
    host: &'a WorldHost,
}

impl<'a> Twin<'a> {
    /// With the login that the BMC takes.
    async fn of(world: &'a World, host: &'a WorldHost) -> Result<Self> {
        let namespace = world.cluster.namespace("twin").await?;
        install::allow_secrets(&world.client, &namespace).await?;
        let twin = Self {
            world,
            namespace,
            host,
        };
        let login = host.bmc.credentials();
        let data =
            json!({"username": login.username, "password": login.password, "ca.crt": host.bmc.ca_pem()});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"}, "stringData": data,
        });
        let endpoint = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint", "metadata": {"name": TWIN},
            "spec": {
                "nodeName": host.name, "address": host.bmc_address, "credentialsSecret": {"name": "bmc"},
            },
        });
        twin.apply(secret).await?;
        twin.apply(endpoint).await?;
        Ok(twin)
    }

    async fn apply(&self, object: Value) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(object)?;
        let types = object.types.clone().context("no kind")?;
        let kind = ApiResource::from_gvk(&GroupVersionKind::try_from(types)?);
        let api = Api::<DynamicObject>::namespaced_with(self.world.client.clone(), &self.namespace, &kind);
        let (name, parameters) = (object.metadata.name.clone(), PatchParams::apply("story").force());
        api.patch(&name.context("no name")?, &parameters, &Patch::Apply(object))
            .await?;
        Ok(())
    }

    fn remediations(&self) -> Api<PowerCycleRemediation> {
        Api::namespaced(self.world.client.clone(), &self.namespace)
    }

    async fn asks(&self) -> Result<()> {
        self.apply(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": TWIN}, "spec": {"nodeName": self.host.name},
        }))
        .await
    }

    async fn waits(&self) -> Result<PowerCycleRemediation> {
        let waits = |one: Option<&PowerCycleRemediation>| {
            one.is_some_and(|one| world::journal(one).reason == Reason::HostAmbiguous.as_str())
        };
        let found = harness::await_condition(self.remediations(), TWIN, waits);
        let found = tokio::time::timeout(LONG, found)
            .await
            .context("it does not wait")??;
        found.context("it is gone")
    }

    /// Both endpoints say whose else the host is.
    async fn is_told_of_both(&self) -> Result<()> {
        let theirs = endpoints(self.world, &self.namespace);
        let ours = endpoints(self.world, &self.world.namespace);
        for kind in ["Accepted", "Ready"] {
            for (api, name, other) in [
                (theirs.clone(), TWIN, &self.world.namespace),
                (ours.clone(), self.host.name.as_str(), &self.namespace),
            ] {
                let refused = |one: &_| is_because(one, Reason::HostAmbiguous);
                let said = conditions::until(api, name, kind, LONG, refused).await?;
                ensure!(said.message.contains(other.as_str()), "{}", said.message);
            }
        }
        Ok(())
    }

    /// What the daemon writes once it has checked the BMC, sooner than it does.
    async fn is_found(&self) -> Result<()> {
        let daemon = self.world.cluster.client_as(world::DAEMON_USER, &[]).await?;
        let found = json!({"generation": 1, "systemUUID": self.host.bmc.system_uuid()});
        let status = Patch::Merge(json!({"status": {"found": found}}));
        let api = Api::<BMCEndpoint>::namespaced(daemon, &self.namespace);
        api.patch_status(TWIN, &PatchParams::default(), &status).await?;
        Ok(())
    }

    /// Another password is in its Secret, which the BMC refuses.
    async fn loses_its_login(&self) -> Result<()> {
        self.apply(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"}, "stringData": {"password": "guessed"},
        }))
        .await
    }

    async fn is_removed(&self) -> Result<()> {
        let api = Api::<BMCEndpoint>::namespaced(self.world.client.clone(), &self.namespace);
        api.delete(TWIN, &DeleteParams::default()).await?;
        Ok(())
    }
}

fn endpoints(world: &World, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("baremetal-remediator.io", "v1alpha1", "BMCEndpoint");
    Api::namespaced_with(world.client.clone(), namespace, &ApiResource::from_gvk(&kind))
}

/// What is planned for the Machine of a host, by whoever plans in its namespace only.
async fn planned(cluster: &Cluster, world: &World, host: &WorldHost) -> Result<Value> {
    const PLANNER: &str = "somebody-who-plans-beside-twins";
    install::allow_planning(&world.client, PLANNER).await?;
    let kubeconfig = cluster.kubeconfig_for(PLANNER, &[AUDITED_GROUP])?;
    let arguments = ["plan", "-n", &world.namespace, "-o", "json"];
    let (status, out, err) = command::run(DAEMON, &kubeconfig, &arguments).await?;
    ensure!(status == Some(0), "{err}");
    let found: Value = serde_json::from_str(&out)?;
    let all = found["machines"].as_array().into_iter().flatten();
    let mut of_host = all.filter(|one| one["machine"] == json!(host.name));
    Ok(of_host.next().context("it is not planned for")?.clone())
}

#[tokio::test]
async fn a_host_that_two_namespaces_reach_is_powered_off_by_neither_until_one_of_them_does_not()
-> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "twins", vec![Victim::Node.options()]).await?;
    world::set_policy(&world.client, policy()).await?;
    let host = &world.hosts[0];
    let twin = Twin::of(&world, host).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    twin.is_told_of_both().await?;

    world.falls_silent(host).await?;
    objects::create_remediation(&world, "ours", json!({"nodeName": host.name})).await?;
    twin.asks().await?;
    let ours = world
        .remediation_says("ours", Reason::HostAmbiguous, &twin.namespace)
        .await?;
    let theirs = world::journal(&twin.waits().await?).message;
    assert!(theirs.contains(&world.namespace), "{theirs}");
    assert_eq!(world::journal(&ours).attempt, 0);

    // Also to whoever has just begun to look.
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    twin.loses_its_login().await?;
    let ended = world.remediation_ended("ours", LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn a_health_check_asks_nothing_of_a_host_that_two_namespaces_reach_and_plan_says_why() -> world::Outcome
{
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "twins-checked", vec![HostOptions::default()]).await?;
    world::set_policy(&world.client, policy()).await?;
    world.health_check().await?;
    let host = &world.hosts[0];
    let twin = Twin::of(&world, host).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    twin.is_told_of_both().await?;

    world.falls_silent(host).await?;
    let refused = objects::event(&world, &host.name, Reason::HostAmbiguous.as_str()).await?;
    assert!(refused.contains(&twin.namespace), "{refused}");
    assert!(!objects::is_triggered(&world, &host.name).await?);
    let plan = planned(cluster, &world, host).await?.to_string();
    assert!(
        plan.contains("HostAmbiguous") && plan.contains(&twin.namespace),
        "{plan}"
    );
    refusal::untouched(&host.bmc)?;

    // A person asks all the same.
    let request = world.request(host, acts::patient()).await?;
    world
        .remediation_says(&request, Reason::HostAmbiguous, &twin.namespace)
        .await?;
    twin.is_removed().await?;
    let ended = world.remediation_ended(&request, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// While the live check before a power-off waits for the policy, somebody else reaches the host.
#[tokio::test]
async fn who_reaches_a_host_right_before_its_power_off_stops_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "twins-late", vec![Victim::Node.options()]).await?;
    world::set_policy(&world.client, policy()).await?;
    let host = &world.hosts[0];
    let holding = Holding::start(cluster, |request| {
        request.method() == Method::GET && request.uri().path().ends_with("/remediationpolicies/default")
    })
    .await?;
    holding.answers.send_replace(false);
    let _daemon = holding.start_daemon(DAEMON)?;
    let ours = endpoints(&world, &world.namespace);
    conditions::until(ours.clone(), &host.name, "Ready", LONG, |one| {
        one.status == "True"
    })
    .await?;
    world.falls_silent(host).await?;
    objects::create_remediation(&world, "ours", json!({"nodeName": host.name})).await?;
    holding.holds_one().await?;
    let begun = |journal: &remediator_core::journal::Journal| journal.phase == Phase::PoweringOff;
    world.remediation_until("ours", LONG, begun).await?;

    let twin = Twin::of(&world, host).await?;
    twin.is_found().await?;
    let refused = |one: &_| is_because(one, Reason::HostAmbiguous);
    conditions::until(ours, &host.name, "Accepted", LONG, refused).await?;
    holding.answers.send_replace(true);
    let waits = world
        .remediation_says("ours", Reason::HostAmbiguous, &twin.namespace)
        .await?;
    assert_eq!(world::journal(&waits).attempt, 0);
    refusal::untouched(&host.bmc)?;
    Ok(())
}
