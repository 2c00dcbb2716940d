//! Says on each BMCEndpoint and on the RemediationPolicy whether it can be used, before it is needed, and on
//! the endpoint what the last check of its BMC found.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::api_call::{ShellError, within};
use super::bmc_access::protocol;
use super::caches::{self, Guarded};
use super::context::Context;
use super::{host, readiness};
use crate::api::remediation_policy::POLICY_NAME;
use crate::api::{BMCEndpoint, RemediationPolicy};
use crate::bmc::Protocol;
use crate::core::checker::standing::Standing;
use crate::core::facts::Obstacle;
use crate::core::phase::Reason;
use crate::core::readiness::schedule::{HostKey, HostKind};
use crate::intake::health_check::Stance;
use crate::report::conditions::{self, ACCEPTED, HEALTH_CHECKER, HEALTH_CHECKS_SERVED, READY, Statement};

/// How soon an endpoint that depends on the policy is judged anew.
const POLICY_CHANGES: Duration = Duration::from_secs(30);

/// Looks at one BMCEndpoint.
pub(super) async fn endpoint(
    guarded: Arc<Guarded<BMCEndpoint>>,
    context: Arc<Context>,
) -> Result<Action, ShellError> {
    let Ok(endpoint) = &guarded.0 else {
        return Ok(Action::await_change());
    };
    let verdict = judge_endpoint(&context, endpoint);
    let present = endpoint
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let api =
        Api::<BMCEndpoint>::namespaced(context.client.clone(), &endpoint.namespace().unwrap_or_default());
    let accepted = accepted(verdict, endpoint.metadata.generation);
    let ready = ready(&context, endpoint, present);
    let statements: Vec<Statement> = std::iter::once(accepted).chain(ready).collect();
    state(&context, &api, endpoint, present, &statements).await?;
    // The policy is part of the verdict on an IPMI address, and its changes do not lead here.
    Ok(match host::resolve_endpoint(endpoint) {
        Ok(resolved) if resolved.address.protocol == Protocol::Ipmi => Action::requeue(POLICY_CHANGES),
        Ok(_) | Err(_) => Action::await_change(),
    })
}

fn accepted(verdict: Result<String, Obstacle>, generation: Option<i64>) -> Statement {
    let verdict = verdict.map(|message| (Reason::Accepted, message));
    Statement::verdict(ACCEPTED, verdict, generation)
}

/// What is known of the BMC. Nothing is said when what an earlier process said has not been looked into yet.
fn ready(context: &Context, endpoint: &BMCEndpoint, present: &[Condition]) -> Option<Statement> {
    let generation = endpoint.metadata.generation;
    if let Err(why) = readiness::rules(context) {
        return Some(Statement::unknown(READY, &why, generation));
    }
    let host = HostKey {
        kind: HostKind::Endpoint,
        namespace: endpoint.namespace().unwrap_or_default(),
        name: endpoint.name_any(),
    };
    if let Some(finding) = context.findings.of(&host) {
        let verdict = finding.verdict.map(|message| (Reason::BmcReady, message));
        return Some(Statement::verdict(READY, verdict, finding.generation));
    }
    let mut standing = present.iter().filter(|condition| condition.type_ == READY);
    if standing.any(|condition| condition.status != "Unknown") {
        return None;
    }
    let not_yet = Obstacle::new(Reason::BmcNotChecked, "the BMC was not checked yet");
    Some(Statement::unknown(READY, &not_yet, generation))
}

/// Whether an endpoint can be used as it stands.
///
/// # Errors
/// The obstacle.
pub(super) fn judge_endpoint(context: &Context, endpoint: &BMCEndpoint) -> Result<String, Obstacle> {
    let resolved = host::resolve_endpoint(endpoint)?;
    match resolved.address.protocol {
        Protocol::Redfish => {}
        Protocol::Ipmi if allows(context, Protocol::Ipmi) => {}
        Protocol::Ipmi => {
            return Err(Obstacle::new(
                Reason::BmcProtocolNotAllowed,
                "spec.address names an IPMI BMC, and the RemediationPolicy does not allow IPMI",
            ));
        }
    }
    let (name, namespace) = (endpoint.name_any(), endpoint.namespace());
    let same_host = |other: &Guarded<BMCEndpoint>| {
        other.0.as_ref().is_ok_and(|other| {
            other.name_any() != name
                && other.namespace() == namespace
                && other.spec.machine_name == endpoint.spec.machine_name
                && other.spec.node_name == endpoint.spec.node_name
        })
    };
    match context.caches.endpoints.find(same_host) {
        Some(twin) => {
            let detail = format!("BMCEndpoint {} names the same Machine or Node", twin.name_any());
            Err(Obstacle::new(Reason::HostAmbiguous, detail))
        }
        None => Ok(format!("the BMC is at {}", resolved.host.bmc)),
    }
}

