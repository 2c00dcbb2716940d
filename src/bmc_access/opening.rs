//! What the API server has to tell before a BMC may be asked: its Secret, the policy, and what its certificate is known by.

use std::sync::PoisonError;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::{BmcRules, POLICY_NAME};
use remediator_api::target_ref::to_bring_back;
use remediator_bmc::{AllowedNetworks, BmcAddress, BmcTarget, Host, ServerTrust, Urgency};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Route;
use remediator_core::phase::Reason;
use tokio::time::Instant;

use crate::api_call::ShellError;
use crate::bmc_access::bmc_obstacle::obstacle;
use crate::bmc_access::cluster_networks;
use crate::bmc_access::host::{HostTrust, ResolvedHost};
use crate::bmc_access::login::Login;
use crate::bmc_access::rejected_credentials::{Rejection, Taker};
use crate::bmc_access::{BmcAccess, journalled, login};
use crate::watch::caches;

/// Who opens a conversation.
pub(crate) enum Asker<'a> {
    Remediation(&'a PowerCycleRemediation),
    /// A check in the background, of a host in this namespace.
    Check(&'a str),
}

/// All that the API server has to tell for a conversation.
pub(crate) struct Opening {
    pub(super) login: Login,
    pub(super) target: BmcTarget,
    pub(super) host: ResolvedHost,
    pub(super) route: Route,
    pub(super) urgency: Urgency,
    /// The BMC, to which the Secret is offered.
    pub(super) taker: Taker,
    /// Session of the journal.
    pub(super) predecessor: Option<String>,
}

impl Opening {
    /// Reads the Secret now, checks address and policy.
    ///
    /// # Errors
    /// The outer error is a failed call to the API server, the inner one the obstacle.
    pub(crate) async fn of(
        access: &BmcAccess,
        asker: Asker<'_>,
        host: &ResolvedHost,
        expected_uuid: Option<SystemUuid>,
    ) -> Result<Result<Self, Obstacle>, ShellError> {
        let (namespace, remediation, urgency) = match asker {
            Asker::Remediation(remediation) => {
                let namespace = remediation.namespace().unwrap_or_default();
                (namespace, Some(remediation), Urgency::Remediation)
            }
            Asker::Check(namespace) => (namespace.to_owned(), None, Urgency::Background),
        };
        let begun = remediation.and_then(Begun::of);
        let taker = taker(&host.address, begun.as_ref());
        let (login, target, route) = match access.target(&namespace, host, expected_uuid, begun).await? {
            Ok(target) => target,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        if login.is_held && remediation.is_none() {
            // Whoever held it may have died before the end.
            access.let_go_if_unneeded(&namespace, &host.secret).await;
        }
        let journal = remediation.and_then(PowerCycleRemediation::journal);
        Ok(Ok(Self {
            login,
            target,
            host: host.clone(),
            route,
            urgency,
            taker,
            predecessor: journal.and_then(|journal| journal.bmc_session.clone()),
        }))
    }
}

impl BmcAccess {
    /// What a conversation with the BMC of a host needs, and what is journalled of the way. `begun`: something was begun
    /// that has to be ended.
    ///
    /// # Errors
    /// The outer error is a failed call to the API server, the inner one what is wrong with Secret, policy or trust
    /// settings.
    pub(crate) async fn target(
        &self,
        namespace: &str,
        host: &ResolvedHost,
        expected_uuid: Option<SystemUuid>,
        begun: Option<Begun>,
    ) -> Result<Result<(Login, BmcTarget, Route), Obstacle>, ShellError> {
        let mut login = match login::login(&self.client, namespace, host).await? {
            Ok(login) => login,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        login.version = self.holds.version_of_content(&login.secret, login.version);
        let rules = match admitted(self, &login, host, begun) {
            Ok(rules) => rules,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let route = journalled::route(host, &rules.0);
        let target = login::target(&self.client, namespace, host, &login, rules, expected_uuid).await?;
        Ok(target.map(|target| (login, target, route)))
    }

    /// The way to a BMC that has shown no certificate yet; none where no policy says where BMCs may be.
    pub(crate) fn route(&self, host: &ResolvedHost) -> Option<Route> {
        let rules = rules(self, None).ok()?;
        Some(journalled::route(host, &rules))
    }

    /// Whether the policy lets the BMC of a host be reached, as far as that is known without its Secret and without
    /// resolving a name.
    pub(crate) async fn may_reach(&self, host: &ResolvedHost) -> Result<(), Obstacle> {
        let address = &host.address;
        let (rules, allowed) = rules_for(self, address, None)?;
        cluster_networks::some_are_listed(&rules)?;
        let trust = match &host.trust {
            HostTrust::Stated(trust) => trust,
            // Whichever CA or fingerprint there is, the certificate is verified.
            HostTrust::AuthorityIn(_) | HostTrust::AsTheSecretSays => &ServerTrust::SystemRoots,
        };
        let checked = async {
            address.check(trust, &rules.protocols, login::required(rules.minimum_transport))?;
            if let Host::Ip(_) = address.host {
                allowed.resolve(&address.host, address.port).await?;
            }
            Ok(())
        };
        checked.await.map_err(|error| obstacle(&host.place(), &error))
    }
}

/// The rules under which this login may be offered to this BMC, and where it may be.
fn admitted(
    access: &BmcAccess,
    login: &Login,
    host: &ResolvedHost,
    begun: Option<Begun>,
) -> Result<(BmcRules, AllowedNetworks), Obstacle> {
    let mut secrets = access.secrets_read.lock().unwrap_or_else(PoisonError::into_inner);
    secrets.insert(login.secret.clone(), login.version.clone());
    drop(secrets);
    let address = &host.address;
    let taker = taker(address, begun.as_ref());
    let rejection = access
        .rejected
        .holds(&login.secret, &login.version, &taker, Instant::now());
    if let Some(rejection) = rejection {
        return Err(rejected_before(&host.secret, rejection));
    }
    rules_for(access, address, begun)
}

/// The rules for a BMC at this address, and where it may be.
fn rules_for(
    access: &BmcAccess,
    address: &BmcAddress,
    begun: Option<Begun>,
) -> Result<(BmcRules, AllowedNetworks), Obstacle> {
    let is_begun = begun.is_some();
    let rules = rules(access, begun)?;
    let nodes = cluster_networks::that_matter(&access.caches.nodes, &address.host);
    let allowed = access.networks.allowed(&rules, address, &nodes, is_begun)?;
    Ok((rules, allowed))
}

fn taker(address: &BmcAddress, begun: Option<&Begun>) -> Taker {
    begun.map_or_else(
        || Taker::new(address),
        |begun| Taker::owed(address, begun.took_secret),
    )
}

/// Something was begun that has to be ended.
pub(crate) struct Begun {
    /// The rules under which it was; none in a journal of an earlier version.
    rules: Option<BmcRules>,
    /// Whether the BMC took the Secret: it has named the host.
    took_secret: bool,
}

impl Begun {
    fn of(remediation: &PowerCycleRemediation) -> Option<Self> {
        let subject = to_bring_back(remediation)?.subject.as_ref();
        Some(Self {
            rules: journalled::rules(remediation),
            took_secret: subject.is_some_and(|subject| subject.protocol.is_some()),
        })
    }
}

/// The rules for talking to BMCs. What was begun under rules that are gone is ended under them: a host that was
/// switched off is switched on, also when the policy was deleted or broken since.
fn rules(access: &BmcAccess, begun: Option<Begun>) -> Result<BmcRules, Obstacle> {
    let policy = caches::find(&access.caches.policies, None, POLICY_NAME);
    let mut last = access.last_rules.lock().unwrap_or_else(PoisonError::into_inner);
    let missing = match policy.as_deref().map(|guarded| &guarded.0) {
        Some(Ok(policy)) => {
            *last = Some(policy.spec.bmc.clone());
            return Ok(policy.spec.bmc.clone());
        }
        Some(Err(invalid)) => Obstacle::new(Reason::PolicyUnreadable, invalid.error.clone()),
        None => Obstacle::new(Reason::PolicyMissing, "there is no RemediationPolicy"),
    };
    begun
        .and_then(|begun| last.clone().or(begun.rules))
        .ok_or(missing)
}

/// Why a Secret is not offered.
pub(super) fn rejected_before(secret: &str, rejection: Rejection) -> Obstacle {
    const CORRECT: &str = "Correct the Secret; after any change of it, it is tried once more.";
    let detail = match rejection {
        Rejection::ByThisBmc => {
            format!("the BMC rejected Secret {secret} before; this version is not tried again. {CORRECT}")
        }
        Rejection::ForNow(within) => format!(
            "the BMC rejects Secret {secret}, which it took before; it may be restarting, or wrong logins of others may have \
             locked the account. It is tried again within {} min. {CORRECT}",
            within.as_secs().div_ceil(60)
        ),
        Rejection::ByOthers(count) => format!(
            "{count} other BMCs rejected Secret {secret} and none took it; this version is not tried any more. {CORRECT}"
        ),
        Rejection::TooMany => format!(
            "Secret {secret}, which the BMC never took, is tried when the logins that it rejected are 5 min old: one more could \
             lock the account. Look for BMCEndpoints with the same address and a wrong Secret."
        ),
    };
    Obstacle::new(Reason::BmcCredentialsRejected, detail)
}
