//! Says on each BMCEndpoint, on each template and on the RemediationPolicy whether it can be used, before it is
//! needed, and on the endpoint what the last check of its BMC found.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, Patch, PatchParams};
use kube::{Resource, ResourceExt as _};
use remediator_api::guarded::Unreadable;
use remediator_api::remediation_policy::{POLICY_NAME, UsedLimits};
use remediator_api::{BMCEndpoint, PowerCycleRemediationTemplate, RemediationPolicy, RemediationPolicySpec};
use remediator_bmc::Protocol;
use remediator_core::eligibility::endpoint_is_allowed;
use remediator_core::facts::{Allowed, Obstacle};
use remediator_core::journal::HostObject;
use remediator_core::phase::Reason;
use remediator_core::readiness::schedule::{HostKey, HostKind};
use serde_json::{Map, Value, json};

use crate::api_call::{ShellError, within};
use crate::bmc_access::cluster_networks::some_are_listed;
use crate::mhc::activation;
use crate::readiness::state::{Readiness, rules};
use crate::report::conditions::{ACCEPTED, READY, REMEDIATION_ALLOWED, Statement};
use crate::snapshot::{Sources, host, rivals};
use crate::watch::caches;
use crate::watch::caches::Guarded;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes::EndpointIndex;
use crate::watch::work_queue::Action;

/// Distance of two looks at the brakes.
const BRAKES_TOLD: Duration = Duration::from_secs(15);

pub(crate) async fn endpoint(
    guarded: Arc<Guarded<BMCEndpoint>>,
    context: Arc<Readiness>,
) -> Result<Action, ShellError> {
    let api = api(&context, guarded.as_ref());
    let (present, statements, found) = match &guarded.0 {
        Ok(endpoint) => {
            let present = endpoint
                .status
                .as_ref()
                .map_or(&[][..], |status| &status.conditions);
            let judged = judge_endpoint(&context.sources, endpoint);
            // Its BMC is checked all the same: only so does it come out who reaches the host no more.
            let sole = rivals::sole(&context.sources.caches.endpoints, endpoint);
            let accepted = accepted(
                judged.and_then(|said| sole.clone().map(|()| said)),
                endpoint.metadata.generation,
            );
            let ready = ready(&context, endpoint, present, sole);
            let statements = std::iter::once(accepted).chain(ready).collect();
            (present, statements, found_otherwise(&context, endpoint))
        }
        Err(invalid) => (
            invalid.conditions.as_slice(),
            vec![not_accepted(invalid, "BMCEndpoint", Reason::HostUnreadable)],
            None,
        ),
    };
    context
        .conditions
        .write_with(&api, guarded.meta(), (present, found), &statements)
        .await?;
    Ok(Action::await_change())
}

/// Objects beside this one. What could not be read cannot be read from an answer either.
fn api<K>(context: &Readiness, object: &Guarded<K>) -> Api<Guarded<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(
        context.sources.client.clone(),
        &object.namespace().unwrap_or_default(),
    )
}

/// What is said of an object that cannot be read, and that is therefore not used.
fn not_accepted(invalid: &Unreadable, kind: &str, reason: Reason) -> Statement {
    let detail = format!("the {kind} cannot be read: {}", invalid.error);
    accepted(Err(Obstacle::new(reason, detail)), invalid.metadata.generation)
}

/// Looks at one template: what is wrong with it would else be told only by the requests that are not made
/// from it, in the events of whoever tries.
pub(crate) async fn template(
    guarded: Arc<Guarded<PowerCycleRemediationTemplate>>,
    context: Arc<Readiness>,
) -> Result<Action, ShellError> {
    let (present, verdict) = match &guarded.0 {
        Ok(template) => {
            let status = template.status.as_ref();
            let present = status.map_or(&[][..], |status| &status.conditions);
            let verdict = template.spec.validated().and_then(|strategy| {
                let allows = of_policy(&context.sources, |spec| spec.allows(&strategy));
                allows.unwrap_or(Ok(()))
            });
            (present, verdict)
        }
        Err(invalid) => {
            let detail = format!("the template cannot be read: {}", invalid.error);
            let unreadable = Obstacle::new(Reason::SpecInvalid, detail);
            (invalid.conditions.as_slice(), Err(unreadable))
        }
    };
    let metadata = guarded.meta();
    let usable = verdict
        .clone()
        .map(|()| "remediations can be made from it".to_owned());
    let statement = accepted(usable, metadata.generation);
    let api = api(&context, guarded.as_ref());
    let identity_changed = context
        .conditions
        .write(&api, metadata, present, &[statement])
        .await?;
    if identity_changed && let Err(obstacle) = verdict {
        context.reporter.warn(&guarded.object_ref(&()), &obstacle).await;
    }
    Ok(Action::await_change())
}

fn accepted(verdict: Result<String, Obstacle>, generation: Option<i64>) -> Statement {
    let verdict = verdict.map(|message| (Reason::Accepted, message));
    Statement::verdict(ACCEPTED, verdict, generation)
}

