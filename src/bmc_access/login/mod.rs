//! What a conversation with the BMC of a host needs: rules, login and trust, read when they are needed.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::Api;
use kube::{Client, ResourceExt as _};
use remediator_api::bmc_endpoint::{CaSource, CaSourceKind};
use remediator_api::keys;
use remediator_api::remediation_policy::{BmcRules, Transport};
use remediator_bmc::{
    AllowedNetworks, AuthMethod, Binding, BindingError, BmcTarget, Credentials, ServerTrust,
    TransportSecurity,
};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::phase::Reason;
use zeroize::Zeroize as _;

use crate::api_call::{ShellError, within};
use crate::bmc_access::host::{HostTrust, ResolvedHost, fingerprints};

/// Key of a credentials Secret under which the CA of the BMC may stand.
const CA_KEY: &str = "ca.crt";
/// Key of a credentials Secret under which fingerprints of its certificate may stand: the only place
/// for them where a BareMetalHost describes the host.
const FINGERPRINTS_KEY: &str = "certificateFingerprints";

/// The Secret of a host, read now.
#[derive(Debug)]
pub(crate) struct Login {
    /// Namespace and name of the Secret.
    pub(crate) secret: String,
    /// Its resourceVersion, or an earlier one with the same content.
    pub(crate) version: String,
    /// Whether the Secret carries our finalizer.
    pub(crate) is_held: bool,
    /// For which BMCs it is meant.
    binding: Result<Binding, BindingError>,
    data: SecretData,
}

/// The values of a Secret: wiped when they are dropped, and shown nowhere.
struct SecretData(BTreeMap<String, ByteString>);

impl Drop for SecretData {
    fn drop(&mut self) {
        for value in self.0.values_mut() {
            value.0.zeroize();
        }
    }
}

impl fmt::Debug for SecretData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Reads the credentials Secret of a host.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the Secret.
pub(crate) async fn login(
    client: &Client,
    namespace: &str,
    host: &ResolvedHost,
) -> Result<Result<Login, Obstacle>, ShellError> {
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let name = &host.secret;
    let missing = match within("reading the BMC's Secret", secrets.get_opt(name)).await {
        Ok(Some(secret)) => {
            return Ok(Ok(Login {
                secret: format!("{namespace}/{name}"),
                version: secret.resource_version().unwrap_or_default(),
                is_held: secret
                    .finalizers()
                    .iter()
                    .any(|one| one == keys::SECRET_FINALIZER),
                binding: Binding::of(secret.annotations()),
                data: SecretData(secret.data.unwrap_or_default()),
            }));
        }
        Ok(None) => format!("Secret {name} of {} does not exist", host.host.reference),
        Err(error) if error.is_forbidden() => not_allowed(&format!("Secret {name}"), namespace),
        Err(error) => return Err(error),
    };
    Ok(Err(Obstacle::new(Reason::BmcCredentialsMissing, missing)))
}

/// Puts everything together that a conversation with the BMC needs. `allowed`: where it may be.
pub(crate) async fn target(
    client: &Client,
    namespace: &str,
    host: &ResolvedHost,
    login: &Login,
    (rules, allowed): (BmcRules, AllowedNetworks),
    expected_uuid: Option<SystemUuid>,
) -> Result<Result<BmcTarget, Obstacle>, ShellError> {
    let values = login.data.0.iter();
    let bytes = values
        .map(|(key, value)| (key.clone(), value.0.as_slice()))
        .collect();
    let credentials = match Credentials::from_secret(&bytes, &login.version) {
        Ok(credentials) => credentials,
        Err(error) => {
            let detail = format!("Secret {}: {error}", host.secret);
            return Ok(Err(Obstacle::new(Reason::BmcCredentialsMissing, detail)));
        }
    };
    let trust = match &host.trust {
        HostTrust::Stated(trust) => Ok(trust.clone()),
        HostTrust::AuthorityIn(source) => authority(client, namespace, host, source).await?,
        HostTrust::AsTheSecretSays => trust_of_secret(host, &login.data.0),
    };
    let fallback = rules
        .fallback_to_ipmi
        .and_then(|allowed| u16::try_from(allowed.port).ok());
    let target = trust.map(|trust| BmcTarget {
        address: host.address.clone(),
        credentials,
        trust,
        auth: AuthMethod::Auto,
        expected_uuid,
        known_system: host.known_system.clone(),
        allowed,
        protocols: rules.protocols,
        fallback,
        minimum_transport: required(rules.minimum_transport),
    });
    Ok(target.and_then(|target| bound(host, login, target)))
}