/// Whether the policy in force lists the protocol.
fn allows(context: &Context, wanted: Protocol) -> bool {
    let policy = caches::find(&context.caches.policies, None, POLICY_NAME);
    let Some(Ok(policy)) = policy.as_deref().map(|guarded| &guarded.0) else {
        return false;
    };
    let mut listed = policy.spec.bmc.protocols.iter().copied().map(protocol);
    listed.any(|listed| listed == wanted)
}

/// Looks at the RemediationPolicy.
pub(super) async fn policy(
    guarded: Arc<Guarded<RemediationPolicy>>,
    context: Arc<Context>,
) -> Result<Action, ShellError> {
    let Ok(policy) = &guarded.0 else {
        return Ok(Action::await_change());
    };
    let verdict = if policy.spec.bmc.allowed_networks.is_empty() {
        Err(Obstacle::new(
            Reason::BmcAddressNotAllowed,
            "spec.bmc.allowedNetworks is empty, so no BMC is reached",
        ))
    } else {
        Ok("in force".to_owned())
    };
    let present = policy
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let api = Api::<RemediationPolicy>::all(context.client.clone());
    let generation = policy.metadata.generation;
    let mut statements = vec![accepted(verdict, generation)];
    // Until that was looked at, what an earlier process said holds.
    if let Some(stance) = context.checker.stance() {
        statements.extend(health_checks(&stance, generation));
    }
    context.checker.policy_is(&policy.metadata);
    state(&context, &api, policy, present, &statements).await
}

/// Who evaluates health checks.
fn health_checks(stance: &Stance, generation: Option<i64>) -> [Statement; 2] {
    let checker = match &stance.standing {
        Standing::In(why) => {
            Statement::verdict(HEALTH_CHECKER, Ok((Reason::StandingIn, why.clone())), generation)
        }
        Standing::Aside(why) if why.reason == Reason::PlatformControllerUnknown => {
            Statement::unknown(HEALTH_CHECKER, why, generation)
        }
        Standing::Aside(why) => Statement::verdict(HEALTH_CHECKER, Err(why.clone()), generation),
    };
    let obstacles = stance.unserved.obstacles();
    let served = match (obstacles.first(), &stance.standing) {
        (Some(first), _) => Statement {
            message: obstacles
                .iter()
                .map(Obstacle::for_people)
                .collect::<Vec<_>>()
                .join(" "),
            ..Statement::verdict(HEALTH_CHECKS_SERVED, Err(first.clone()), generation)
        },
        (None, Standing::Aside(why)) if stance.unserved.is_unknown() => {
            Statement::unknown(HEALTH_CHECKS_SERVED, why, generation)
        }
        (None, Standing::Aside(_) | Standing::In(_)) => {
            let all = "no health check that asks for power cycles is known to be evaluated by nobody";
            let served = Ok((Reason::HealthChecksServed, all.to_owned()));
            Statement::verdict(HEALTH_CHECKS_SERVED, served, generation)
        }
    };
    [checker, served]
}

/// Writes the conditions when they say something else than those that stand.
async fn state<K>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    present: &[Condition],
    statements: &[Statement],
) -> Result<Action, ShellError>
where
    K: Resource + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let present = context.stated.newest(object.meta(), present);
    let Some(conditions) = conditions::state(statements, &present, context.clock.now()) else {
        return Ok(Action::await_change());
    };
    let generation = object.meta().generation;
    let change = json!({ "status": { "observedGeneration": generation, "conditions": conditions } });
    let (name, parameters) = (object.name_any(), PatchParams::default());
    let patch = Patch::Merge(&change);
    match within(
        "writing a condition",
        api.patch_status(&name, &parameters, &patch),
    )
    .await
    {
        Ok(written) => {
            context.stated.note(written.meta(), conditions);
            Ok(Action::await_change())
        }
        Err(error) if error.is_not_found() => Ok(Action::await_change()),
        Err(error) => Err(error),
    }
}

/// What to do after a failed write: nothing depends on it, so there is no hurry.
#[allow(clippy::needless_pass_by_value)] // The signature is the Controller's.
pub(super) fn error_policy<K: Resource>(object: Arc<K>, error: &ShellError, _: Arc<Context>) -> Action {
    tracing::warn!(object = %object.name_any(), error = %crate::report::chain(error), "condition not written");
    Action::requeue(Duration::from_secs(30))
}
