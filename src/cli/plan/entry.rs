//! What is to be said of each Machine.

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::is_under_way;
use remediator_api::views::Machine;
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::intake::Intake;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;
use remediator_core::quarantine::Quarantine;
use serde::Serialize;

use crate::api_call::ShellError;
use crate::cli::plan::checks::{CheckReport, reports};
use crate::cli::plan::decision::{Asked, Opinion, Remediation, decide, standing};
use crate::cli::plan::dry_run::dry_run;
use crate::cli::plan::snapshot::PlanSnapshot;
use crate::requests::annotation;
use crate::snapshot::{Sources, host, remediation_history};
use crate::watch::caches::readable;
use crate::watch::machine_key::{MachineKey, remediations_of};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) namespace: String,
    pub(super) machine: String,
    /// API group of the Machine.
    pub(super) api: &'static str,
    /// The workload cluster that its Node is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<String>,
    pub(super) node: Option<String>,
    /// `NeverJoined` or `Deleted`, where the Machine has no Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_node: Option<&'static str>,
    pub(super) triggered: bool,
    /// Where a failed remediation keeps triggers from being taken up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quarantine: Option<QuarantineReport>,
    pub(super) checks: Vec<CheckReport>,
    pub(super) remediation: Remediation,
    pub(super) host: Option<String>,
    pub(super) bmc: Option<String>,
}

/// The quarantine of a Machine as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct QuarantineReport {
    pub(super) since: Timestamp,
    /// Names of the PowerCycleRemediations that failed.
    pub(super) remediations: Vec<String>,
    /// What ends it.
    pub(super) until: &'static str,
}

impl From<Quarantine> for QuarantineReport {
    fn from(quarantine: Quarantine) -> Self {
        Self {
            since: quarantine.since,
            remediations: quarantine.remediations,
            until: Reason::Quarantined.advice(),
        }
    }
}

/// All Machines, by namespace and name.
pub(super) async fn entries(snapshot: &PlanSnapshot) -> Result<Vec<Entry>, ShellError> {
    let sources = &snapshot.sources;
    let (mut reports, mut entries) = (reports(snapshot), Vec::new());
    for api in MachineApi::ALL {
        for guarded in sources.caches.of(api).machines.all() {
            let key = MachineKey {
                api: Some(api),
                namespace: guarded.namespace().unwrap_or_default(),
                name: guarded.name_any(),
            };
            let of_machine = reports.remove(&key).unwrap_or_default();
            let (checks, opinions): (_, Vec<Opinion>) = of_machine.into_iter().unzip();
            let mut entry = Entry {
                namespace: key.namespace,
                machine: key.name,
                api: api.group(),
                checks,
                ..Entry::default()
            };
            Box::pin(complete(snapshot, &mut entry, &guarded, &opinions)).await?;
            entries.push(entry);
        }
    }
    entries.sort_by(|one, other| {
        let key = |entry: &Entry| (entry.namespace.clone(), entry.machine.clone(), entry.api);
        key(one).cmp(&key(other))
    });
    Ok(entries)
}

/// Adds what becomes of a Machine, and which host it has.
async fn complete(
    snapshot: &PlanSnapshot,
    entry: &mut Entry,
    guarded: &Guarded<Machine>,
    opinions: &[Opinion],
) -> Result<(), ShellError> {
    let sources = &snapshot.sources;
    let machine = match &guarded.0 {
        Ok(machine) => machine,
        Err(invalid) => {
            entry.remediation = Remediation::new("MachineUnreadable", &invalid.error);
            return Ok(());
        }
    };
    entry.cluster = machine.cluster().map(ToOwned::to_owned);
    entry.node = machine.node_name().map(ToOwned::to_owned);
    entry.no_node = no_node(sources, machine);
    entry.triggered = machine.is_triggered();
    entry.quarantine = remediation_history::quarantine(sources, machine).map(QuarantineReport::from);
    let asked = asked(sources, entry, opinions);
    let made = asked.clone().and_then(|asked| made(sources, machine, asked));
    // Its host is shown also where nothing is to be done.
    let any = || annotation::remediation(machine, &entry.machine, &<_>::default());
    let remediation = made.as_ref().map_or_else(|_| any(), Clone::clone);
    let host = host::resolve(sources, &remediation, &mut None, sources.clock.now()).await?;
    if let Ok(host) = &host {
        entry.host = Some(host.host.reference.to_string());
        entry.bmc = Some(host.host.bmc.clone());
    }
    let template = asked.as_ref().ok().and_then(|asked| asked.template.as_ref());
    let template = template.map(|one| format!("{}/{}", entry.namespace, one.name_any()));
    entry.remediation = match (asked, made) {
        (Ok(asked), Ok(made)) => Box::pin(dry_run(snapshot, &made, host, asked.because)).await?,
        (_, Err(why)) | (Err(why), _) => why,
    };
    entry.remediation.template = template;
    Ok(())
}

/// Whether a remediation is asked for, and by whom.
fn asked(sources: &Sources, entry: &Entry, opinions: &[Opinion]) -> Result<Asked, Remediation> {
    let known = remediations_of(&sources.caches, &entry.namespace, &entry.machine);
    if let Some(under_way) = readable(&known).find(|one| is_under_way(one)) {
        return Err(Remediation::new("UnderWay", standing(under_way)));
    }
    if entry.triggered {
        return Ok(Asked {
            because: "the trigger is there".to_owned(),
            template: None,
        });
    }
    decide(opinions)
}

fn made(sources: &Sources, machine: &Machine, asked: Asked) -> Result<PowerCycleRemediation, Remediation> {
    let Some(template) = asked.template else {
        let mut triggered = machine.clone();
        let annotations = triggered.metadata.annotations.get_or_insert_default();
        annotations.insert(keys::TRIGGER_ANNOTATION.to_owned(), String::new());
        return match annotation::decide(sources, &triggered) {
            Intake::Create(name) => {
                let strategy = annotation::strategy(sources)?;
                Ok(annotation::remediation(machine, &name, &strategy))
            }
            Intake::Skip { obstacle, .. } => Err(obstacle.into()),
            Intake::Nothing => Err(Remediation::new("NotNeeded", "the trigger has been served")),
        };
    };
    let strategy = &template.spec.template.spec.strategy;
    let mut request = annotation::remediation(machine, &machine.name_any(), strategy);
    let cloned_from = match machine.api() {
        MachineApi::OpenShift => keys::CLONED_FROM_ANNOTATION,
        MachineApi::ClusterApi => keys::CLUSTER_API_CLONED_FROM_ANNOTATION,
    };
    request.metadata.annotations = Some([(cloned_from.to_owned(), template.name_any())].into());
    Ok(request)
}

/// Why a Machine has no Node, as far as that is known.
fn no_node(sources: &Sources, machine: &Machine) -> Option<&'static str> {
    let nodes = sources.clusters.nodes_of_machine(machine).ok()?;
    match machine.node_name() {
        None => Some("NeverJoined"),
        Some(name) => nodes.find(name).is_none().then_some("Deleted"),
    }
}
