//! Our hold on a BareMetalHost: how it is written, read and removed.
//! Source: baremetal-operator `apis/metal3.io/v1alpha1/baremetalhost_types.go`, `RebootAnnotationArguments` and
//! `DetachedAnnotationArguments`.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PartialObjectMeta, Patch, PatchParams};
use remediator_api::guarded::Guarded;
use remediator_api::keys;
use remediator_api::views::BareMetalHost;
use remediator_core::decision::{HeldHost, HoldOn};
use remediator_core::facts::Lookup;
use remediator_core::metal3::{HoldWrite, HostView, is_annotation_of_ours};
use serde_json::{Map, Value, json};

use crate::api_call::{ShellError, within};
use crate::metal3::Provider;

/// Off at once, and not in states in which baremetal-operator is busy with the host.
const HARD: &str = r#"{"mode":"hard","force":false}"#;
/// The same for baremetal-operator, and a change that it sees.
const HARD_AGAIN: &str = r#"{"force":false,"mode":"hard"}"#;

/// Reads what a BareMetalHost says of our hold.
///
/// # Errors
/// A failed call. A BareMetalHost that cannot be understood is unreadable.
pub(crate) async fn read(
    metal3: &Provider,
    namespace: &str,
    host: &HeldHost,
) -> Result<Lookup<HostView>, ShellError> {
    let found = within(
        "reading the BareMetalHost",
        hosts(metal3, namespace).get_opt(&host.name),
    )
    .await?;
    Ok(found.map_or(Lookup::Absent, |found| view(&found, host)))
}

/// Writes our annotation, or asks metal3 to let go of the host.
///
/// # Errors
/// A failed or refused call, also where the BareMetalHost is another one or has changed since it was decided on.
pub(crate) async fn write(
    metal3: &Provider,
    namespace: &str,
    hold: &HoldOn,
) -> Result<Lookup<HostView>, kube::Error> {
    let host = &hold.host;
    let label = is_annotation_of_ours(&host.annotation);
    let labels = label.map_or(json!({}), |uid| json!({ keys::HOLD_LABEL: uid }));
    let change = match hold.write {
        HoldWrite::Hold => json!({ "labels": labels, "annotations": { &host.annotation: HARD } }),
        HoldWrite::Kick => json!({ "annotations": { &host.annotation: HARD_AGAIN } }),
        HoldWrite::Detach => json!({ "labels": labels, "annotations": {
            keys::BARE_METAL_HOST_DETACHED: keys::DETACHED_BY_US, keys::DETACHED_FOR_ANNOTATION: host.annotation,
        }}),
    };
    let hosts = hosts(metal3, namespace);
    if hold.resource_version.is_some() {
        return patch(&hosts, host, hold.resource_version.as_deref(), change).await;
    }
    // What arrives late must not put back what was taken off meanwhile, nor disturb others.
    let found = view(&hosts.get(&host.name).await?, host);
    match &found {
        Lookup::Present(seen) if is_due(hold.write, seen) => {
            patch(&hosts, host, Some(&seen.resource_version), change).await
        }
        Lookup::Present(_) | Lookup::Absent | Lookup::Unreadable(_) => Ok(found),
    }
}

/// What is not held any more is not held anew; what another has detached stays theirs, and what metal3 services would
/// lose its Ironic in the middle of that.
fn is_due(write: HoldWrite, seen: &HostView) -> bool {
    match write {
        HoldWrite::Hold => true,
        HoldWrite::Kick => seen.held,
        HoldWrite::Detach => !seen.detached_by_another && !seen.servicing,
    }
}

/// Removes what we have put on a BareMetalHost, and answers what it is then.
///
/// # Errors
/// A failed or refused call.
pub(crate) async fn release(
    metal3: &Provider,
    namespace: &str,
    host: &HeldHost,
) -> Result<Lookup<HostView>, ShellError> {
    let found = read(metal3, namespace, host).await?;
    let Lookup::Present(found) = &found else {
        return Ok(found);
    };
    if found.uid != host.uid || found.is_free() {
        return Ok(Lookup::Present(found.clone()));
    }
    // Another remediation of the same host may have put its own there.
    let ours = [
        (found.held, host.annotation.as_str()),
        (found.noted, keys::DETACHED_FOR_ANNOTATION),
        (found.detaching, keys::BARE_METAL_HOST_DETACHED),
    ];
    let gone = |keys: &[(bool, &str)]| -> Map<String, Value> {
        let ours = keys.iter().filter(|(is_ours, _)| *is_ours);
        ours.map(|(_, key)| ((*key).to_owned(), Value::Null)).collect()
    };
    let labels = gone(&[(found.labelled, keys::HOLD_LABEL)]);
    let change = json!({ "labels": labels, "annotations": gone(&ours) });
    let hosts = hosts(metal3, namespace);
    let version = Some(found.resource_version.as_str());
    let call = "taking our hold off the BareMetalHost";
    within(call, patch(&hosts, host, version, change)).await
}

/// A BareMetalHost that a remediation of ours holds, or held.
pub(crate) struct HeldFor {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// UID of the remediation.
    pub(crate) remediation: String,
}

/// Lists the BareMetalHosts that a remediation holds; none where the kind is not served: then none was ever held.
///
/// # Errors
/// A failed or refused call.
pub(crate) async fn held(metal3: &Provider) -> Result<Vec<HeldFor>, ShellError> {
    let hosts = Api::<PartialObjectMeta<BareMetalHost>>::all(metal3.client.clone());
    let held = ListParams::default().labels(keys::HOLD_LABEL);
    let found = match within("listing held BareMetalHosts", hosts.list_metadata(&held)).await {
        Ok(found) => found,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let held_for = found.items.into_iter().filter_map(|host| {
        Some(HeldFor {
            namespace: host.namespace()?,
            name: host.name_any(),
            uid: host.uid()?,
            remediation: host.labels().get(keys::HOLD_LABEL)?.clone(),
        })
    });
    Ok(held_for.collect())
}

async fn patch(
    hosts: &Api<Guarded<BareMetalHost>>,
    host: &HeldHost,
    version: Option<&str>,
    mut metadata: Value,
) -> Result<Lookup<HostView>, kube::Error> {
    if let Value::Object(metadata) = &mut metadata {
        metadata.insert("uid".to_owned(), json!(host.uid));
        metadata.extend(version.map(|version| ("resourceVersion".to_owned(), json!(version))));
    }
    let change = Patch::Merge(json!({ "metadata": metadata }));
    let written = hosts.patch(&host.name, &PatchParams::default(), &change).await?;
    Ok(view(&written, host))
}

fn view(found: &Guarded<BareMetalHost>, host: &HeldHost) -> Lookup<HostView> {
    match &found.0 {
        Ok(found) => Lookup::Present(found.facts().view(&host.annotation)),
        Err(invalid) => Lookup::Unreadable(format!(
            "BareMetalHost {} cannot be read: {}",
            host.name, invalid.error
        )),
    }
}

fn hosts(metal3: &Provider, namespace: &str) -> Api<Guarded<BareMetalHost>> {
    Api::namespaced(metal3.client.clone(), namespace)
}