/// What is known of the BMC. Nothing is said when what an earlier process said has not been looked into yet.
fn ready(
    context: &Readiness,
    endpoint: &BMCEndpoint,
    present: &[Condition],
    sole: Result<(), Obstacle>,
) -> Option<Statement> {
    let generation = endpoint.metadata.generation;
    if let Err(why) = rules(context) {
        return Some(Statement::unknown(READY, &why, generation));
    }
    let host = key_of(endpoint);
    let reference = HostObject::Endpoint(host.name.clone());
    let allowed = allowed_by_policy(&context.sources);
    let used = allowed.map_or(Ok(()), |allowed| {
        endpoint_is_allowed(&allowed, &host.namespace, &reference)
    });
    if let Err(why) = used.and(sole) {
        return Some(Statement::verdict(READY, Err(why), generation));
    }
    if let Some(finding) = context.findings.of(&host) {
        let verdict = finding.verdict.map(|message| (Reason::BmcReady, message));
        return Some(Statement::verdict(READY, verdict, finding.generation));
    }
    let mut standing = present.iter().filter(|condition| condition.type_ == READY);
    // What is allowed again, or has one owner again, has not been checked since.
    let no_check = [Reason::NamespaceNotAllowed, Reason::HostAmbiguous].map(Reason::as_str);
    let tells = |condition: &Condition| {
        condition.status != "Unknown" && !no_check.contains(&condition.reason.as_str())
    };
    if standing.any(tells) {
        return None;
    }
    let not_yet = Obstacle::new(Reason::BmcNotChecked, "the BMC was not checked yet");
    Some(Statement::unknown(READY, &not_yet, generation))
}

/// The field of the status that says of which host the BMC is, if it has to say something else than it does.
fn found_otherwise(context: &Readiness, endpoint: &BMCEndpoint) -> Option<Map<String, Value>> {
    let host = key_of(endpoint);
    let reference = HostObject::Endpoint(host.name.clone());
    let is_allowed = allowed_by_policy(&context.sources)
        .is_none_or(|allowed| endpoint_is_allowed(&allowed, &host.namespace, &reference).is_ok());
    let found = match rules(context) {
        // Nobody looks any more whether it still is so.
        Err(why) if why.reason == Reason::ReadinessChecksOff => None,
        Ok(_) if !is_allowed => None,
        Ok(_) | Err(_) => context.findings.of(&host)?.found,
    };
    let said = endpoint.status.as_ref().and_then(|status| status.found.as_ref());
    let field = || Map::from_iter([("found".to_owned(), json!(found))]);
    (said != found.as_ref()).then(field)
}

fn key_of(endpoint: &BMCEndpoint) -> HostKey {
    HostKey {
        kind: HostKind::Endpoint,
        namespace: endpoint.namespace().unwrap_or_default(),
        name: endpoint.name_any(),
    }
}

pub(super) fn judge_endpoint(sources: &Sources, endpoint: &BMCEndpoint) -> Result<String, Obstacle> {
    let resolved = host::resolve_endpoint(endpoint)?;
    let namespace = endpoint.namespace().unwrap_or_default();
    if let Some(allowed) = allowed_by_policy(sources) {
        endpoint_is_allowed(&allowed, &namespace, &resolved.host.reference)?;
    }
    match resolved.address.protocol {
        Protocol::Redfish => {}
        Protocol::Ipmi if allows(sources, Protocol::Ipmi) => {}
        Protocol::Ipmi => {
            return Err(Obstacle::new(
                Reason::BmcProtocolNotAllowed,
                "spec.address names an IPMI BMC, and the RemediationPolicy does not allow IPMI",
            ));
        }
    }
    match twin(&sources.caches.endpoints, endpoint) {
        Some(twin) => {
            let detail = format!("BMCEndpoint {} names the same Machine or Node", twin.name_any());
            Err(Obstacle::new(Reason::HostAmbiguous, detail))
        }
        None => {
            host::alone(&sources.caches.endpoints, &namespace, &resolved)?;
            Ok(format!("the BMC is at {}", resolved.host.bmc))
        }
    }
}

/// Another endpoint of the namespace that names the same host.
pub(crate) fn twin(
    endpoints: &IndexedStore<BMCEndpoint>,
    endpoint: &BMCEndpoint,
) -> Option<Arc<Guarded<BMCEndpoint>>> {
    let (name, spec) = (endpoint.name_any(), &endpoint.spec);
    let same_host = EndpointIndex::Host(
        endpoint.namespace().unwrap_or_default(),
        spec.machine_name.clone(),
        spec.node_name.clone(),
    );
    endpoints.first_by(&same_host, |other| other.name_any() != name)
}

/// What the policy in force allows of namespaces; nothing where there is none that can be read.
pub(super) fn allowed_by_policy(sources: &Sources) -> Option<Allowed> {
    of_policy(sources, |spec| spec.allowed.clone())
}

