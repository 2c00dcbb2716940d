//! What the API server refuses by our schemas: each rule by a message that names the field and what is
//! expected, and the defaults it fills in.

mod world;

use anyhow::{Context as _, Result, bail, ensure};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::{Value, json};

struct Kinds {
    client: Client,
    namespace: String,
}

impl Kinds {
    async fn new() -> Result<Self> {
        let cluster = harness::control_plane().await?;
        world::install(cluster).await?;
        Ok(Self {
            client: cluster.client().await?,
            namespace: cluster.namespace("schema").await?,
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

fn endpoint(change: impl FnOnce(&mut Value)) -> Value {
    let mut spec = json!({
        "machineName": "worker", "address": "redfish://192.0.2.7", "credentialsSecret": {"name": "worker-bmc"},
    });
    change(&mut spec);
    spec
}

/// Specs that are refused, and what the refusal says.
fn bad_endpoints() -> Vec<(Value, Vec<&'static str>)> {
    let one_of_two = "exactly one of machineName and nodeName must be set";
    let one_of_them = "at most one of caBundle, caBundleFrom, fingerprints and insecureSkipVerify can be set";
    vec![
        (
            endpoint(|spec| spec["nodeName"] = json!("worker")),
            vec!["spec", one_of_two],
        ),
        (
            endpoint(|spec| spec["machineName"] = Value::Null),
            vec!["spec", one_of_two],
        ),
        (
            endpoint(|spec| spec["address"] = json!("redfish://admin:secret@192.0.2.7")),
            vec![
                "spec.address",
                "must not contain credentials; put them into the Secret",
            ],
        ),
        (
            endpoint(|spec| spec["address"] = json!("")),
            vec!["spec.address", "at least 1 chars"],
        ),
        (
            endpoint(|spec| spec["address"] = json!("x".repeat(2049))),
            vec!["spec.address", "2048"],
        ),
        (
            endpoint(|spec| spec["address"] = Value::Null),
            vec!["spec.address", "Required value"],
        ),
        (
            endpoint(|spec| spec["credentialsSecret"] = json!({})),
            vec!["spec.credentialsSecret.name", "Required value"],
        ),
        (
            endpoint(|spec| spec["credentialsSecret"] = json!({"name": ""})),
            vec!["spec.credentialsSecret.name", "at least 1 chars"],
        ),
        (
            endpoint(|spec| spec["systemUUID"] = json!("4c4c4544")),
            vec!["spec.systemUUID", "should match"],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"caBundle": "x", "fingerprints": ["y"]})),
            vec!["spec.tls", one_of_them],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"caBundle": "x", "insecureSkipVerify": true})),
            vec!["spec.tls", one_of_them],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"fingerprints": ["y"], "insecureSkipVerify": true})),
            vec!["spec.tls", one_of_them],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"fingerprints": ["x".repeat(96)]})),
            vec!["spec.tls.fingerprints[0]", "95"],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"fingerprints": vec!["x"; 9]})),
            vec!["spec.tls.fingerprints", "8"],
        ),
    ]
}

/// The same for everything that a remediation and a template share.
fn bad_strategies() -> Vec<(Value, Vec<&'static str>)> {
    let mut bad = vec![
        (
            json!({"fencingMode": "Hope"}),
            vec!["fencingMode", "OutOfServiceTaint"],
        ),
        (json!({"hostControl": "Mine"}), vec!["hostControl", "Direct"]),
        (
            json!({"escalation": "Reinstall"}),
            vec!["escalation", "MachineDeletion"],
        ),
        (json!({"retries": {"attempts": 0}}), vec!["retries.attempts", "1"]),
        (
            json!({"retries": {"attempts": 11}}),
            vec!["retries.attempts", "10"],
        ),
        (
            json!({"retries": {"backoff": "0s"}}),
            vec!["retries.backoff", "must be between 1s and 24h"],
        ),
        (
            json!({"retries": {"maxBackoff": "25h"}}),
            vec!["retries.maxBackoff", "must be between 1s and 24h"],
        ),
        (
            json!({"deadlines": {"pending": "169h"}}),
            vec!["deadlines.pending", "must be between 1s and 168h"],
        ),
    ];
    for (deadline, field) in [
        ("powerOff", "deadlines.powerOff"),
        ("fencing", "deadlines.fencing"),
        ("powerOn", "deadlines.powerOn"),
        ("boot", "deadlines.boot"),
    ] {
        let range = "must be between 10s and 24h";
        bad.push((json!({"deadlines": {deadline: "9s"}}), vec![field, range]));
        bad.push((json!({"deadlines": {deadline: "24h1s"}}), vec![field, range]));
        bad.push((
            json!({"deadlines": {deadline: "soon"}}),
            vec![field, "should match"],
        ));
        bad.push((
            json!({"deadlines": {deadline: "-5m"}}),
            vec![field, "should match"],
        ));
    }
    bad
}

