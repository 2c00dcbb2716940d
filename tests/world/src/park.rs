//! Keeps hosts at the boundaries of a remediation until the daemon can be killed at all of them.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Command, Event, Fault, Injection, RequestClass};
use harness::Cursor;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::json;

use super::{DAEMON_USER, HostOptions, World, WorldHost, objects};

/// Between two things that the daemon does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// The remediation exists; the BMC has not been read.
    Claimed,
    /// The power-off is journalled and on its way; nothing is carried out.
    OffIntended,
    /// The power-off is carried out; nobody was told.
    OffAnswerLost,
    /// The power-off is acknowledged; nothing has been read after it.
    OffAcknowledged,
    /// The release is journalled and refused.
    ReleaseIntended,
    /// Released; a pod is still there.
    Released,
    /// The power-on is journalled and on its way; nothing is carried out.
    OnIntended,
    /// The power-on is carried out; nobody was told.
    OnAnswerLost,
    /// The host has power and boots.
    Booting,
    /// The Node is back; taking the taint off it is refused.
    Back,
    /// The taint is off; removing the trigger is refused.
    Untainted,
}

impl Boundary {
    /// All of them, in the order of the path.
    pub const ALL: [Self; 11] = [
        Self::Claimed,
        Self::OffIntended,
        Self::OffAnswerLost,
        Self::OffAcknowledged,
        Self::ReleaseIntended,
        Self::Released,
        Self::OnIntended,
        Self::OnAnswerLost,
        Self::Booting,
        Self::Back,
        Self::Untainted,
    ];

    /// The phase in which a host is parked here.
    pub fn phase(self) -> Phase {
        match self {
            Self::Claimed => Phase::Pending,
            Self::OffIntended | Self::OffAnswerLost | Self::OffAcknowledged => Phase::PoweringOff,
            Self::ReleaseIntended | Self::Released => Phase::Fencing,
            Self::OnIntended | Self::OnAnswerLost => Phase::PoweringOn,
            Self::Booting | Self::Back | Self::Untainted => Phase::Booting,
        }
    }

    /// Whether the host has to be led there for many seconds before it can be parked.
    fn is_late(self) -> bool {
        self.phase() >= Phase::PoweringOn
    }
}

/// Hosts that are parked while they boot take their time for it.
pub fn options(boundary: Boundary) -> HostOptions {
    let mut options = HostOptions::default();
    if boundary == Boundary::Booting {
        options.delays.boot = Duration::from_secs(45).into();
    }
    options
}

/// The fault with which a host begins. Requests that hang do so for 15 s, as long as we wait.
pub fn first_fault(boundary: Boundary) -> Option<Injection> {
    match boundary {
        Boundary::Claimed => Some(Fault::Hang.on(RequestClass::SessionCreate)),
        Boundary::OffIntended => Some(Fault::Hang.on(RequestClass::Reset)),
        Boundary::OffAnswerLost => Some(Fault::DropAfterExecute.times(1)),
        _ => None,
    }
}

/// Has the API server refuse the writes at which hosts are to be parked.
pub async fn refuse_writes(world: &World) -> Result<()> {
    let name = |boundary: Boundary| {
        let index = Boundary::ALL.iter().position(|one| *one == boundary);
        index
            .and_then(|index| world.hosts.get(index))
            .map(|host| host.name.clone())
    };
    let (release, back, untainted) = (
        name(Boundary::ReleaseIntended).context("no such host")?,
        name(Boundary::Back).context("no such host")?,
        name(Boundary::Untainted).context("no such host")?,
    );
    let tainted = "has(object.spec.taints) && object.spec.taints.exists(taint, taint.key == 'node.kubernetes.io/out-of-service')";
    let was_tainted = tainted.replace("object.", "oldObject.");
    let triggered = "has(object.metadata.annotations) && 'host.metal3.io/external-remediation' in object.metadata.annotations";
    let rule = |group: &str, resource: &str| json!({"apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": ["UPDATE"]});
    let refusal =
        |expression: String| json!({"expression": expression, "message": "parked", "reason": "Forbidden"});
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": {"name": "park"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule("", "nodes"), rule("machine.openshift.io", "machines")]},
            "matchConditions": [
                {"name": "daemon", "expression": format!("request.userInfo.username == '{DAEMON_USER}'")},
            ],
            "validations": [
                refusal(format!("request.resource.resource != 'nodes' || object.metadata.name != '{release}' || !({tainted})")),
                refusal(format!("request.resource.resource != 'nodes' || object.metadata.name != '{back}' || !({was_tainted}) || ({tainted})")),
                refusal(format!("request.resource.resource != 'machines' || object.metadata.name != '{untainted}' || ({triggered})")),
            ],
        },
    }))?;
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": {"name": "park"}, "spec": {"policyName": "park", "validationActions": ["Deny"]},
    }))?;
    let created = PostParams::default();
    Api::all(world.client.clone()).create(&created, &policy).await?;
    Api::all(world.client.clone()).create(&created, &binding).await?;
    let in_force = refused(world, &release);
    tokio::time::timeout(LONG, in_force)
        .await
        .context("the admission policy did not come into force")?
}

