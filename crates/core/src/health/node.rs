//! Whether the Node of a Machine under remediation is still unhealthy, or still missing.

use jiff::Timestamp;

use super::HealthCheck;
use super::judgement::{Held, compare, judge_machine};
use super::rules::UnhealthyCondition;
use super::selector::Labels;
use super::target::{ClusterState, MachineState, NodeState, Target};
use super::verdict::{Verdict, Wait};
use crate::facts::{Lookup, Machine, Node};
use crate::phase::Reason;

/// The verdict on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// No condition matches.
    Healthy,
    /// A condition matches, but not for long enough.
    Grace {
        /// When it will have held long enough.
        until: Timestamp,
    },
    /// A condition matches for long enough.
    Unhealthy {
        /// `Ready=Unknown`, for the message.
        cause: String,
        /// Whether the only cause is that the Node went silent, which a fresh Lease contradicts.
        silence_only: bool,
    },
}

/// Judges a Node and its Machine by the conditions of the health checks, as machine-api-operator and Cluster
/// API do: any match counts, `lastTransitionTime + timeout < now` is strict, an absent condition never matches.
pub fn judge(checks: &[&HealthCheck], machine: Option<&Machine>, node: &Node, now: Timestamp) -> Health {
    if let Some(cause) = machine.and_then(|machine| machine.unhealthy_by_itself.clone()) {
        return Health::Unhealthy {
            cause,
            silence_only: false,
        };
    }
    let of_machine = machine.map_or(&[][..], |machine| &machine.state.conditions);
    let by_node = checks.iter().flat_map(|check| &check.conditions);
    let by_machine = checks.iter().flat_map(|check| &check.machine_conditions);
    let compared = by_node
        .map(|unhealthy| (unhealthy, node.conditions.as_slice()))
        .chain(by_machine.map(|unhealthy| (unhealthy, of_machine)));
    let mut causes: Vec<&UnhealthyCondition> = Vec::new();
    let mut grace: Option<Timestamp> = None;
    for (unhealthy, listed) in compared {
        match compare(unhealthy, listed, now) {
            None => {}
            Some(Held::Longer(_)) => causes.push(unhealthy),
            // Without a transition time nothing says how long it held: ask again shortly.
            Some(Held::NotLonger(end)) => grace = grace.into_iter().chain([end.unwrap_or(now)]).min(),
        }
    }
    // What the node lifecycle controller writes of a Node that went silent.
    let is_silence = |cause: &&UnhealthyCondition| cause.kind == "Ready" && cause.status == "Unknown";
    match (causes.first(), grace) {
        (Some(first), _) => Health::Unhealthy {
            cause: format!("{}={}", first.kind, first.status),
            silence_only: causes.iter().all(is_silence),
        },
        (None, Some(until)) => Health::Grace { until },
        (None, None) => Health::Healthy,
    }
}

/// Judges a Node for which no health check speaks: it is unhealthy while it is not Ready.
pub(crate) fn judge_by_readiness(node: &Node) -> Health {
    let ready = node.conditions.iter().find(|condition| condition.kind == "Ready");
    let status = ready.map(|condition| condition.status.as_str());
    if status == Some("True") {
        return Health::Healthy;
    }
    Health::Unhealthy {
        cause: format!("Ready={}", status.unwrap_or("<absent>")),
        silence_only: matches!(status, None | Some("Unknown")),
    }
}

/// Why a Machine without a Node is not power-cycled: the reason, a phrase about the Machine, and until when, where that
/// is known.
pub(crate) type NotMissed = (Reason, String, Option<Timestamp>);

/// Judges a Machine by the absence of its Node and by nothing else: whatever is wrong with the Machine besides
/// is no reason to power-cycle a host that may still be on its way into the cluster. Answers why it is unhealthy.
pub(crate) fn judge_without_node(
    checks: &[&HealthCheck],
    cluster: &Lookup<ClusterState>,
    (name, machine): (&str, &MachineState),
    node: NodeState,
    now: Timestamp,
) -> Result<String, NotMissed> {
    let target = Target {
        name: name.to_owned(),
        labels: Labels::default(),
        machine: Ok(without_other_faults(machine)),
        node: Ok(node),
        under_remediation: false,
    };
    let rules = checks.iter().filter_map(|check| check.rules.as_ref());
    let verdicts = rules.map(|rules| judge_machine(rules, cluster, &target, now));
    together(verdicts.collect())
}

/// The Machine without whatever makes it unhealthy apart from its Node.
fn without_other_faults(state: &MachineState) -> MachineState {
    let MachineState {
        triggered: _,
        failed: _,
        remediate: _,
        failure_reason: _,
        failure_message: _,
        conditions: _,
        created,
        deleting,
        last_updated,
        control_plane,
        paused,
        skip_remediation,
        infrastructure,
    } = *state;
    MachineState {
        created,
        deleting,
        last_updated,
        control_plane,
        paused,
        skip_remediation,
        infrastructure,
        ..MachineState::default()
    }
}

/// One that says too long is enough, as where each looks after the Machine by itself.
fn together(verdicts: Vec<Verdict>) -> Result<String, NotMissed> {
    let unknown = |why: &str| {
        let what = format!("whether it should have one is not known: {why}");
        (Reason::NodeMissing, what, None)
    };
    let (mut waits, mut first, mut otherwise) = (false, None::<Timestamp>, None);
    for verdict in verdicts {
        match verdict {
            Verdict::Unhealthy { message, .. } => return Ok(message),
            Verdict::Waiting {
                why: Wait::NodeStartupUnlimited,
                ..
            } => {
                let what = "no health check limits how long that may be so".to_owned();
                otherwise.get_or_insert((Reason::NodeStartupUnlimited, what, None));
            }
            Verdict::Waiting { until, .. } => {
                waits = true;
                first = [first, until].into_iter().flatten().min();
            }
            Verdict::Unknown(why) => otherwise = Some(unknown(why.detail())),
            Verdict::Skipped(skip) => otherwise = Some(unknown(&format!("it is skipped ({skip:?})"))),
            Verdict::Healthy => otherwise = Some(unknown("its Node is there after all")),
        }
    }
    if waits {
        let what = "may be without a Node for longer by its health checks".to_owned();
        return Err((Reason::WithinGracePeriod, what, first));
    }
    Err(otherwise.unwrap_or_else(|| unknown("no health check judges Machines without a Node")))
}
