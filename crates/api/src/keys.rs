//! Annotation, label, taint and finalizer keys: ours, and those of others that we read.

/// Our finalizer on a PowerCycleRemediation.
pub const FINALIZER: &str = "baremetal-remediator.io/host-is-safe";

/// Annotation on a PowerCycleRemediation that was made for a trigger annotation on its Machine.
pub const ORIGIN_ANNOTATION: &str = "baremetal-remediator.io/trigger";

/// Value of [`ORIGIN_ANNOTATION`].
pub const ORIGIN_EXTERNAL_REMEDIATION: &str = "external-remediation";

/// Annotation on a Node: the UID of the remediation that put the out-of-service taint there.
pub const TAINTED_BY_ANNOTATION: &str = "baremetal-remediator.io/out-of-service-for";

/// The trigger on a Machine; presence counts, whatever the value.
/// Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.
pub const TRIGGER_ANNOTATION: &str = "host.metal3.io/external-remediation";

/// The strategy on a MachineHealthCheck. Source: as above.
pub const STRATEGY_ANNOTATION: &str = "machine.openshift.io/remediation-strategy";

/// The only value of [`STRATEGY_ANNOTATION`] that means us; compared exactly.
pub const STRATEGY_EXTERNAL_BAREMETAL: &str = "external-baremetal";

/// Pause on a MachineHealthCheck, and on a Machine of Cluster API; presence counts, even of `"false"`. Source:
/// as above; cluster-api `api/core/v1beta2/common_types.go`.
pub const PAUSED_ANNOTATION: &str = "cluster.x-k8s.io/paused";

/// A Machine of Cluster API that is not to be remediated; presence counts.
/// Source: cluster-api `api/core/v1beta2/common_types.go`.
pub const SKIP_REMEDIATION_ANNOTATION: &str = "cluster.x-k8s.io/skip-remediation";

/// A Machine of Cluster API that a person wants remediated; presence counts. Source: as above.
pub const REMEDIATE_MACHINE_ANNOTATION: &str = "cluster.x-k8s.io/remediate-machine";

/// Label of the control-plane Machines of Cluster API; presence counts. Source: as above.
pub const CLUSTER_API_CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";

/// Node to Machine of Cluster API: the Machine's name. Source: as above.
pub const NODE_CLUSTER_API_MACHINE_ANNOTATION: &str = "cluster.x-k8s.io/machine";

/// Node to Machine of Cluster API: the Machine's namespace. Source: as above.
pub const NODE_CLUSTER_NAMESPACE_ANNOTATION: &str = "cluster.x-k8s.io/cluster-namespace";

/// Template that a remediation was made from by Cluster API. Source: as above.
pub const CLUSTER_API_CLONED_FROM_ANNOTATION: &str = "cluster.x-k8s.io/cloned-from-name";

/// Node to Machine, `namespace/name`. Source: machine-api-operator `pkg/controller/nodelink`.
pub const NODE_MACHINE_ANNOTATION: &str = "machine.openshift.io/machine";

/// Node that a remediation of a NodeHealthCheck is for.
/// Source: medik8s/common `pkg/annotations`, medik8s/node-healthcheck-operator
/// `internal/controller/resources/manager.go`.
pub const CHECKED_NODE_ANNOTATION: &str = "remediation.medik8s.io/node-name";

/// Template that a remediation was made from by machine-api-operator.
/// Source: openshift/api `machine/v1beta1/types_machine.go`.
pub const CLONED_FROM_ANNOTATION: &str = "machine.openshift.io/cloned-from-name";

/// A NodeHealthCheck tells a remediation that its time is over; presence counts.
/// Source: medik8s/common `pkg/annotations`.
pub const TIMED_OUT_ANNOTATION: &str = "remediation.medik8s.io/nhc-timed-out";

/// Role of a Machine.
pub const MACHINE_ROLE_LABEL: &str = "machine.openshift.io/cluster-api-machine-role";

/// Role labels of control-plane Nodes.
pub const CONTROL_PLANE_NODE_LABELS: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// Mark of cluster-api-provider-baremetal on a Machine whose host it powered off.
/// Source: cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`.
pub const CAPBM_POWERED_OFF_ANNOTATION: &str = "remediation.metal3.io/powered-off-for-remediation";

/// Kind in `spec.providerSpec.value` of the Machines whose trigger cluster-api-provider-baremetal
/// answers by itself. Source: as above.
pub const CAPBM_PROVIDER_KIND: &str = "BareMetalMachineProviderSpec";

/// Key of the taint that releases the workloads of a Node that is off.
/// Source: KEP-2268, kubernetes `staging/src/k8s.io/api/core/v1/well_known_taints.go`.
pub const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";

/// Value of [`OUT_OF_SERVICE_TAINT`].
pub const OUT_OF_SERVICE_VALUE: &str = "nodeshutdown";

/// Machine to BareMetalHost, `namespace/name`, where there is no providerID.
pub const BARE_METAL_HOST_ANNOTATION: &str = remediator_core::metal3::HOST_ANNOTATION;

/// metal3's pause of a BareMetalHost; presence counts.
pub const BARE_METAL_HOST_PAUSED: &str = "baremetalhost.metal3.io/paused";

/// metal3's detachment of a BareMetalHost; presence counts.
pub const BARE_METAL_HOST_DETACHED: &str = "baremetalhost.metal3.io/detached";

/// Prefix of the annotations that hold a BareMetalHost off.
/// Source: baremetal-operator `internal/controller/metal3.io/baremetalhost_controller.go`.
pub const REBOOT_ANNOTATION: &str = "reboot.metal3.io";
