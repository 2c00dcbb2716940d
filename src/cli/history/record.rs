//! What an auditor is told of one PowerCycleRemediation: the object as it stands, without anything that leads further.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, OwnerReference};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use remediator_api::PowerCycleRemediation;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{TargetRef, about};
use remediator_core::journal::Subject;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

/// Domains of the annotations that say who asked, and what people said since. Others may hold anything.
const ANNOTATIONS_OF: [&str; 4] = [
    "baremetal-remediator.io/",
    "cluster.x-k8s.io/",
    "machine.openshift.io/",
    "remediation.medik8s.io/",
];

/// One record. Spec and status are as the API server has them, so that nothing is lost that this version does not know.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) created: Option<Timestamp>,
    deletion_requested: Option<Timestamp>,
    machine: Option<String>,
    node: Option<String>,
    requested_by: RequestedBy,
    spec: Value,
    status: Value,
    /// What this version could not read; Machine and Node are then unknown.
    unreadable: Option<String>,
}

/// Who asked, as far as Kubernetes keeps it: not the user, but the programs that wrote metadata or spec.
#[derive(Debug, Serialize)]
struct RequestedBy {
    owners: Vec<OwnerReference>,
    annotations: BTreeMap<String, String>,
    writers: Vec<ManagedFieldsEntry>,
}

impl Record {
    pub(super) fn of(object: &DynamicObject) -> Result<Self, serde_json::Error> {
        let (target, unreadable) = read(&serde_json::to_value(object)?)?;
        let metadata = &object.metadata;
        let part = |name: &str| object.data.get(name).cloned().unwrap_or_default();
        let mut status = part("status");
        // Where a session at the BMC is tells an auditor nothing.
        if let Some(fields) = status.as_object_mut() {
            fields.remove("bmcSession");
        }
        Ok(Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            resource_version: object.resource_version().unwrap_or_default(),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            deletion_requested: metadata.deletion_timestamp.as_ref().map(|time| time.0),
            machine: target.machine,
            node: target.node,
            requested_by: requested_by(metadata),
            spec: part("spec"),
            status,
            unreadable,
        })
    }
}

/// Whom it is about, or what could not be read.
fn read(object: &Value) -> Result<(TargetRef, Option<String>), serde_json::Error> {
    let remediation = match Guarded::<PowerCycleRemediation>::deserialize(object)?.0 {
        Ok(remediation) => remediation,
        Err(unreadable) => return Ok((TargetRef::default(), Some(unreadable.error))),
    };
    let mut target = about(&remediation);
    let subject = remediation.journal().and_then(|journal| journal.subject.as_ref());
    let node = subject.and_then(Subject::node_name).map(ToOwned::to_owned);
    target.node = node.or(target.node);
    Ok((target, None))
}

fn requested_by(metadata: &ObjectMeta) -> RequestedBy {
    let is_told = |key: &str| ANNOTATIONS_OF.iter().any(|domain| key.starts_with(domain));
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| is_told(key));
    let mut writers = metadata.managed_fields.clone().unwrap_or_default();
    writers.retain(|write| write.subresource.is_none());
    for write in &mut writers {
        write.fields_v1 = None;
    }
    RequestedBy {
        owners: metadata.owner_references.clone().unwrap_or_default(),
        annotations,
        writers,
    }
}
