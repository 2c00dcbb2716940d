//! A person's word that a host is off, and whether the API server lets only those say it who may.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::api::{Api, ObjectMeta};
use kube::{Client, Resource, ResourceExt as _};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::confirmation::{LiveWord, Word};
use remediator_core::facts::Lookup;
use remediator_core::phase::Phase;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api_call::{ShellError, within};

/// Name of policy and binding.
const NAME: &str = "baremetal-remediator-confirm-off";

/// Policy and binding as they are shipped.
const SHIPPED: &str = include_str!("../../deploy/base/confirm-off.yaml");

/// What the annotations of a remediation say.
pub(crate) fn said_of(remediation: &PowerCycleRemediation) -> Lookup<Word> {
    said_in(remediation.annotations())
}

fn said_in(annotations: &BTreeMap<String, String>) -> Lookup<Word> {
    let text = |key: &str| annotations.get(key).map(String::as_str);
    let texts = [
        keys::CONFIRM_OFF_NODE_ANNOTATION,
        keys::CONFIRM_OFF_ANNOTATION,
        keys::CONFIRM_OFF_BY_ANNOTATION,
        keys::CONFIRM_OFF_AT_ANNOTATION,
    ];
    match Word::read(texts.map(text)) {
        Ok(Some(word)) => Lookup::Present(word),
        Ok(None) => Lookup::Absent,
        Err(wrong) => Lookup::Unreadable(wrong.to_owned()),
    }
}

/// The same read live, and since when it is guarded. `None`: no word is awaited.
pub(crate) async fn live(
    client: &Client,
    remediation: &PowerCycleRemediation,
) -> Result<Option<LiveWord>, ShellError> {
    if remediation.phase() != Phase::AwaitingConfirmation {
        return Ok(None);
    }
    let namespace = remediation.namespace().unwrap_or_default();
    let remediations = Api::<PowerCycleRemediation>::namespaced(client.clone(), &namespace);
    let name = remediation.name_any();
    let read = within("reading the remediation", remediations.get_metadata(&name));
    let (read, guarded_since) = tokio::try_join!(read, guarded_since(client))?;
    let is_same = read.metadata.uid == remediation.metadata.uid && read.metadata.deletion_timestamp.is_none();
    let word = if is_same {
        said_in(read.annotations())
    } else {
        Lookup::Absent
    };
    Ok(Some(LiveWord { word, guarded_since }))
}

/// Since when policy and binding are there as they are shipped; or what is missing.
async fn guarded_since(client: &Client) -> Result<Result<Timestamp, String>, ShellError> {
    let mut shipped = serde_saphyr::from_multiple::<Value>(SHIPPED)
        .unwrap_or_default()
        .into_iter();
    let mut next = || shipped.next().unwrap_or_default();
    let (policy, binding) = (next(), next());
    let (policy, binding) = tokio::try_join!(
        there::<ValidatingAdmissionPolicy>(client, &policy),
        there::<ValidatingAdmissionPolicyBinding>(client, &binding)
    )?;
    Ok(policy.and_then(|policy| binding.map(|binding| policy.max(binding))))
}

/// Since when an object is there as it is shipped.
async fn there<K>(client: &Client, shipped: &Value) -> Result<Result<Timestamp, String>, ShellError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let kind = K::kind(&());
    let what = format!("{kind} {NAME}, without which anybody could have written that");
    let read = within("reading the admission policy of confirm-off", async {
        match Api::<K>::all(client.clone()).get(NAME).await {
            Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => Ok(Err(status.code)),
            answer => answer.map(Ok),
        }
    });
    Ok(match read.await? {
        Ok(object) => {
            let spec = serde_json::to_value(&object).unwrap_or_default();
            match changed(object.meta()).filter(|_| is_as_shipped(&spec, shipped)) {
                Some(created) => Ok(created),
                None => Err(format!(
                    "another version of {what}, is there; apply deploy/base of this version"
                )),
            }
        }
        Err(404) => Err(format!(
            "there is no {what}; apply deploy/base (Kubernetes 1.30 or newer)"
        )),
        Err(_) => Err(format!(
            "the daemon may not read {what}; apply deploy/base of this version"
        )),
    })
}

/// When somebody last changed an object, other than its status: it may have been another one for a while.
fn changed(meta: &ObjectMeta) -> Option<Timestamp> {
    let fields = meta.managed_fields.iter().flatten();
    let writes = fields.filter(|fields| fields.subresource.is_none());
    let last = writes.filter_map(|fields| fields.time.as_ref().map(|time| time.0));
    meta.creation_timestamp
        .as_ref()
        .map(|created| last.fold(created.0, Timestamp::max))
}

