//! The talk with one BMC during one remediation: one login, one connection, closed at the end.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::Api;
use tokio::time::Instant;

use super::api_call::{ShellError, within};
use super::caches;
use super::context::Context;
use super::host::ResolvedHost;
use super::latch::Latched;
use crate::api::PowerCycleRemediation;
use crate::api::remediation_policy::{BmcRules, POLICY_NAME, Transport};
use crate::bmc::{
    AllowedNetworks, AuthMethod, BmcError, BmcLine, BmcTarget, CommandAnswer, Credentials, PowerCommand,
    Refusal, ServerTrust, TransportSecurity, Urgency,
};
use crate::core::facts::Obstacle;
use crate::core::identity::SystemUuid;
use crate::core::journal::Verb;
use crate::core::observed::{Answer, PowerRead};
use crate::core::phase::Reason;

/// Key of a credentials Secret under which the CA of the BMC may stand.
const CA_KEY: &str = "ca.crt";

/// An open talk with a BMC.
#[derive(Debug)]
pub(crate) struct Conversation {
    line: BmcLine,
    /// Which BMC, for messages.
    place: String,
    bmc: String,
    /// Namespace and name.
    secret: String,
    /// Session of the journal, until it is known to have ended.
    predecessor: Option<String>,
    version: String,
}

impl Conversation {
    /// Prepares a talk: reads the Secret now, checks address and policy. Nothing is sent yet.
    ///
    /// # Errors
    /// The outer error is a failed call to the API server, the inner one what stands in the way.
    pub(crate) async fn open(
        context: &Context,
        remediation: &PowerCycleRemediation,
        host: &ResolvedHost,
        expected_uuid: Option<SystemUuid>,
    ) -> Result<Result<Self, Obstacle>, ShellError> {
        let namespace = remediation.namespace().unwrap_or_default();
        let journal = remediation.status.as_ref().map(|status| &status.journal);
        let begun = journal.is_some_and(|journal| journal.intent.is_some());
        let secrets = Api::<Secret>::namespaced(context.client.clone(), &namespace);
        let secret = match within("reading the BMC's Secret", secrets.get_opt(&host.secret)).await {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                let detail = format!("Secret {} of {} does not exist", host.secret, host.host.reference);
                return Ok(Err(Obstacle::new(Reason::BmcCredentialsMissing, detail)));
            }
            Err(error) if error.is_forbidden() => {
                let detail = format!(
                    "this daemon's role does not let it read Secret {} in namespace {namespace}; \
                     apply components/bmc-namespace there",
                    host.secret
                );
                return Ok(Err(Obstacle::new(Reason::BmcCredentialsMissing, detail)));
            }
            Err(error) => return Err(error),
        };
        let version = secret.resource_version().unwrap_or_default();
        let name = format!("{namespace}/{}", host.secret);
        if let Some(latched) = context.latch.holds(&name, &version, &host.host.bmc) {
            return Ok(Err(rejected_before(&host.secret, latched)));
        }
        let target = match target(rules(context, begun), host, &secret, &version, expected_uuid) {
            Ok(target) => target,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let place = format!("{} at {}", host.host.reference, host.host.bmc);
        let line = context.bmcs.line(target, Urgency::Remediation);
        Ok(match line.prepare().await {
            Ok(()) => Ok(Self {
                line,
                place,
                bmc: host.host.bmc.clone(),
                secret: name,
                version,
                predecessor: journal.and_then(|journal| journal.bmc_session.clone()),
            }),
            Err(error) => Err(obstacle(&place, &error)),
        })
    }

    /// Asks for identity and power state. Times are those of this process's clock.
    pub(crate) async fn read(&mut self, context: &Context) -> Result<PowerRead, Obstacle> {
        let began = context.clock.now();
        let reading = self
            .line
            .read()
            .await
            .map_err(|error| self.judge(context, &error))?;
        context.latch.note_login(&self.secret, &self.version);
        self.end_predecessor(reading.session.as_deref()).await;
        Ok(PowerRead {
            began,
            ended: context.clock.now(),
            power: reading.power,
            said: reading.literal.unwrap_or_else(|| "null".to_owned()),
            uuid: reading.uuid,
            system: reading.system,
            session: reading.session,
        })
    }

