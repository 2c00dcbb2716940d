//! What a kubelet does for the pods of its node, without running anything.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

/// Lets a pod run, or confirms that it has ended. Doing it twice changes nothing.
pub(super) async fn attend(client: &Client, pod: &Pod) -> Result<(), kube::Error> {
    let name = pod.name_any();
    let pods = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let outcome = if pod.metadata.deletion_timestamp.is_some() {
        // Its containers have ended, so nothing is left to wait for.
        let parameters = DeleteParams {
            grace_period_seconds: Some(0),
            // A pod of the same name may be there by now.
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        pods.delete(&name, &parameters).await.map(|_| ())
    } else if finished(pod) || ready(pod) {
        Ok(())
    } else {
        let patch = Patch::Strategic(running(pod));
        pods.patch_status(&name, &PatchParams::default(), &patch)
            .await
            .map(|_| ())
    };
    match outcome {
        // Somebody else was faster, and the watch tells what they did.
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => other,
    }
}

fn phase(pod: &Pod) -> &str {
    pod.status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

fn finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

fn ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    phase(pod) == "Running"
        && conditions
            .iter()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn running(pod: &Pod) -> serde_json::Value {
    let now = Time(Timestamp::now());
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
    let containers = pod
        .spec
        .as_ref()
        .map(|spec| spec.containers.as_slice())
        .unwrap_or_default();
    let containers: Vec<_> = containers
        .iter()
        .map(|container| {
            json!({
                "name": container.name,
                "image": container.image,
                "imageID": "",
                "containerID": format!("containerd://{}", pod.uid().unwrap_or_default()),
                "ready": true,
                "started": true,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
    json!({"status": {
        "phase": "Running",
        "startTime": pod.status.as_ref().and_then(|status| status.start_time.as_ref()).unwrap_or(&now),
        "conditions": conditions,
        "containerStatuses": containers,
    }})
}
