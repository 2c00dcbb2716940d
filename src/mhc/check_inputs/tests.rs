use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
use serde_json::json;

use super::*;

fn of_cluster(cluster: &str, name: &str) -> Guarded<Machine> {
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "metal"},
        "spec": {"clusterName": cluster}, "status": {"nodeRef": {"name": "worker-0"}},
    });
    Machine::read(Version::V1Beta2, serde_json::from_value(machine).unwrap())
}

#[test]
fn a_remediation_in_one_cluster_is_not_about_the_node_of_that_name_in_another() {
    let remediation = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "blue-0", "namespace": "metal"}, "spec": {},
        "status": {"phase": "Booting", "attempt": 1, "reason": "", "message": "", "subject": {
            "machine": "blue-0", "machineGroup": "cluster.x-k8s.io", "cluster": "blue",
            "node": "worker-0", "nodeUID": "uid", "bootID": "boot", "host": "BMCEndpoint/h", "bmc": "b", "system": "s",
            "systemUUID": "uuid", "identity": "i",
        }},
    });
    let remediation: PowerCycleRemediation = serde_json::from_value(remediation).unwrap();
    let by_name = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "by-name", "namespace": "metal"}, "spec": {"nodeName": "worker-0"},
    });
    let by_name: PowerCycleRemediation = serde_json::from_value(by_name).unwrap();
    let under_way = UnderWay::among(MachineApi::ClusterApi, [&remediation].into_iter());
    assert!(under_way.is_about(&of_cluster("blue", "blue-0")));
    assert!(under_way.is_about(&of_cluster("blue", "renamed")));
    assert!(!under_way.is_about(&of_cluster("red", "red-0")));
    // A Node that is asked for by its name is one of the daemon's own cluster.
    let under_way = UnderWay::among(MachineApi::ClusterApi, [&by_name].into_iter());
    assert!(!under_way.is_about(&of_cluster("blue", "blue-0")));
}
