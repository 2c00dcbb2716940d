//! Annotation, label, taint and finalizer keys: ours, and those of others that we read.

/// Our finalizer on a PowerCycleRemediation.
pub const FINALIZER: &str = "baremetal-remediator.io/host-is-safe";
/// A person puts it on a PowerCycleRemediation with the value `true`, to say that its host may stay off: nobody tries to
/// bring it back any more.
pub const LEAVE_OFF_ANNOTATION: &str = "baremetal-remediator.io/leave-off";
/// A person writes it on a PowerCycleRemediation, to say that its host is off, with why they know. Who may is checked by
/// the ValidatingAdmissionPolicy `baremetal-remediator-confirm-off`.
pub const CONFIRM_OFF_ANNOTATION: &str = "baremetal-remediator.io/confirm-off";
/// Beside [`CONFIRM_OFF_ANNOTATION`]: the user, as the API server knows them.
pub const CONFIRM_OFF_BY_ANNOTATION: &str = "baremetal-remediator.io/confirm-off-by";
/// Beside [`CONFIRM_OFF_ANNOTATION`]: the Node whose host it is.
pub const CONFIRM_OFF_NODE_ANNOTATION: &str = "baremetal-remediator.io/confirm-off-node";
/// Beside [`CONFIRM_OFF_ANNOTATION`]: when they say so, by RFC 3339.
pub const CONFIRM_OFF_AT_ANNOTATION: &str = "baremetal-remediator.io/confirm-off-at";
/// Our finalizer on the Secret of a BMC, while a host may be off because of us.
pub const SECRET_FINALIZER: &str = "baremetal-remediator.io/brings-host-back";
/// Annotation on a PowerCycleRemediation that was made for a trigger annotation on its Machine.
pub const ORIGIN_ANNOTATION: &str = "baremetal-remediator.io/trigger";
/// Value of [`ORIGIN_ANNOTATION`].
pub const ORIGIN_EXTERNAL_REMEDIATION: &str = "external-remediation";
/// Annotation on a Node: the UID of the remediation that put the out-of-service taint there.
pub const TAINTED_BY_ANNOTATION: &str = "baremetal-remediator.io/out-of-service-for";

/// Annotation on a Machine: since when it is in quarantine, because of what, and what ends it; there for as long as that
/// lasts. For people: nothing is decided by it.
pub const QUARANTINE_ANNOTATION: &str = "baremetal-remediator.io/quarantine";

// machine-api-operator: `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`,
// `pkg/controller/nodelink`; openshift/api `machine/v1beta1/types_machine.go`.

/// The trigger on a Machine; presence counts, whatever the value.
pub const TRIGGER_ANNOTATION: &str = "host.metal3.io/external-remediation";
/// The strategy on a MachineHealthCheck.
pub const STRATEGY_ANNOTATION: &str = "machine.openshift.io/remediation-strategy";
/// The only value of [`STRATEGY_ANNOTATION`] that means us; compared exactly.
pub const STRATEGY_EXTERNAL_BAREMETAL: &str = "external-baremetal";
/// Node to Machine, `namespace/name`.
pub const NODE_MACHINE_ANNOTATION: &str = "machine.openshift.io/machine";
/// Template that a remediation was made from by machine-api-operator.
pub const CLONED_FROM_ANNOTATION: &str = "machine.openshift.io/cloned-from-name";
/// Role of a Machine.
pub const MACHINE_ROLE_LABEL: &str = "machine.openshift.io/cluster-api-machine-role";

// cluster-api: `api/core/v1beta2/common_types.go`.

/// Pause on a MachineHealthCheck, and on a Machine of Cluster API; presence counts, even of `"false"`.
pub const PAUSED_ANNOTATION: &str = "cluster.x-k8s.io/paused";
/// A Machine that is not to be remediated; presence counts.
pub const SKIP_REMEDIATION_ANNOTATION: &str = "cluster.x-k8s.io/skip-remediation";
/// A Machine that a person wants remediated; presence counts.
pub const REMEDIATE_MACHINE_ANNOTATION: &str = "cluster.x-k8s.io/remediate-machine";
/// Label of control-plane Machines; presence counts.
pub const CLUSTER_API_CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";
/// Node to Machine: the Machine's name.
pub const NODE_CLUSTER_API_MACHINE_ANNOTATION: &str = "cluster.x-k8s.io/machine";
/// Node to Machine: the Machine's namespace.
pub const NODE_CLUSTER_NAMESPACE_ANNOTATION: &str = "cluster.x-k8s.io/cluster-namespace";
/// Template that a remediation was made from.
pub const CLUSTER_API_CLONED_FROM_ANNOTATION: &str = "cluster.x-k8s.io/cloned-from-name";

