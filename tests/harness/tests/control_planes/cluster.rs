//! What a cluster offers: CRDs of others, tables, identities, the audit log.

use std::time::Duration;

use harness::process::DaemonCommand;
use harness::{AUDITED_GROUP, Cursor, ForeignCrd, control_plane};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(1);

fn dynamic(client: &Client, namespace: &str, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

fn health_check(name: &str, spec: &Value) -> DynamicObject {
    let object = json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineHealthCheck",
        "metadata": {"name": name},
        "spec": spec,
    });
    serde_json::from_value(object).expect("a health check is plain data")
}

#[tokio::test]
async fn foreign_crds_validate_and_fill_in_defaults_as_upstream_does() {
    let cluster = control_plane().await.unwrap().cluster();
    let all = [
        ForeignCrd::OpenShift,
        ForeignCrd::Metal3,
        ForeignCrd::ClusterApi,
        ForeignCrd::NodeHealthCheck,
    ];
    tokio::time::timeout(SOON, cluster.install_foreign_crds(&all))
        .await
        .unwrap()
        .unwrap();
    // A second time changes nothing and fails nothing.
    tokio::time::timeout(SOON, cluster.install_foreign_crds(&all))
        .await
        .unwrap()
        .unwrap();

    let client = cluster.client().await.unwrap();
    let namespace = cluster.namespace("crds").await.unwrap();
    let checks = dynamic(
        &client,
        &namespace,
        "machine.openshift.io",
        "v1beta1",
        "MachineHealthCheck",
    );
    let conditions = json!([{"type": "Ready", "status": "Unknown", "timeout": "5m30s"}]);
    let good = health_check(
        "good",
        &json!({"selector": {}, "unhealthyConditions": conditions}),
    );
    let good = checks.create(&PostParams::default(), &good).await.unwrap();
    assert_eq!(good.data["spec"]["maxUnhealthy"], "100%");
    assert_eq!(good.data["spec"]["nodeStartupTimeout"], "10m");

    let bad = [
        json!({"unhealthyConditions": []}),
        json!({"unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "five minutes"}]}),
        json!({"unhealthyConditions": [{"type": "", "status": "Unknown", "timeout": "5m"}]}),
        json!({"unhealthyConditions": conditions, "maxUnhealthy": "101%"}),
    ];
    for (number, spec) in bad.into_iter().enumerate() {
        let check = health_check(&format!("bad-{number}"), &spec);
        match checks.create(&PostParams::default(), &check).await {
            Err(kube::Error::Api(status)) => assert!(status.is_invalid(), "{spec}: {status:?}"),
            other => panic!("{spec} was taken: {other:?}"),
        }
    }

    let machines = dynamic(&client, &namespace, "machine.openshift.io", "v1beta1", "Machine");
    let machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {"name": "one"},
        "spec": {"providerSpec": {"value": {"kind": "Anything", "kept": {"deep": true}}}},
    });
    let machine = machines
        .create(&PostParams::default(), &serde_json::from_value(machine).unwrap())
        .await
        .unwrap();
    assert_eq!(
        machine.data["spec"]["providerSpec"]["value"]["kept"]["deep"],
        true
    );
    assert_eq!(machine.data["spec"]["authoritativeAPI"], "MachineAPI");

    let hosts = dynamic(&client, &namespace, "metal3.io", "v1alpha1", "BareMetalHost");
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {"name": "one"},
        "spec": {"online": true},
    });
    hosts
        .create(&PostParams::default(), &serde_json::from_value(host).unwrap())
        .await
        .unwrap();

    let path = format!("/apis/machine.openshift.io/v1beta1/namespaces/{namespace}/machinehealthchecks");
    let table = cluster.get_table(&path).await.unwrap();
    assert_eq!(table.column("maxunhealthy").unwrap(), ["100%"]);
    let text = table.render();
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "NAME   MAXUNHEALTHY   EXPECTEDMACHINES   CURRENTHEALTHY"
    );
    assert!(lines.next().unwrap().starts_with("good   100%"), "{text}");
}

fn crd(plural: &str, kind: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
         metadata: {{name: {plural}.harness.example}}\n\
         spec:\n  group: harness.example\n  scope: Namespaced\n  \
         names: {{kind: {kind}, plural: {plural}}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    \
         schema: {{openAPIV3Schema: {{type: object}}}}\n"
    )
}