    /// Ends the session in which a predecessor may have sent a command: nothing of it comes late, and
    /// it does not stay behind.
    async fn end_predecessor(&mut self, own: Option<&str>) {
        let Some(left) = self.predecessor.take() else {
            return;
        };
        if own == Some(left.as_str()) {
            return;
        }
        match self.line.end_session(left).await {
            Ok(true) => tracing::info!(bmc = %self.bmc, "ended the session of a predecessor"),
            Ok(false) => {}
            Err(error) => {
                tracing::debug!(bmc = %self.bmc, %error, "a predecessor's session could not be ended");
            }
        }
    }

    /// Sends one power command, once, and not after the given time.
    pub(crate) async fn command(&mut self, context: &Context, verb: Verb, not_after: Timestamp) -> Answer {
        let left = Duration::try_from(not_after.duration_since(context.clock.now())).unwrap_or_default();
        let now = Instant::now();
        let not_after = now.checked_add(left).unwrap_or(now);
        let command = match verb {
            Verb::PowerOff => PowerCommand::ForceOff,
            Verb::PowerOn => PowerCommand::On,
        };
        let answer = self.line.command(command, not_after).await;
        match answer {
            Ok(CommandAnswer::Accepted { .. } | CommandAnswer::AlreadyThereOrConflict { .. }) => {
                Answer::Acknowledged
            }
            // What a BMC did before it failed inside is not known.
            Ok(CommandAnswer::Refused {
                class: Refusal::Failed,
                text,
                ..
            }) => Answer::Unknown(Obstacle::new(Reason::BmcProtocolError, text)),
            Ok(CommandAnswer::Refused {
                class: Refusal::Busy | Refusal::Unsupported | Refusal::SessionEnded,
                text,
                ..
            }) => Answer::Refused(Obstacle::new(Reason::BmcCommandRefused, text)),
            Err(error) if error.may_have_been_executed() => Answer::Unknown(self.judge(context, &error)),
            Err(error) => Answer::NotSent(self.judge(context, &error)),
        }
    }

    /// Ends the talk; a session is deleted at the BMC. Answers whether one was.
    pub(crate) async fn close(self) -> bool {
        match self.line.close().await {
            Ok(had_session) => had_session,
            Err(error) => {
                tracing::warn!(%error, "the session at the BMC could not be deleted; it ends by itself");
                false
            }
        }
    }

    fn judge(&self, context: &Context, error: &BmcError) -> Obstacle {
        let obstacle = obstacle(&self.place, error);
        if obstacle.reason == Reason::BmcCredentialsRejected {
            let latch = &context.latch;
            latch.note_rejection(&self.secret, &self.version, &self.bmc);
        }
        obstacle
    }
}

fn rejected_before(secret: &str, latched: Latched) -> Obstacle {
    let detail = match latched {
        Latched::ByThisBmc => {
            format!("the BMC rejected Secret {secret} before; this version is not tried again")
        }
        Latched::ByOthers(count) => format!(
            "{count} other BMCs rejected Secret {secret} and none took it; this version is not tried any more"
        ),
    };
    Obstacle::new(Reason::BmcCredentialsRejected, detail)
}

/// The rules for talking to BMCs. What was begun under rules that are gone is ended under them.
fn rules(context: &Context, begun: bool) -> Result<BmcRules, Obstacle> {
    let policy = caches::find(&context.caches.policies, None, POLICY_NAME);
    let missing = match policy.as_deref().map(|guarded| &guarded.0) {
        Some(Ok(policy)) => {
            context.remember_rules(&policy.spec.bmc);
            return Ok(policy.spec.bmc.clone());
        }
        Some(Err(invalid)) => Obstacle::new(Reason::PolicyUnreadable, invalid.error.clone()),
        None => Obstacle::new(Reason::PolicyMissing, "there is no RemediationPolicy"),
    };
    context.last_rules().filter(|_| begun).ok_or(missing)
}