// medik8s: medik8s/common `pkg/annotations`, medik8s/node-healthcheck-operator
// `internal/controller/resources/manager.go`.

/// Node that a remediation of a NodeHealthCheck is for.
pub const CHECKED_NODE_ANNOTATION: &str = "remediation.medik8s.io/node-name";
/// A NodeHealthCheck tells a remediation that its time is over; presence counts.
pub const TIMED_OUT_ANNOTATION: &str = "remediation.medik8s.io/nhc-timed-out";

// Kubernetes: KEP-2268, `staging/src/k8s.io/api/core/v1/well_known_taints.go`.

/// Role labels of control-plane Nodes: of kubeadm and most others, of before Kubernetes 1.24 and of OpenShift, of RKE1
/// (<https://rke.docs.rancher.com/config-options/nodes#controlplane>), of MicroK8s (canonical/microk8s
/// `microk8s-resources/default-args/kubelet`). Nodes for etcd alone have the last one
/// (<https://docs.rke2.io/install/server_roles>).
pub const CONTROL_PLANE_NODE_LABELS: [&str; 5] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/controlplane",
    "node.kubernetes.io/microk8s-controlplane",
    ETCD_NODE_LABEL,
];
/// Role label of Nodes that run etcd.
pub const ETCD_NODE_LABEL: &str = "node-role.kubernetes.io/etcd";
/// Prefix of the labels that name the failure domains of a Node (Kubernetes
/// `staging/src/k8s.io/api/core/v1/well_known_labels.go`).
pub const TOPOLOGY_PREFIX: &str = "topology.kubernetes.io/";
/// Key of the taint that releases the workloads of a Node that is off.
pub const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";
/// Value of [`OUT_OF_SERVICE_TAINT`].
pub const OUT_OF_SERVICE_VALUE: &str = "nodeshutdown";
/// Keys of the taint of medik8s' fence-agents-remediation; the second one is older.
/// Source: medik8s/fence-agents-remediation `api/v1alpha1/fenceagentsremediation_types.go`.
pub const FENCE_AGENTS_TAINTS: [&str; 2] = [
    "remediation.medik8s.io/fence-agents-remediation",
    "medik8s.io/fence-agents-remediation",
];
/// Key of the taint of medik8s' self-node-remediation, and once of others; its value names who put it there.
/// Source: medik8s/self-node-remediation `controllers/selfnoderemediation_controller.go`.
pub const MEDIK8S_REMEDIATION_TAINT: &str = "medik8s.io/remediation";

// metal3: cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`; baremetal-operator
// `internal/controller/metal3.io/baremetalhost_controller.go`.

/// Mark of cluster-api-provider-baremetal on a Machine whose host it powered off.
pub const CAPBM_POWERED_OFF_ANNOTATION: &str = "remediation.metal3.io/powered-off-for-remediation";
/// Kind in `spec.providerSpec.value` of the Machines whose trigger cluster-api-provider-baremetal answers by itself.
pub const CAPBM_PROVIDER_KIND: &str = "BareMetalMachineProviderSpec";
/// Machine to BareMetalHost, `namespace/name`, where there is no providerID.
pub const BARE_METAL_HOST_ANNOTATION: &str = remediator_core::metal3::HOST_ANNOTATION;
/// metal3's pause of a BareMetalHost; presence counts.
pub const BARE_METAL_HOST_PAUSED: &str = "baremetalhost.metal3.io/paused";
/// metal3's detachment of a BareMetalHost; presence counts.
pub const BARE_METAL_HOST_DETACHED: &str = "baremetalhost.metal3.io/detached";
/// What we write there: a BareMetalHost that is deleted meanwhile is not forgotten without being deprovisioned.
pub const DETACHED_BY_US: &str = r#"{"deleteAction":"delay"}"#;
/// Label of a BareMetalHost that we hold off: the UID of the remediation.
pub const HOLD_LABEL: &str = "baremetal-remediator.io/held-for";
/// Our mark on a BareMetalHost that we asked metal3 to let go of: the annotation of the hold.
pub const DETACHED_FOR_ANNOTATION: &str = "baremetal-remediator.io/detached-for";
/// By which cluster-api-provider-metal3 says that it takes this BareMetalHost no more; the second one is older.
/// Source: cluster-api-provider-metal3 `baremetal/metal3remediation_manager.go`.
pub const CAPM3_UNHEALTHY_ANNOTATIONS: [&str; 2] = ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"];
/// Prefix of the annotations that hold a BareMetalHost off.
pub const REBOOT_ANNOTATION: &str = "reboot.metal3.io";