/// Waits until a write that is to be refused is. The server takes up policies within a second or so.
async fn refused(world: &World, node: &str) -> Result<()> {
    let daemon = world
        .cluster
        .client_as(DAEMON_USER, &super::DAEMON_GROUPS)
        .await?;
    let nodes = Api::<k8s_openapi::api::core::v1::Node>::all(daemon);
    let taint =
        json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"});
    let (trial, patch) = (
        PatchParams {
            dry_run: true,
            ..PatchParams::default()
        },
        Patch::Merge(json!({"spec": {"taints": [taint]}})),
    );
    loop {
        match nodes.patch(node, &trial, &patch).await {
            Err(kube::Error::Api(status)) if status.code == 403 => return Ok(()),
            other => other.map(|_| ())?,
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Leads every host to its boundary. Those with a long way go first.
pub async fn all(world: &World, boundaries: &[Boundary], cursor: Cursor) -> Result<()> {
    let hosts = || world.hosts.iter().zip(boundaries.iter().copied());
    for (host, boundary) in hosts() {
        host.bmc.set_faults(first_fault(boundary).into_iter().collect())?;
    }
    futures::future::try_join_all(world.hosts.iter().map(|host| world.falls_silent(host))).await?;
    let late = hosts().filter(|(_, boundary)| boundary.is_late());
    let late: Vec<_> = late.collect();
    let first = late
        .iter()
        .find(|(_, boundary)| *boundary == Boundary::Booting)
        .context("nothing to go by")?
        .0;
    let far = async {
        for (host, _) in &late {
            objects::trigger(world, &host.name).await?;
        }
        let arrive = late
            .iter()
            .map(|(host, boundary)| arrive(world, host, *boundary, cursor));
        futures::future::try_join_all(arrive).await
    };
    let near = async {
        // When the first of those is nearly there, the others set out.
        let cleaning = |journal: &Journal| journal.phase >= Phase::PoweringOn;
        world
            .remediation_until(&first.remediation(), LONG, cleaning)
            .await?;
        let early: Vec<_> = hosts().filter(|(_, boundary)| !boundary.is_late()).collect();
        for (host, boundary) in &early {
            if *boundary == Boundary::Released {
                world.create_clinging_pod("clings", &host.name).await?;
            }
            objects::trigger(world, &host.name).await?;
        }
        let arrive = early
            .iter()
            .map(|(host, boundary)| arrive(world, host, *boundary, cursor));
        futures::future::try_join_all(arrive).await
    };
    tokio::try_join!(far, near)?;
    Ok(())
}

const LONG: Duration = Duration::from_secs(90);

/// Waits until a host is parked at its boundary, and sees to it that it is.
async fn arrive(world: &World, host: &WorldHost, boundary: Boundary, cursor: Cursor) -> Result<()> {
    let hangs = |event: &Event| matches!(event, Event::FaultApplied { fault, .. } if fault == "hang");
    let command = |wanted: Command| move |event: &Event| matches!(event, Event::Command { command, .. } if *command == wanted);
    let reads_hang = || host.bmc.inject(Fault::Hang.on(RequestClass::SystemGet));
    match boundary {
        Boundary::Claimed | Boundary::OffIntended => host.sees("a request that hangs", LONG, hangs).await,
        Boundary::OffAnswerLost | Boundary::OffAcknowledged => {
            host.sees("the power-off", LONG, command(Command::ForceOff))
                .await?;
            reads_hang()?;
            host.sees("a read that hangs", LONG, hangs).await
        }
        Boundary::ReleaseIntended => refusal(world, cursor, "nodes", &host.name).await,
        Boundary::Released => world.is_tainted(host, LONG).await,
        Boundary::OnIntended => {
            world.is_tainted(host, LONG).await?;
            host.bmc.inject(Fault::Hang.on(RequestClass::Reset))?;
            host.sees("a power-on that hangs", LONG, hangs).await
        }
        Boundary::OnAnswerLost => {
            world.is_tainted(host, LONG).await?;
            host.bmc.inject(Fault::DropAfterExecute.times(1))?;
            host.sees("the power-on", LONG, command(Command::On)).await?;
            reads_hang()?;
            host.sees("a read that hangs", LONG, hangs).await
        }
        Boundary::Booting => {
            let booting = |journal: &Journal| journal.phase == Phase::Booting;
            world
                .remediation_until(&host.remediation(), LONG, booting)
                .await?;
            Ok(())
        }
        Boundary::Back => refusal(world, cursor, "nodes", &host.name).await,
        Boundary::Untainted => refusal(world, cursor, "machines", &host.name).await,
    }
}

/// Waits until the API server has refused the daemon a write.
async fn refusal(world: &World, cursor: Cursor, resource: &str, name: &str) -> Result<()> {
    let refused = world.cluster.wait_for_audit(cursor, |event| {
        event.user == DAEMON_USER
            && event.response_code == 403
            && event.resource.resource == resource
            && event.resource.name == name
    });
    tokio::time::timeout(LONG, refused)
        .await
        .with_context(|| format!("no write of {resource} {name} was refused within {LONG:?}"))??;
    Ok(())
}

/// Takes all the obstacles away.
pub async fn let_go(world: &World) -> Result<()> {
    let gone = DeleteParams::default();
    Api::<ValidatingAdmissionPolicyBinding>::all(world.client.clone())
        .delete("park", &gone)
        .await?;
    Api::<ValidatingAdmissionPolicy>::all(world.client.clone())
        .delete("park", &gone)
        .await?;
    for host in &world.hosts {
        host.bmc.clear_faults();
    }
    world.release_pod("clings").await
}
