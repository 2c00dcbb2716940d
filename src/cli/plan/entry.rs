//! What is to be said of each Machine.

use anyhow::anyhow;
use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::producer;
use remediator_api::views::Machine;
use remediator_api::{PowerCycleRemediation, target_ref};
use remediator_core::facts::{Obstacle, Origin};
use remediator_core::strategy::HostControl;
use serde::Serialize;

use crate::bmc_access::host::ResolvedHost;
use crate::cli::plan::check_report::CheckReport;
use crate::cli::plan::decision::{Asks, CheckOpinion, CheckVerdict, PlanDecision, PlannedRequest, decide};
use crate::cli::plan::dry_run;
use crate::cli::plan::dry_run::DryRun;
use crate::cli::plan::health::{OfMachine, claims, remediation_of};
use crate::cli::plan::world::{ApiObjects, PlanSnapshot, within_namespace};
use crate::metal3;
use crate::snapshot::host::{among_endpoints, reference};

/// What is to be said of one Machine.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) namespace: String,
    pub(super) machine: String,
    /// API group of the Machine.
    pub(super) api: &'static str,
    /// The workload cluster that its Node is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<String>,
    pub(super) node: Option<String>,
    /// `NeverJoined` or `Deleted`, where the Machine has no Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_node: Option<&'static str>,
    /// Carries the trigger annotation.
    pub(super) triggered: bool,
    /// What each health check says that selects it.
    pub(super) checks: Vec<CheckReport>,
    pub(super) remediation: Remediation,
    pub(super) host: Option<String>,
    pub(super) bmc: Option<String>,
}

/// Whether a remediation would begin.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remediation {
    /// `NotNeeded`, `Later`, `Begins`, `UnderWay`, `RequestEnded`, or the reason that stands in the way.
    pub(super) outcome: String,
    pub(super) why: String,
    /// `namespace/name` of the template that its request would be made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<String>,
    /// What a remediation that begins does first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl Remediation {
    fn new(outcome: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            outcome: outcome.into(),
            why: why.into(),
            template: None,
            next: None,
        }
    }
}

/// All Machines of a namespace, by name.
///
/// # Errors
/// When the API server does not answer.
pub(super) async fn of_namespace(world: &PlanSnapshot, namespace: &str) -> anyhow::Result<Vec<Entry>> {
    let mut outlooks = Vec::new();
    for of_api in &world.apis {
        let mut of_machines = claims(world, of_api, namespace);
        for guarded in within_namespace(&of_api.machines, namespace) {
            let of_machine = of_machines.remove(&guarded.name_any()).unwrap_or_default();
            outlooks.push(of_machine_outlook(world, of_api, guarded, of_machine).await?);
        }
    }
    outlooks.sort_by(|one, other| (&one.machine, one.api).cmp(&(&other.machine, other.api)));
    Ok(outlooks)
}

async fn of_machine_outlook(
    world: &PlanSnapshot,
    of_api: &ApiObjects,
    guarded: &Guarded<Machine>,
    of_machine: OfMachine,
) -> anyhow::Result<Entry> {
    let (checks, claims) = of_machine.into_iter().unzip();
    let mut outlook = Entry {
        api: of_api.api.group(),
        namespace: guarded.namespace().unwrap_or_default(),
        machine: guarded.name_any(),
        checks,
        ..Entry::default()
    };
    let machine = match &guarded.0 {
        Ok(machine) => machine,
        Err(invalid) => {
            outlook.remediation = Remediation::new("MachineUnreadable", &invalid.error);
            return Ok(outlook);
        }
    };
    outlook.cluster = machine.cluster().map(ToOwned::to_owned);
    outlook.node = machine.node_name().map(ToOwned::to_owned);
    outlook.no_node = no_node(world, machine);
    outlook.triggered = machine.is_triggered();
    foresee(world, &mut outlook, machine, claims).await?;
    Ok(outlook)
}

/// CheckVerdict what becomes of it, and of which host.
async fn foresee(
    world: &PlanSnapshot,
    outlook: &mut Entry,
    machine: &Machine,
    claims: Vec<CheckOpinion>,
) -> anyhow::Result<()> {
    let course = match under_way(world, outlook) {
        Some(remediation) => Err(remediation),
        None => {
            let claims = claims.into_iter();
            let claims: Vec<CheckOpinion> = claims
                .map(|claim| behind_the_ended(world, outlook, claim))
                .collect();
            match decide(outlook.triggered, &claims) {
                PlanDecision::Asked(asked) => as_the_policy_says(world, asked),
                PlanDecision::Not { outcome, why } => Err(Remediation::new(outcome, why)),
            }
        }
    };
    let asked = course.as_ref().ok();
    let control = asked.map_or(HostControl::default(), |asked| asked.strategy.host_control);
    let host = host(world, machine, control).await?;
    if let Ok(host) = &host {
        outlook.host = Some(host.host.reference.clone());
        outlook.bmc = Some(host.host.bmc.clone());
    }
    outlook.remediation = match course {
        Err(remediation) => remediation,
        Ok(asked) => Remediation {
            template: asked.template.clone(),
            ..begins(world, machine, &host, &asked)
        },
    };
    Ok(())
}

