//! The custom resource definitions of others that the daemon reads.
//!
//! OpenShift's, medik8s' and that of Cluster API's provider Metal3 are fixtures of ours, narrowed to what is read.
//! Those of Metal3 and Cluster API are the originals, fetched by `foreign-crds/fetch.sh`. A folder named by
//! `FOREIGN_CRDS_DIR` replaces any of them with a definition of the same name.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::apply::{crd_name, parse, read};
use crate::{Cluster, folders};

/// A set of definitions that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignCrd {
    /// Machine, MachineSet and MachineHealthCheck. Nothing of `config.openshift.io`, by which others tell
    /// that a cluster is OpenShift.
    OpenShift,
    /// BareMetalHost, HardwareData and HostUpdatePolicy.
    Metal3,
    /// Cluster, Machine, MachineSet, MachineDeployment and MachineHealthCheck.
    ClusterApi,
    /// medik8s' NodeHealthCheck.
    NodeHealthCheck,
    /// Metal3Machine of Cluster API's provider Metal3.
    Metal3Provider,
}

const OPENSHIFT: [&str; 3] = [
    include_str!("../foreign-crds/fixtures/machine.openshift.io_machines.yaml"),
    include_str!("../foreign-crds/fixtures/machine.openshift.io_machinesets.yaml"),
    include_str!("../foreign-crds/fixtures/machine.openshift.io_machinehealthchecks.yaml"),
];
const NODE_HEALTH_CHECK: [&str; 1] = [include_str!(
    "../foreign-crds/fixtures/remediation.medik8s.io_nodehealthchecks.yaml"
)];
const METAL3_PROVIDER: [&str; 1] = [include_str!(
    "../foreign-crds/fixtures/infrastructure.cluster.x-k8s.io_metal3machines.yaml"
)];
const METAL3: [&str; 3] = [
    "metal3/metal3.io_baremetalhosts.yaml",
    "metal3/metal3.io_hardwaredata.yaml",
    "metal3/metal3.io_hostupdatepolicies.yaml",
];
const CLUSTER_API: [&str; 5] = [
    "cluster-api/cluster.x-k8s.io_clusters.yaml",
    "cluster-api/cluster.x-k8s.io_machines.yaml",
    "cluster-api/cluster.x-k8s.io_machinesets.yaml",
    "cluster-api/cluster.x-k8s.io_machinedeployments.yaml",
    "cluster-api/cluster.x-k8s.io_machinehealthchecks.yaml",
];

impl ForeignCrd {
    /// The definitions, before any replacement.
    fn documents(self, fetched: &Path) -> anyhow::Result<Vec<Value>> {
        match self {
            Self::OpenShift => parse_all(&OPENSHIFT),
            Self::NodeHealthCheck => parse_all(&NODE_HEALTH_CHECK),
            Self::Metal3Provider => parse_all(&METAL3_PROVIDER),
            Self::Metal3 => read_all(fetched, &METAL3),
            Self::ClusterApi => read_all(fetched, &CLUSTER_API),
        }
    }
}

impl Cluster {
    /// Installs the definitions of these projects and waits until they are served.
    pub async fn install_foreign_crds(&self, which: &[ForeignCrd]) -> anyhow::Result<()> {
        let replacements = std::env::var_os("FOREIGN_CRDS_DIR").map(PathBuf::from);
        let fetched = folders::target()?.join("foreign-crds");
        let documents = collect(which, &fetched, replacements.as_deref())?;
        self.install_crd_documents(documents).await
    }
}

fn collect(which: &[ForeignCrd], fetched: &Path, replacements: Option<&Path>) -> anyhow::Result<Vec<Value>> {
    let replacements = match replacements {
        Some(folder) => read(folder).context("FOREIGN_CRDS_DIR must be a folder of CRDs")?,
        None => Vec::new(),
    };
    let mut chosen = Vec::new();
    for set in which {
        for document in set.documents(fetched)? {
            let name = crd_name(&document)?;
            let replacement = replacements
                .iter()
                .find(|other| crd_name(other).is_ok_and(|other| other == name));
            chosen.push(replacement.cloned().unwrap_or(document));
        }
    }
    Ok(chosen)
}

fn parse_all(texts: &[&str]) -> anyhow::Result<Vec<Value>> {
    let documents: anyhow::Result<Vec<Vec<Value>>> = texts.iter().map(|text| parse(text)).collect();
    Ok(documents?.into_iter().flatten().collect())
}

fn read_all(fetched: &Path, files: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut documents = Vec::new();
    for file in files {
        let path = fetched.join(file);
        ensure!(
            path.is_file(),
            "the CRDs of others are not complete, missing: {}; run `make foreign-crds` to fetch them",
            path.display()
        );
        documents.extend(read(&path)?);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixtures_are_the_definitions_they_are_named_after() {
        let fetched = Path::new("unused");
        let found = collect(
            &[ForeignCrd::OpenShift, ForeignCrd::NodeHealthCheck],
            fetched,
            None,
        )
        .unwrap();
        let names: Vec<_> = found.iter().map(|document| crd_name(document).unwrap()).collect();
        assert_eq!(
            names,
            [
                "machines.machine.openshift.io",
                "machinesets.machine.openshift.io",
                "machinehealthchecks.machine.openshift.io",
                "nodehealthchecks.remediation.medik8s.io",
            ]
        );
    }

    #[test]
    fn what_is_not_fetched_is_named_with_the_command_that_fetches_it() {
        let error = collect(&[ForeignCrd::Metal3], Path::new("/nonexistent"), None).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("metal3.io_baremetalhosts.yaml") && text.contains("make foreign-crds"),
            "{text}"
        );
    }

    #[test]
    fn a_definition_of_the_same_name_replaces_ours() {
        let folder = crate::folders::RunFolders::create("replacement").unwrap().scratch;
        let theirs = OPENSHIFT[0].replace("listKind: MachineList", "listKind: MachineListOfTheirs");
        std::fs::write(folder.join("machines.yaml"), theirs).unwrap();
        let found = collect(&[ForeignCrd::OpenShift], Path::new("unused"), Some(&folder)).unwrap();
        let kinds: Vec<_> = found
            .iter()
            .map(|document| document["spec"]["names"]["listKind"].as_str().unwrap())
            .collect();
        assert_eq!(
            kinds,
            ["MachineListOfTheirs", "MachineSetList", "MachineHealthCheckList"]
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
