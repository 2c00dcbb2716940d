//! What is left on a Node that was released: pods that still have to go, and volumes still attached.
//!
//! Pods that tolerate the release, and static pods, stay on the Node; neither they nor volumes that only they use
//! are waited for. Source: kubernetes `pkg/controller/tainteviction/taint_eviction.go`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolume, Pod, Toleration};
use kube::ResourceExt as _;
use remediator_api::keys;

/// Annotation of static pods, which the API server only mirrors.
pub(crate) const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// A claim as `namespace/name`.
pub type ClaimName = String;

/// Whether a pod stays on the Node by right.
fn stays(pod: &Pod) -> bool {
    if pod.metadata.deletion_timestamp.is_some() {
        return false;
    }
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let finished = matches!(phase, Some("Succeeded" | "Failed"));
    finished || pod.annotations().contains_key(MIRROR_ANNOTATION) || tolerates(pod)
}

/// Whether a pod tolerates the out-of-service taint for ever.
fn tolerates(pod: &Pod) -> bool {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_ref());
    let mut tolerations = tolerations.into_iter().flatten();
    tolerations.any(|toleration| toleration.toleration_seconds.is_none() && matches(toleration))
}

/// Source: kubernetes `staging/src/k8s.io/api/core/v1/toleration.go`.
fn matches(toleration: &Toleration) -> bool {
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let key = toleration.key.as_deref().unwrap_or_default();
    let of_taint = key.is_empty() || key == keys::OUT_OF_SERVICE_TAINT;
    if !of_taint || !matches!(effect, "" | "NoExecute") {
        return false;
    }
    let value = toleration.value.as_deref().unwrap_or_default();
    match toleration.operator.as_deref().unwrap_or("Equal") {
        "Exists" => true,
        "Equal" => !key.is_empty() && value == keys::OUT_OF_SERVICE_VALUE,
        _ => false,
    }
}

/// Pods of the Node that still have to go.
pub fn pods_left(pods: &[Pod]) -> Vec<String> {
    let left = pods.iter().filter(|pod| !stays(pod));
    left.map(|pod| format!("Pod {}/{}", pod.namespace().unwrap_or_default(), pod.name_any()))
        .collect()
}

/// Claims that only pods use which stay on the Node.
pub fn claims_that_stay(pods: &[Pod]) -> BTreeSet<ClaimName> {
    let (stay, go): (Vec<&Pod>, Vec<&Pod>) = pods.iter().partition(|pod| stays(pod));
    let going: BTreeSet<ClaimName> = go.into_iter().flat_map(claims).collect();
    let staying = stay.into_iter().flat_map(claims);
    staying.filter(|claim| !going.contains(claim)).collect()
}

fn claims(pod: &Pod) -> Vec<ClaimName> {
    let namespace = pod.namespace().unwrap_or_default();
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref());
    let claims = volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume.persistent_volume_claim.as_ref());
    claims
        .map(|claim| format!("{namespace}/{}", claim.claim_name))
        .collect()
}

/// The claim that a volume is bound to.
pub fn claim_of(volume: &PersistentVolume) -> Option<ClaimName> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    let (namespace, name) = (claim.namespace.as_deref()?, claim.name.as_deref()?);
    Some(format!("{namespace}/{name}"))
}