/// The target, if the Secret is meant for it.
fn bound(host: &ResolvedHost, login: &Login, target: BmcTarget) -> Result<BmcTarget, Obstacle> {
    let binding = login.binding.as_ref().map_err(Clone::clone);
    binding
        .and_then(|binding| binding.narrow(target))
        .map_err(|error| {
            let detail = format!(
                "{}: Secret {} is not offered: {error}",
                host.place(),
                login.secret
            );
            Obstacle::new(Reason::BmcCredentialsForOthers, detail)
        })
}

/// The policy's word for a protection, as power control has it.
pub(crate) fn required(transport: Transport) -> TransportSecurity {
    match transport {
        Transport::VerifiedTLS => TransportSecurity::VerifiedTls,
        Transport::UnverifiedTLS => TransportSecurity::UnverifiedTls,
        Transport::PlainHTTP => TransportSecurity::PlainHttp,
    }
}

/// The CA certificates that a ConfigMap or Secret holds.
async fn authority(
    client: &Client,
    namespace: &str,
    host: &ResolvedHost,
    source: &CaSource,
) -> Result<Result<ServerTrust, Obstacle>, ShellError> {
    let CaSource { kind, name, key } = source;
    let what = format!("{} {name}, named by {}", kind.as_str(), host.host.reference);
    let untrusted = |detail: String| Ok(Err(Obstacle::new(Reason::BmcTlsUntrusted, detail)));
    let found = match kind {
        CaSourceKind::ConfigMap => {
            let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
            let read = within("reading the CA's ConfigMap", api.get_opt(name)).await;
            let value = |map: ConfigMap| map.data.unwrap_or_default().remove(key).map(String::into_bytes);
            read.map(|found| found.map(value))
        }
        CaSourceKind::Secret => {
            let api = Api::<Secret>::namespaced(client.clone(), namespace);
            let read = within("reading the CA's Secret", api.get_opt(name)).await;
            let value = |secret: Secret| secret.data.unwrap_or_default().remove(key).map(|bytes| bytes.0);
            read.map(|found| found.map(value))
        }
    };
    match found {
        Ok(Some(Some(pem))) => Ok(pem_text(&format!("key {key} of {what}"), &pem)),
        Ok(Some(None)) => untrusted(format!("{what}, has no key {key}")),
        Ok(None) => untrusted(format!("{what}, does not exist")),
        Err(error) if error.is_forbidden() => untrusted(not_allowed(&what, namespace)),
        Err(error) => Err(error),
    }
}

fn trust_of_secret(
    host: &ResolvedHost,
    data: &BTreeMap<String, ByteString>,
) -> Result<ServerTrust, Obstacle> {
    let place = |key: &str| format!("key {key} of Secret {}", host.secret);
    match (data.get(FINGERPRINTS_KEY), data.get(CA_KEY)) {
        (Some(_), Some(_)) => {
            let both = format!("both {FINGERPRINTS_KEY} and {CA_KEY}, and only one of them can hold");
            let detail = format!("Secret {} has {both}", host.secret);
            Err(Obstacle::new(Reason::BmcTlsUntrusted, detail))
        }
        (Some(bytes), None) => {
            let text = String::from_utf8_lossy(&bytes.0);
            let texts = text.split([',', '\n']).map(|text| text.trim().to_owned());
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            let pins = fingerprints(&texts, &place(FINGERPRINTS_KEY), Reason::BmcTlsUntrusted);
            pins.map(ServerTrust::Fingerprints)
        }
        (None, Some(bytes)) => pem_text(&place(CA_KEY), &bytes.0),
        (None, None) => Ok(ServerTrust::SystemRoots),
    }
}

fn pem_text(place: &str, bytes: &[u8]) -> Result<ServerTrust, Obstacle> {
    let pem = std::str::from_utf8(bytes)
        .map_err(|_| Obstacle::new(Reason::BmcTlsUntrusted, format!("{place} must be PEM text")))?;
    Ok(ServerTrust::CertificateAuthority(pem.to_owned()))
}

fn not_allowed(what: &str, namespace: &str) -> String {
    format!(
        "this daemon's role does not let it read {what} in namespace {namespace}; apply \
         per-namespace/bmc-credentials there"
    )
}