#[tokio::test]
async fn own_crds_install_from_text_and_folder() {
    let cluster = control_plane().await.unwrap().cluster();
    cluster.install_crd_yaml(&crd("ones", "One")).await.unwrap();
    let folder = std::env::temp_dir().join(format!("harness-crds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("two.yaml"), crd("twos", "Two")).unwrap();
    cluster.install_crds_from(&folder).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    for plural in ["ones", "twos"] {
        let table = cluster
            .get_table(&format!("/apis/harness.example/v1/{plural}"))
            .await
            .unwrap();
        assert_eq!(table.column("Name").unwrap(), Vec::<String>::new());
    }
    let error = format!(
        "{:#}",
        cluster.install_crd_yaml("kind: Secret").await.unwrap_err()
    );
    assert!(error.contains("found Secret"), "{error}");
}

#[tokio::test]
async fn a_wait_goes_on_while_its_kind_is_not_served() {
    let cluster = control_plane().await.unwrap().cluster();
    let namespace = cluster.namespace("wait").await.unwrap();
    let user = "harness:waiter";
    let client = cluster
        .client_as(user, &[AUDITED_GROUP, "others", "system:masters"])
        .await
        .unwrap();
    let lates = dynamic(&client, &namespace, "harness.example", "v1", "Late");
    let late = json!({"apiVersion": "harness.example/v1", "kind": "Late", "metadata": {"name": "one"}});
    let late = serde_json::from_value(late).unwrap();

    let from = cluster.audit_cursor().unwrap();
    let exists = |object: Option<&DynamicObject>| object.is_some();
    let wait = harness::await_condition(lates.clone(), "one", exists);
    let serve = async {
        while cluster.audit_of(user, from).await.unwrap().is_empty() {}
        cluster.install_crd_yaml(&crd("lates", "Late")).await.unwrap();
        lates.create(&PostParams::default(), &late).await.unwrap();
        cluster.audit_of(user, from).await.unwrap()[0].response_code
    };
    let (found, first) = tokio::time::timeout(SOON, async { tokio::join!(wait, serve) })
        .await
        .unwrap();
    assert_eq!(first, 404);
    assert_eq!(found.unwrap().unwrap().metadata.name.as_deref(), Some("one"));
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what() {
    let cluster = control_plane().await.unwrap().cluster();
    let namespace = cluster.namespace("audit").await.unwrap();
    let from = cluster.audit_cursor().unwrap();
    let user = "harness:writer";
    let map: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "seen"}, "data": {"key": "value"}})).unwrap();

    // Without rights it is refused, which is audited too.
    let client = cluster.client_as(user, &[AUDITED_GROUP]).await.unwrap();
    let refused = Api::<ConfigMap>::namespaced(client, &namespace)
        .create(&PostParams::default(), &map)
        .await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.is_forbidden()));
    // Three groups do not fit in a certificate: this one is impersonated, and counts as itself.
    let client = cluster
        .client_as(user, &[AUDITED_GROUP, "others", "system:masters"])
        .await
        .unwrap();
    let maps = Api::<ConfigMap>::namespaced(client, &namespace);
    maps.create(&PostParams::default(), &map).await.unwrap();
    maps.get("seen").await.unwrap();

    let events = tokio::time::timeout(SOON, cluster.audit_of(user, from))
        .await
        .unwrap()
        .unwrap();
    let seen: Vec<_> = events
        .iter()
        .map(|event| (event.verb.as_str(), event.response_code))
        .collect();
    assert_eq!(seen, [("create", 403), ("create", 201), ("get", 200)]);
    let write = &events[1];
    assert_eq!(
        (write.stage.as_str(), write.resource.resource.as_str()),
        ("ResponseComplete", "configmaps")
    );
    assert_eq!(
        (write.resource.namespace.as_str(), write.resource.name.as_str()),
        (namespace.as_str(), "seen")
    );
    assert_eq!(write.request_object.as_ref().unwrap()["data"]["key"], "value");
    assert!(write.request_received <= write.stage_timestamp);
    assert_eq!(events[2].request_object, None);

    // The administrator is not audited, and nothing is said twice.
    let (all, end) = cluster.audit_since(Cursor::default()).await.unwrap();
    assert!(all.iter().all(|event| event.user != "harness:admin"));
    let (later, _) = cluster.audit_since(end).await.unwrap();
    assert_eq!(later.iter().filter(|event| event.user == user).count(), 0);
}

#[tokio::test]
async fn a_kubeconfig_file_makes_a_child_process_somebody() {
    let cluster = control_plane().await.unwrap().cluster();
    let account = "system:serviceaccount:somewhere:daemon";
    let groups = ["system:serviceaccounts", "system:serviceaccounts:somewhere"];
    let path = cluster.kubeconfig_for(account, &groups).unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(path).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    let review: SelfSubjectReview = Api::all(client)
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .unwrap();
    let info = review.status.unwrap().user_info.unwrap();
    assert_eq!(info.username.unwrap(), account);
    let found = info.groups.unwrap();
    assert!(
        groups.iter().all(|group| found.iter().any(|one| one == group)),
        "{found:?}"
    );
}

/// Set for the process that [`an_existing_cluster_is_taken_as_it_is`] starts.
const GUEST: &str = "HARNESS_TEST_GUEST";

/// Does nothing of its own: it is the body of the next test, in a process with other variables.
#[tokio::test]
async fn guest() {
    if std::env::var_os(GUEST).is_none() {
        return;
    }
    let plane = control_plane().await.unwrap();
    assert!(plane.processes().is_empty());
    plane.namespace("guest").await.unwrap();
    let client = plane.client_as("harness:guest", &["one", "two"]).await.unwrap();
    let review = SelfSubjectReview::default();
    let review = Api::all(client)
        .create(&PostParams::default(), &review)
        .await
        .unwrap();
    println!(
        "guest is {}",
        review.status.unwrap().user_info.unwrap().username.unwrap()
    );
    let error = plane.audit_cursor().unwrap_err().to_string();
    assert!(error.contains("USE_EXISTING_CLUSTER"), "{error}");
}

#[tokio::test]
async fn an_existing_cluster_is_taken_as_it_is() {
    let cluster = control_plane().await.unwrap().cluster();
    let guest = DaemonCommand::new("guest", std::env::current_exe().unwrap())
        .args(["cluster::guest", "--exact", "--nocapture"])
        .env(GUEST, "1")
        .env("USE_EXISTING_CLUSTER", "true")
        .env("KUBECONFIG", cluster.admin_kubeconfig_file().unwrap())
        .spawn()
        .unwrap();
    guest.wait_for_line("guest is harness:guest", SOON).await.unwrap();
    assert!(guest.exited(SOON).await.unwrap().success());
}