fn target(
    rules: Result<BmcRules, Obstacle>,
    host: &ResolvedHost,
    secret: &Secret,
    version: &str,
    expected_uuid: Option<SystemUuid>,
) -> Result<BmcTarget, Obstacle> {
    let rules = rules?;
    let empty = std::collections::BTreeMap::new();
    let data = secret.data.as_ref().unwrap_or(&empty);
    let bytes = data
        .iter()
        .map(|(key, value)| (key.clone(), value.0.as_slice()))
        .collect();
    let credentials = Credentials::from_secret(&bytes, version).map_err(|error| {
        Obstacle::new(
            Reason::BmcCredentialsMissing,
            format!("Secret {}: {error}", host.secret),
        )
    })?;
    Ok(BmcTarget {
        address: host.address.clone(),
        credentials,
        trust: trust(host, secret)?,
        auth: AuthMethod::Auto,
        expected_uuid,
        allowed: AllowedNetworks::new(rules.allowed_networks),
        minimum_transport: match rules.minimum_transport {
            Transport::VerifiedTLS => TransportSecurity::VerifiedTls,
            Transport::UnverifiedTLS => TransportSecurity::UnverifiedTls,
            Transport::PlainHTTP => TransportSecurity::PlainHttp,
        },
    })
}

fn trust(host: &ResolvedHost, secret: &Secret) -> Result<ServerTrust, Obstacle> {
    if let Some(trust) = &host.trust {
        return Ok(trust.clone());
    }
    let Some(bytes) = secret.data.as_ref().and_then(|data| data.get(CA_KEY)) else {
        return Ok(ServerTrust::SystemRoots);
    };
    match std::str::from_utf8(&bytes.0) {
        Ok(pem) => Ok(ServerTrust::CertificateAuthority(pem.to_owned())),
        Err(_) => Err(Obstacle::new(
            Reason::BmcTlsUntrusted,
            format!("key {CA_KEY} of Secret {} must be PEM text", host.secret),
        )),
    }
}

/// What an error of the power-control layer means for a remediation.
fn obstacle(place: &str, error: &BmcError) -> Obstacle {
    let reason = match error {
        BmcError::ProtocolNotSupported { .. } => Reason::BmcProtocolNotAllowed,
        BmcError::InsecureTransport { .. } => Reason::BmcTlsUntrusted,
        BmcError::AddressNotAllowed { .. } => Reason::BmcAddressNotAllowed,
        BmcError::Unresolvable { .. }
        | BmcError::Unreachable { .. }
        | BmcError::NoAnswer { .. }
        | BmcError::UnknownOutcome { .. }
        | BmcError::TooLate => Reason::BmcUnreachable,
        BmcError::Tls { .. } | BmcError::TrustUnusable { .. } => Reason::BmcTlsUntrusted,
        BmcError::AuthenticationRejected { .. } => Reason::BmcCredentialsRejected,
        BmcError::AmbiguousSystem { .. } => Reason::BmcSystemAmbiguous,
        BmcError::IdentityMismatch { .. } => Reason::IdentityMismatch,
        BmcError::Http { .. } if error.is_transient() => Reason::BmcNotReady,
        BmcError::Resting { .. } => Reason::BmcNotReady,
        BmcError::NotRedfish { .. }
        | BmcError::SessionsUnsupported
        | BmcError::Redirected { .. }
        | BmcError::NoSuchSystem { .. }
        | BmcError::ForeignReference { .. }
        | BmcError::NotRead
        | BmcError::Http { .. }
        | BmcError::TooLarge { .. } => Reason::BmcProtocolError,
        BmcError::Forbidden { .. } => Reason::BmcForbidden,
        BmcError::MissingResetTarget | BmcError::CommandNotOffered { .. } => Reason::BmcCommandRefused,
    };
    Obstacle::new(reason, format!("{place}: {error}"))
}
