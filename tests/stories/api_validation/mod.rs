//! What the API server refuses by our schemas: each rule by a message that names the field and what is
//! expected, and the defaults it fills in.

mod documents;
mod endpoints;
mod policies;
mod strategies;

use anyhow::{Context as _, Result, bail, ensure};
use endpoints::endpoint;
use harness::Cluster;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::{Value, json};
use world::pool::{self, Setting};

static SETTING: Setting = Setting::shared("api validation");

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

struct Kinds {
    /// Whoever drops it gives the control plane back.
    _cluster: Cluster,
    client: Client,
    namespace: String,
}

impl Kinds {
    async fn new() -> Result<Self> {
        let cluster = control_plane().await?;
        Ok(Self {
            client: cluster.client().await?,
            namespace: cluster.namespace("schema").await?,
            _cluster: cluster,
        })
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let kind_of_ours = GroupVersionKind::gvk("baremetal-remediator.io", "v1alpha1", kind);
        let mut resource = ApiResource::from_gvk(&kind_of_ours);
        if kind == "RemediationPolicy" {
            "remediationpolicies".clone_into(&mut resource.plural);
            return Api::all_with(self.client.clone(), &resource);
        }
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// What the API server would store.
    async fn try_out(&self, kind: &str, name: &str, spec: &Value) -> Result<DynamicObject, Error> {
        let object = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        });
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let object = serde_json::from_value(object).map_err(Error::SerdeError)?;
        self.api(kind).create(&dry_run, &object).await
    }

    async fn refuses(&self, kind: &str, name: &str, spec: &Value, says: &[&str]) -> Result<()> {
        match self.try_out(kind, name, spec).await {
            Err(Error::Api(status)) if status.code == 422 => {
                for needle in says {
                    ensure!(
                        status.message.contains(needle),
                        "{needle:?} is not in {:?}",
                        status.message
                    );
                }
                Ok(())
            }
            Err(error) => bail!("{kind} {spec}: another error: {error}"),
            Ok(_) => bail!("{kind} {spec} was taken"),
        }
    }
}

#[tokio::test]
async fn a_template_cannot_name_a_machine_or_a_node() -> world::Outcome {
    let kinds = Kinds::new().await?;
    let says = [
        "spec.template.spec",
        "a template serves many Machines and Nodes and cannot name one",
    ];
    for field in ["machineName", "nodeName"] {
        let spec = json!({"template": {"spec": {field: "worker"}}});
        kinds
            .refuses("PowerCycleRemediationTemplate", "bad", &spec, &says)
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn machine_node_and_fencing_mode_of_a_remediation_cannot_be_changed() -> world::Outcome {
    let kinds = Kinds::new().await?;
    let api = kinds.api("PowerCycleRemediation");
    for (field, one, two) in [
        ("machineName", "one", "two"),
        ("nodeName", "one", "two"),
        ("fencingMode", "OutOfServiceTaint", "NodeDeletion"),
    ] {
        for (what, before, after) in [
            ("changed", json!(one), json!(two)),
            ("added", Value::Null, json!(two)),
            ("removed", json!(one), Value::Null),
        ] {
            let name = format!("{}-{what}", field.to_lowercase());
            let object = json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
                "metadata": {"name": name}, "spec": {field: before},
            });
            api.create(&PostParams::default(), &serde_json::from_value(object)?)
                .await?;
            let change = Patch::Merge(json!({"spec": {field: after}}));
            let refused = api.patch(&name, &PatchParams::default(), &change).await;
            let Err(Error::Api(status)) = refused else {
                panic!("{name}: {refused:?}");
            };
            let expected = format!("{field} cannot be changed; create another PowerCycleRemediation");
            assert!(status.message.contains(&expected), "{name}: {}", status.message);
            let other = Patch::Merge(json!({"spec": {"retries": {"attempts": 5}}}));
            api.patch(&name, &PatchParams::default(), &other)
                .await
                .with_context(|| format!("{name}: another field"))?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn defaults_are_filled_in() -> world::Outcome {
    let kinds = Kinds::new().await?;

    let remediation = kinds
        .try_out("PowerCycleRemediation", "plain", &json!({}))
        .await?;
    let template = json!({"template": {"spec": {}}});
    let template = kinds
        .try_out("PowerCycleRemediationTemplate", "plain", &template)
        .await?;
    let policy = kinds.try_out("RemediationPolicy", "default", &json!({})).await?;
    let tls = endpoint(|spec| spec["tls"] = json!({}));
    let endpoint = kinds.try_out("BMCEndpoint", "plain", &tls).await?;

    let strategy = json!({
        "fencingMode": "Automatic", "hostControl": "Managed",
        "deadlines": {
            "pending": "3600s", "powerOff": "300s", "fencing": "600s", "powerOn": "300s", "boot": "1800s",
        },
        "retries": {"attempts": 3, "backoff": "300s", "maxBackoff": "3600s"}, "escalation": "None",
    });
    assert_eq!(remediation.data["spec"], strategy);
    assert_eq!(template.data["spec"]["template"]["spec"], strategy);
    let limits = json!({"paused": false, "healthChecker": "Auto", "triggers": strategy, "bmc": {
        "allowedNetworks": [], "protocols": ["Redfish"], "minimumTransport": "VerifiedTLS",
        "readiness": {"interval": "21600s"},
    }, "controlPlane": "Refuse", "allowed": {"namespaces": {}}, "limits": {
        "maxConcurrent": "10%", "maxPerWindow": "10%", "window": "600s",
        "failureDomain": {"label": "topology.kubernetes.io/zone", "maxConcurrent": "5%"},
        "maxUnhealthy": "30%", "coolDown": "120s", "startupHold": "60s", "maxFailed": "10%", "maxPerHost": 3,
        "maxDuration": "86400s",
    }});
    assert_eq!(policy.data["spec"], limits);
    assert_eq!(endpoint.data["spec"]["tls"], json!({"insecureSkipVerify": false}));
    Ok(())
}