/// What the policy in force says, if there is one that can be read.
fn of_policy<T>(sources: &Sources, read: impl FnOnce(&RemediationPolicySpec) -> T) -> Option<T> {
    let policy = caches::find(&sources.caches.policies, None, POLICY_NAME)?;
    policy.0.as_ref().ok().map(|policy| read(&policy.spec))
}

/// Whether the policy in force lists the protocol.
fn allows(sources: &Sources, wanted: Protocol) -> bool {
    of_policy(sources, |spec| spec.bmc.protocols.contains(&wanted)).unwrap_or(false)
}

pub(crate) async fn policy(
    guarded: Arc<Guarded<RemediationPolicy>>,
    context: Arc<Readiness>,
) -> Result<Action, ShellError> {
    let api = Api::<Guarded<RemediationPolicy>>::all(context.sources.client.clone());
    let generation = guarded.meta().generation;
    let role = context.sources.caches.denied.statement(generation);
    let (present, statements) = match &guarded.0 {
        Ok(policy) => {
            let present = policy
                .status
                .as_ref()
                .map_or(&[][..], |status| &status.conditions);
            let mut statements = vec![accepted(judge_policy(policy), generation), role.clone()];
            statements.extend(allowed(policy, &context));
            // Until that was looked at, what an earlier process said holds.
            statements.extend(activation::statements(
                |api| context.checker.mode(api),
                generation,
            ));
            if policy.name_any() == POLICY_NAME {
                context.checker.policy_is(&policy.metadata);
            }
            (present, statements)
        }
        Err(invalid) => {
            let mut statements = vec![
                not_accepted(invalid, "RemediationPolicy", Reason::PolicyUnreadable),
                role.clone(),
            ];
            if invalid.metadata.name.as_deref() == Some(POLICY_NAME) {
                let unreadable = Obstacle::new(Reason::PolicyUnreadable, invalid.error.clone());
                statements.push(Statement::unknown(REMEDIATION_ALLOWED, &unreadable, generation));
            }
            (invalid.conditions.as_slice(), statements)
        }
    };
    let identity_changed = context
        .conditions
        .write(&api, guarded.meta(), present, &statements)
        .await?;
    if guarded.name_any() == POLICY_NAME
        && let Ok(policy) = &guarded.0
    {
        write_used(&api, policy, &context).await?;
    }
    let said_before = present.iter().any(|condition| role.is_said_by(condition));
    if identity_changed && !said_before && role.status == "False" {
        context.reporter.tell(&guarded.object_ref(&()), &role).await;
    }
    Ok(Action::requeue(BRAKES_TOLD))
}

/// Writes what is used of the limits, and which power-offs count whose remediations are deleted, where that is news.
async fn write_used(
    api: &Api<Guarded<RemediationPolicy>>,
    policy: &RemediationPolicy,
    context: &Readiness,
) -> Result<(), ShellError> {
    let (told, power_offs) = context.admitted.for_status(&context.sources);
    context.reporter.limits_are(&told);
    let used = UsedLimits {
        concurrent: told.at_once.to_string(),
        window: told.in_window.to_string(),
        unhealthy_hosts: told.unhealthy.to_string(),
        failed: told.failed.to_string(),
        failure_domains: told.domains,
    };
    let status = policy.status.clone().unwrap_or_default();
    if status.used.as_ref() == Some(&used) && status.power_offs == power_offs {
        return Ok(());
    }
    let change = json!({"status": {"used": used, "powerOffs": power_offs}});
    let (name, parameters) = (policy.name_any(), PatchParams::default());
    let patch = Patch::Merge(&change);
    let written = api.patch_status(&name, &parameters, &patch);
    match within("writing what is used of the limits", written).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the brakes let anything begin. Of the policy that counts.
fn allowed(policy: &RemediationPolicy, context: &Readiness) -> Option<Statement> {
    if policy.name_any() != POLICY_NAME {
        return None;
    }
    let paused = Obstacle::new(Reason::PolicyPaused, "the RemediationPolicy is paused");
    let paused = if policy.spec.paused { Err(paused) } else { Ok(()) };
    let brakes = context.admitted.brakes(&context.sources);
    let verdict = paused.and(brakes).map(|used| (Reason::WithinLimits, used));
    let why = verdict.as_ref().err().map(|obstacle| obstacle.reason);
    context.reporter.held_up_by(why);
    Some(Statement::verdict(
        REMEDIATION_ALLOWED,
        verdict,
        policy.metadata.generation,
    ))
}

fn judge_policy(policy: &RemediationPolicy) -> Result<String, Obstacle> {
    some_are_listed(&policy.spec.bmc)?;
    policy.spec.strategy_of_triggers()?;
    policy.spec.limits.limits()?;
    Ok("in force".to_owned())
}

/// What to do after a failed write: nothing depends on it, so there is no hurry.
#[allow(clippy::needless_pass_by_value)] // The signature is the queue's.
pub(crate) fn error_policy<K: Resource>(object: Arc<K>, error: &ShellError, _: Arc<Readiness>) -> Action {
    tracing::warn!(object = %object.name_any(), error = %crate::report::chain(error), "condition not written");
    Action::requeue(Duration::from_secs(30))
}
