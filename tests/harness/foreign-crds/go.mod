// The custom resource definitions of Metal3 and Cluster API that the tests and
// the demo install. Nothing here is compiled: the modules are downloaded, and
// fetch.sh copies the YAML files out of them.
module baremetal-remediator.io/foreign-crds

go 1.26.0

require (
	github.com/metal3-io/baremetal-operator v0.13.2
	sigs.k8s.io/cluster-api v1.13.5
)
