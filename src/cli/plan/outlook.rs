//! What is to be said of each Machine, and of each Node without one that a NodeHealthCheck would have remediated.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref;
use remediator_api::target_ref::{Producer, producer};
use remediator_api::views::Machine;
use remediator_core::facts::Origin;
use remediator_core::strategy::HostControl;
use serde::Serialize;

use crate::cli::plan::course::{Asked, Asks, Claim, Course, Says, course};
use crate::cli::plan::health::{OfMachine, claims, remediation_of};
use crate::cli::plan::prospect::Prospect;
use crate::cli::plan::said::Said;
use crate::cli::plan::steps::steps;
use crate::cli::plan::subject::Subject;
use crate::cli::plan::world::{OfApi, World, within_namespace};
use crate::cli::plan::{node_claims, prospect, said, subject};
use remediator_api::target_ref::is_told_to_stop;
use remediator_api::views::cluster_api::ClusterKey;

/// What is to be said of one Machine, or of a Node without one.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outlook {
    /// That of the Machine, or that in which the Node's request would be made.
    pub(super) namespace: String,
    /// None for a Node without one.
    pub(super) machine: Option<String>,
    /// API group of the Machine.
    pub(super) api: Option<&'static str>,
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
    pub(super) checks: Vec<Said>,
    pub(super) remediation: Remediation,
    pub(super) host: Option<String>,
    pub(super) bmc: Option<String>,
    /// What a remediation that begins would do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<String>,
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
}

impl Outlook {
    /// Name of the Machine, or of the Node that has none.
    pub(super) fn name(&self) -> &str {
        self.machine
            .as_deref()
            .or(self.node.as_deref())
            .unwrap_or_default()
    }
}

impl Remediation {
    fn new(outcome: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            outcome: outcome.into(),
            why: why.into(),
            template: None,
        }
    }
}

/// All Machines of a namespace, by name, then the Nodes without one whose requests would be made there.
///
/// # Errors
/// When the API server does not answer.
pub(super) async fn of_namespace(world: &World, namespace: &str) -> anyhow::Result<Vec<Outlook>> {
    let mut by_node = node_claims::claims(world);
    let mut outlooks = Vec::new();
    let mut nodes_of_machines = BTreeSet::new();
    for of_api in &world.apis {
        let own = of_api
            .machines
            .iter()
            .filter_map(|machine| machine.0.as_ref().ok());
        let own = own.filter(|machine| ClusterKey::of(machine).is_none());
        nodes_of_machines.extend(own.filter_map(Machine::node_name).map(ToOwned::to_owned));
        let mut of_machines = claims(world, of_api, namespace);
        for guarded in within_namespace(&of_api.machines, namespace) {
            let mut of_machine = of_machines.remove(&guarded.name_any()).unwrap_or_default();
            of_machine.extend(of_its_node(guarded, &mut by_node));
            outlooks.push(of_machine_outlook(world, of_api, guarded, of_machine).await?);
        }
    }
    outlooks.sort_by(|one, other| (&one.machine, one.api).cmp(&(&other.machine, other.api)));
    by_node.retain(|node, _| !nodes_of_machines.contains(node));
    for (node, of_node) in by_node {
        let is_here = |claim: &Claim| said::is_for(claim, namespace);
        let here: OfMachine = of_node
            .into_iter()
            .filter(|(_, claim)| is_here(claim) || claim.asks == Asks::Unknown)
            .collect();
        if here.iter().any(|(_, claim)| is_here(claim)) {
            outlooks.push(of_node_outlook(world, namespace, node, here).await?);
        }
    }
    Ok(outlooks)
}

/// What the NodeHealthChecks say of a Machine's Node in the daemon's own cluster.
fn of_its_node(guarded: &Guarded<Machine>, by_node: &mut BTreeMap<String, OfMachine>) -> OfMachine {
    let Ok(machine) = &guarded.0 else {
        return OfMachine::new();
    };
    let node = machine.node_name().filter(|_| ClusterKey::of(machine).is_none());
    node.and_then(|node| by_node.remove(node)).unwrap_or_default()
}