fn is_as_shipped(found: &Value, shipped: &Value) -> bool {
    let spec = |object: &Value| without_defaults(object.get("spec").cloned().unwrap_or_default());
    let shipped = spec(shipped);
    !shipped.is_null() && spec(found) == shipped
}

/// A spec without what the API server fills in, and without actions beside Deny.
fn without_defaults(mut spec: Value) -> Value {
    if let Some(constraints) = spec.get_mut("matchConstraints").and_then(Value::as_object_mut) {
        let defaults = [
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
            ("matchPolicy", json!("Equivalent")),
        ];
        for (field, default) in defaults {
            if constraints.get(field) == Some(&default) {
                constraints.remove(field);
            }
        }
        for rule in constraints
            .get_mut("resourceRules")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(rule) = rule.as_object_mut()
                && rule.get("scope") == Some(&json!("*"))
            {
                rule.remove("scope");
            }
        }
    }
    if let Some(actions) = spec.get_mut("validationActions").and_then(Value::as_array_mut) {
        actions.retain(|action| action == "Deny");
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> Vec<Value> {
        serde_saphyr::from_multiple(SHIPPED).expect("YAML")
    }

    /// As the API server answers, with its defaults.
    fn served() -> Vec<Value> {
        let mut served = shipped();
        served[0]["spec"]["matchConstraints"]["namespaceSelector"] = json!({});
        served[0]["spec"]["matchConstraints"]["objectSelector"] = json!({});
        served[0]["spec"]["matchConstraints"]["matchPolicy"] = json!("Equivalent");
        served[0]["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = json!("*");
        served[1]["spec"]["validationActions"] = json!(["Deny", "Audit"]);
        served
    }

    #[test]
    fn a_policy_that_was_another_one_for_a_while_counts_from_its_last_change() {
        let write = |time: &str, subresource: Option<&str>| json!({"time": time, "subresource": subresource});
        let meta: ObjectMeta = serde_json::from_value(json!({
            "creationTimestamp": "2027-01-01T00:00:00Z",
            "managedFields": [write("2027-01-02T00:00:00Z", None), write("2027-01-03T00:00:00Z", Some("status"))],
        }))
        .expect("metadata");
        assert_eq!(
            changed(&meta),
            Some("2027-01-02T00:00:00Z".parse().expect("a time"))
        );
        assert_eq!(changed(&ObjectMeta::default()), None);
    }

    #[test]
    fn what_is_shipped_and_served_is_known_and_every_narrower_one_is_not() {
        let (shipped, served) = (shipped(), served());
        assert_eq!(shipped.len(), 2);
        for (served, shipped) in served.iter().zip(&shipped) {
            assert!(is_as_shipped(served, shipped), "{served}");
            assert!(!is_as_shipped(&json!({}), shipped) && !is_as_shipped(served, &Value::Null));
        }
        let narrower = [
            (0, "/spec/failurePolicy", json!("Ignore")),
            (
                0,
                "/spec/matchConditions",
                json!([{"name": "no", "expression": "false"}]),
            ),
            (
                0,
                "/spec/matchConstraints/namespaceSelector",
                json!({"matchLabels": {"a": "b"}}),
            ),
            (
                0,
                "/spec/matchConstraints/objectSelector",
                json!({"matchLabels": {"a": "b"}}),
            ),
            (0, "/spec/matchConstraints/matchPolicy", json!("Exact")),
            (0, "/spec/matchConstraints/excludeResourceRules", json!([{}])),
            (
                0,
                "/spec/matchConstraints/resourceRules/0/operations",
                json!(["CREATE"]),
            ),
            (
                0,
                "/spec/matchConstraints/resourceRules/0/scope",
                json!("Cluster"),
            ),
            (0, "/spec/validations/0/expression", json!("true")),
            (0, "/spec/variables/3/expression", json!("false")),
            (
                0,
                "/spec/paramKind",
                json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            ),
            (1, "/spec/policyName", json!("another")),
            (1, "/spec/validationActions", json!(["Warn"])),
            (
                1,
                "/spec/matchResources",
                json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}),
            ),
            (
                1,
                "/spec/paramRef",
                json!({"name": "x", "parameterNotFoundAction": "Allow"}),
            ),
        ];
        for (which, path, value) in narrower {
            let (parent, field) = path.rsplit_once('/').expect("a path");
            let mut found = served[which].clone();
            found.pointer_mut(parent).expect(path)[field] = value;
            assert!(!is_as_shipped(&found, &shipped[which]), "{path}");
        }
    }
}