/// Whether a remediation that is asked for would begin.
fn begins(
    world: &PlanSnapshot,
    machine: &Machine,
    host: &Result<ResolvedHost, Obstacle>,
    asked: &PlannedRequest,
) -> Remediation {
    match dry_run::ask(world, machine, host, asked) {
        DryRun::Held(reason, why) => Remediation::new(reason, why),
        DryRun::Ends(why) => Remediation::new("NotNeeded", why),
        DryRun::Begins => Remediation {
            next: host.as_ref().ok().map(|host| next(world, machine, host)),
            ..Remediation::new("Begins", &asked.because)
        },
    }
}

/// What a remediation that begins does first.
fn next(world: &PlanSnapshot, machine: &Machine, host: &ResolvedHost) -> String {
    let nodes = world.nodes_of(machine).ok();
    let node = nodes
        .zip(machine.node_name())
        .and_then(|(nodes, name)| nodes.by_name.get(name)?.0.as_ref().ok());
    let uuid = match node {
        Some(node) => node.facts().system_uuid,
        None => host.host.stated_uuid.as_ref().map(ToString::to_string),
    };
    format!(
        "read power state and identity at {}; power off only if the system UUID is {}",
        host.host.bmc,
        uuid.as_deref().unwrap_or("that of the Node")
    )
}

/// The host behind a Machine.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the host.
async fn host(
    world: &PlanSnapshot,
    machine: &Machine,
    control: HostControl,
) -> anyhow::Result<Result<ResolvedHost, Obstacle>> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    match reference(machine) {
        Err(obstacle) => Ok(Err(obstacle)),
        Ok(Some(reference)) => metal3::resolve_unbegun(&world.metal3, machine, &reference, control)
            .await
            .map_err(|error| anyhow!(crate::report::chain(&error))),
        Ok(None) => Ok(among_endpoints(
            within_namespace(&world.endpoints, &namespace),
            Some(&name),
            machine.node_name(),
        )),
    }
}

/// A remediation that is made for a trigger does what the policy says.
fn as_the_policy_says(
    world: &PlanSnapshot,
    mut asked: Box<PlannedRequest>,
) -> Result<Box<PlannedRequest>, Remediation> {
    let policy = world.policy.as_ref().and_then(|policy| policy.0.as_ref().ok());
    if let Some(policy) = policy
        && asked.origin == Origin::Annotation
    {
        let strategy = policy.spec.strategy_of_triggers();
        asked.strategy =
            strategy.map_err(|wrong| Remediation::new(wrong.reason.as_str(), wrong.for_people()))?;
    }
    Ok(asked)
}

/// A check that would have to make a request, and does not, because one that has ended is there and nobody has deleted
/// it. A MachineHealthCheck goes by its name, which is the Machine's.
fn behind_the_ended(world: &PlanSnapshot, outlook: &Entry, mut claim: CheckOpinion) -> CheckOpinion {
    let Asks::Request { by, .. } = &claim.asks else {
        return claim;
    };
    let stands = |one: &PowerCycleRemediation| {
        let is_its = one.name_any() == outlook.machine || producer(one).as_ref() == Some(by);
        is_its && !target_ref::is_under_way(one)
    };
    if claim.says == CheckVerdict::Wanted
        && let Some(ended) = remediation_of(world, whom(outlook), outlook.node.as_deref(), stands)
    {
        claim.says = CheckVerdict::Ended(told(ended, "has ended"));
    }
    claim
}

/// A remediation, and where it stands.
fn told(remediation: &PowerCycleRemediation, is: &str) -> String {
    let journal = remediation.status.as_ref().map(|status| &status.journal);
    let phase = journal.map(|journal| journal.phase).unwrap_or_default();
    let reason = journal.map(|journal| journal.reason.as_str()).unwrap_or_default();
    let name = remediation.name_any();
    format!(
        "PowerCycleRemediation {name} {is} in phase {} ({reason})",
        phase.as_str()
    )
}

/// Namespace and Machine.
fn whom(outlook: &Entry) -> (&str, &str) {
    (&outlook.namespace, &outlook.machine)
}

/// The remediation that is at work.
fn under_way(world: &PlanSnapshot, outlook: &Entry) -> Option<Remediation> {
    let node = outlook.node.as_deref();
    let remediation = remediation_of(world, whom(outlook), node, target_ref::is_under_way)?;
    Some(Remediation::new("UnderWay", told(remediation, "is")))
}

/// Why a Machine has no Node, as far as that is known.
fn no_node(world: &PlanSnapshot, machine: &Machine) -> Option<&'static str> {
    let nodes = world.nodes_of(machine).ok()?;
    match machine.node_name() {
        None => Some("NeverJoined"),
        Some(name) => (!nodes.by_name.contains_key(name)).then_some("Deleted"),
    }
}