#[tokio::test]
async fn a_bad_endpoint_is_refused_by_field() -> Result<()> {
    let kinds = Kinds::new().await?;
    kinds
        .try_out("BMCEndpoint", "good", &endpoint(|_| {}))
        .await
        .context("the good one is refused")?;
    for (spec, says) in bad_endpoints() {
        kinds.refuses("BMCEndpoint", "bad", &spec, &says).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_bad_strategy_is_refused_by_field_in_remediations_and_templates() -> Result<()> {
    let kinds = Kinds::new().await?;
    for (strategy, says) in bad_strategies() {
        let (first, rest) = says.split_first().context("names a field")?;
        let field = format!("spec.{first}");
        let says: Vec<&str> = std::iter::once(field.as_str())
            .chain(rest.iter().copied())
            .collect();
        kinds
            .refuses("PowerCycleRemediation", "bad", &strategy, &says)
            .await?;
        let field = format!("spec.template.spec.{first}");
        let says: Vec<&str> = std::iter::once(field.as_str())
            .chain(rest.iter().copied())
            .collect();
        let template = json!({"template": {"spec": strategy}});
        kinds
            .refuses("PowerCycleRemediationTemplate", "bad", &template, &says)
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_template_cannot_name_a_machine_or_a_node() -> Result<()> {
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
async fn machine_and_node_of_a_remediation_cannot_be_changed() -> Result<()> {
    let kinds = Kinds::new().await?;
    let api = kinds.api("PowerCycleRemediation");
    for field in ["machineName", "nodeName"] {
        for (what, before, after) in [
            ("changed", json!("one"), json!("two")),
            ("added", Value::Null, json!("two")),
            ("removed", json!("one"), Value::Null),
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
                bail!("{name}: {refused:?}");
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
async fn there_is_one_policy_and_its_networks_are_networks() -> Result<()> {
    let kinds = Kinds::new().await?;
    let kind = "RemediationPolicy";
    let only = "there is exactly one policy, and it is named default";
    kinds.refuses(kind, "another", &json!({}), &[only]).await?;
    for network in ["10.0.0.0", "bmc.example/24", "10.0.0.0/", "/8", "10.0.0.0/8/8"] {
        let spec = json!({"bmc": {"allowedNetworks": [network]}});
        let says = ["spec.bmc.allowedNetworks[0]"];
        kinds
            .refuses(kind, "default", &spec, &says)
            .await
            .with_context(|| network.to_owned())?;
    }
    let transport = json!({"bmc": {"minimumTransport": "None"}});
    let says = ["spec.bmc.minimumTransport", "VerifiedTLS"];
    kinds.refuses(kind, "default", &transport, &says).await?;
    for (protocols, says) in [
        (json!(["Telnet"]), "Unsupported value"),
        (json!(["IPMI", "IPMI"]), "Duplicate value"),
        (json!([]), "at least 1 items"),
    ] {
        let spec = json!({"bmc": {"protocols": protocols}});
        let says = ["spec.bmc.protocols", says];
        kinds.refuses(kind, "default", &spec, &says).await?;
    }
    let good = json!({"bmc": {
        "allowedNetworks": ["10.0.0.0/8", "2001:db8::/32"], "protocols": ["Redfish", "IPMI"],
    }});
    kinds.try_out(kind, "default", &good).await?;
    for (protocols, fallback, says) in [
        (
            json!(["Redfish"]),
            json!({}),
            "fallbackToIPMI needs IPMI among protocols",
        ),
        (
            json!(null),
            json!({"port": 623}),
            "fallbackToIPMI needs IPMI among protocols",
        ),
        (
            json!(["IPMI"]),
            json!({"port": 0}),
            "spec.bmc.fallbackToIPMI.port",
        ),
        (
            json!(["IPMI"]),
            json!({"port": 65536}),
            "spec.bmc.fallbackToIPMI.port",
        ),
        (json!(["IPMI"]), json!(true), "spec.bmc.fallbackToIPMI"),
    ] {
        let spec = json!({"bmc": {"protocols": protocols, "fallbackToIPMI": fallback}});
        kinds.refuses(kind, "default", &spec, &[says]).await?;
    }
    for fallback in [json!({}), json!({"port": 6230})] {
        let spec = json!({"bmc": {"protocols": ["Redfish", "IPMI"], "fallbackToIPMI": fallback}});
        kinds.try_out(kind, "default", &spec).await?;
    }
    for interval in ["9s", "169h", "-6h", "never", "6", ""] {
        let spec = json!({"bmc": {"readiness": {"interval": interval}}});
        let says = ["spec.bmc.readiness.interval"];
        kinds
            .refuses(kind, "default", &spec, &says)
            .await
            .with_context(|| interval.to_owned())?;
    }
    for interval in ["off", "0", "0s", "10s", "1h30m", "168h"] {
        let spec = json!({"bmc": {"readiness": {"interval": interval}}});
        kinds
            .try_out(kind, "default", &spec)
            .await
            .with_context(|| interval.to_owned())?;
    }
    Ok(())
}

#[tokio::test]
async fn defaults_are_filled_in() -> Result<()> {
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
    let limits = json!({"paused": false, "healthChecker": "Auto", "bmc": {
        "allowedNetworks": [], "protocols": ["Redfish"], "minimumTransport": "VerifiedTLS",
        "readiness": {"interval": "21600s"},
    }});
    assert_eq!(policy.data["spec"], limits);
    assert_eq!(endpoint.data["spec"]["tls"], json!({"insecureSkipVerify": false}));
    Ok(())
}