async fn of_machine_outlook(
    world: &World,
    of_api: &OfApi,
    guarded: &Guarded<Machine>,
    of_machine: OfMachine,
) -> anyhow::Result<Outlook> {
    let (checks, claims) = of_machine.into_iter().unzip();
    let mut outlook = Outlook {
        api: Some(of_api.api.group()),
        namespace: guarded.namespace().unwrap_or_default(),
        machine: Some(guarded.name_any()),
        checks,
        ..Outlook::default()
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
    foresee(world, &mut outlook, Some(machine), claims).await?;
    Ok(outlook)
}

async fn of_node_outlook(
    world: &World,
    namespace: &str,
    node: String,
    of_node: OfMachine,
) -> anyhow::Result<Outlook> {
    let (checks, claims) = of_node.into_iter().unzip();
    let mut outlook = Outlook {
        namespace: namespace.to_owned(),
        node: Some(node),
        checks,
        ..Outlook::default()
    };
    foresee(world, &mut outlook, None, claims).await?;
    Ok(outlook)
}

/// Says what becomes of it, and of which host.
async fn foresee(
    world: &World,
    outlook: &mut Outlook,
    machine: Option<&Machine>,
    claims: Vec<Claim>,
) -> anyhow::Result<()> {
    let course = match under_way(world, outlook) {
        Some(remediation) => Err(remediation),
        None => {
            let claims: Vec<Claim> = claims
                .into_iter()
                .map(|claim| behind_the_ended(world, outlook, claim))
                .collect();
            match course(outlook.triggered, &claims) {
                Course::Asked(asked) => as_the_policy_says(world, asked),
                Course::Not { outcome, why } => Err(Remediation::new(outcome, why)),
            }
        }
    };
    let node = outlook.node.clone();
    let whole = Subject {
        namespace: outlook.namespace.clone(),
        machine,
        node: node.as_deref(),
    };
    let subject = match &course {
        Ok(asked) => whole.of(asked),
        Err(_) => whole,
    };
    let control = course
        .as_ref()
        .map_or(HostControl::default(), |asked| asked.strategy.host_control);
    let host = subject::host(world, &subject, control).await?;
    if let Ok(host) = &host {
        outlook.host = Some(host.host.reference.clone());
        outlook.bmc = Some(host.host.bmc.clone());
    }
    outlook.remediation = match course {
        Err(remediation) => remediation,
        Ok(asked) => {
            let remediation = match prospect::ask(world, &subject, &host, &asked) {
                Prospect::Held(reason, why) => Remediation::new(reason, why),
                Prospect::Ends(why) => Remediation::new("NotNeeded", why),
                Prospect::Begins => {
                    if let Ok(host) = &host {
                        outlook.steps = steps(world, &subject, host, &asked);
                    }
                    Remediation::new("Begins", &asked.because)
                }
            };
            Remediation {
                template: asked.template.clone(),
                ..remediation
            }
        }
    };
    Ok(())
}

/// A remediation that is made for a trigger does what the policy says.
fn as_the_policy_says(world: &World, mut asked: Box<Asked>) -> Result<Box<Asked>, Remediation> {
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
fn behind_the_ended(world: &World, outlook: &Outlook, mut claim: Claim) -> Claim {
    let Asks::Request { by, .. } = &claim.asks else {
        return claim;
    };
    let stands = |one: &PowerCycleRemediation| {
        let has_the_name = match by {
            Producer::NodeHealthCheck(_) => false,
            Producer::MachineHealthCheck(_) | Producer::Template(_) => {
                outlook.machine == Some(one.name_any())
            }
        };
        !target_ref::is_under_way(one) && (has_the_name || producer(one).as_ref() == Some(by))
    };
    if claim.says.is_for_a_request()
        && let Some(ended) = remediation_of(world, whom(outlook), stands)
    {
        let mut said = told(ended, "has ended");
        if is_told_to_stop(ended) {
            said.push_str(
                ", was told that its time is over, so that the next template has its turn if there is one",
            );
        }
        claim.says = Says::Ended(said);
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

/// Namespace, Machine and Node.
fn whom(outlook: &Outlook) -> (&str, Option<&str>, Option<&str>) {
    (
        &outlook.namespace,
        outlook.machine.as_deref(),
        outlook.node.as_deref(),
    )
}

/// The remediation that is at work.
fn under_way(world: &World, outlook: &Outlook) -> Option<Remediation> {
    let remediation = remediation_of(world, whom(outlook), target_ref::is_under_way)?;
    Some(Remediation::new("UnderWay", told(remediation, "is")))
}

/// Why a Machine has no Node, as far as that is known.
fn no_node(world: &World, machine: &Machine) -> Option<&'static str> {
    let nodes = world.nodes_of(machine).ok()?;
    match machine.node_name() {
        None => Some("NeverJoined"),
        Some(name) => (!nodes.by_name.contains_key(name)).then_some("Deleted"),
    }
}
