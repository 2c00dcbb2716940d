//! `confirm-off`: a person says that the host of a remediation is off, whose BMC does not answer.

use std::io::Write as _;

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource as _, ResourceExt as _};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::confirmation::LONGEST_REASON;
use remediator_core::phase::Phase;
use serde_json::json;

use crate::api_call::within;
use crate::cli::cluster::ClusterArguments;
use crate::cli::show::Output;

/// The right to say so.
const VERB: &str = "confirm-off";

/// Arguments of `confirm-off`.
#[derive(Debug, Args)]
pub struct ConfirmOffArguments {
    /// Name of the PowerCycleRemediation.
    remediation: String,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The Node whose host you have seen to be off.
    #[arg(long, value_name = "NAME")]
    node: String,
    /// How you know that the host is off, such as: both power supplies are unplugged.
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: String,
    /// What will happen, for people; or the remediation as it stands then, for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// Reads why; not nothing, and not a book.
fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if !(1..=LONGEST_REASON).contains(&text.chars().count()) {
        return Err(format!("say it in 1 to {LONGEST_REASON} characters"));
    }
    Ok(text.to_owned())
}

pub(super) async fn confirm_off(arguments: &ConfirmOffArguments) -> anyhow::Result<()> {
    let (client, _) = arguments.cluster.connect().await?;
    let namespace = arguments.cluster.namespace(&client);
    let remediations = Api::<PowerCycleRemediation>::namespaced(client.clone(), namespace);
    let name = &arguments.remediation;
    let remediation = within("reading the remediation", remediations.get(name)).await?;
    let phase = remediation.phase();
    if phase != Phase::AwaitingConfirmation {
        bail!(
            "PowerCycleRemediation {namespace}/{name} is in phase {}; only in AwaitingConfirmation is a person asked",
            phase.as_str()
        );
    }
    let asked = remediation.journal().and_then(|journal| journal.asked.clone());
    let asked =
        asked.context("the remediation does not say yet about which host it asks; try again in a moment")?;
    if asked.node != arguments.node {
        bail!(
            "PowerCycleRemediation {namespace}/{name} asks about the host of Node {} behind {}, and not of Node {}; see \
             that you are at the right host",
            asked.node,
            asked.bmc,
            arguments.node
        );
    }
    let user = whoami(&client).await?;
    if !may(&client, of_remediation(namespace, name)).await? {
        bail!(
            "{user} may not {VERB} powercycleremediations in namespace {namespace}; bind the ClusterRole \
             baremetal-remediator-confirm-off to {user} there"
        );
    }
    if !asked.proven && !may(&client, of_node(&asked.node)).await? {
        bail!(
            "no check has found that {} is the BMC of Node {}, and {user} may not {VERB} nodes; bind the ClusterRole \
             baremetal-remediator-confirm-off to {user} by a ClusterRoleBinding",
            asked.bmc,
            asked.node
        );
    }
    let patch = json!({"metadata": {
        "resourceVersion": remediation.resource_version(),
        "annotations": {
            keys::CONFIRM_OFF_NODE_ANNOTATION: asked.node,
            keys::CONFIRM_OFF_ANNOTATION: arguments.reason,
            keys::CONFIRM_OFF_BY_ANNOTATION: user,
            keys::CONFIRM_OFF_AT_ANNOTATION: Timestamp::now().to_string(),
        },
    }});
    let (how, patch) = (PatchParams::default(), Patch::Merge(patch));
    let patched = remediations.patch(name, &how, &patch);
    let mut patched = within("annotating the remediation", patched).await?;
    patched.metadata.managed_fields = None;
    if !arguments.output.for_programs(&patched)? {
        tell(&remediation, &user);
    }
    Ok(())
}

/// The name by which the API server knows who runs this.
async fn whoami(client: &Client) -> anyhow::Result<String> {
    let reviews = Api::<SelfSubjectReview>::all(client.clone());
    let (how, asked) = (PostParams::default(), SelfSubjectReview::default());
    let review = reviews.create(&how, &asked);
    let review = within("asking the API server who you are", review).await?;
    let user = review.status.and_then(|status| status.user_info?.username);
    user.context("the API server does not say who you are; log in")
}

fn of_remediation(namespace: &str, name: &str) -> ResourceAttributes {
    ResourceAttributes {
        group: Some(PowerCycleRemediation::group(&()).into_owned()),
        resource: Some(PowerCycleRemediation::plural(&()).into_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        verb: Some(VERB.to_owned()),
        ..ResourceAttributes::default()
    }
}

fn of_node(name: &str) -> ResourceAttributes {
    ResourceAttributes {
        resource: Some("nodes".to_owned()),
        name: Some(name.to_owned()),
        verb: Some(VERB.to_owned()),
        ..ResourceAttributes::default()
    }
}

async fn may(client: &Client, what: ResourceAttributes) -> anyhow::Result<bool> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(what),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews = Api::<SelfSubjectAccessReview>::all(client.clone());
    let asked = PostParams::default();
    let review = within(
        "asking the API server what you may do",
        reviews.create(&asked, &review),
    )
    .await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

fn tell(remediation: &PowerCycleRemediation, user: &str) {
    let name = remediation.name_any();
    // It is confirmed, whether somebody reads this or not.
    let _ = writeln!(
        std::io::stdout().lock(),
        "{user} has confirmed that the host of PowerCycleRemediation {name} is off.\n\
         If its Node stays silent and the BMC does not say On, the workloads are released within half a minute and start \
         elsewhere.\n\
         Keep the host off until then. As soon as its BMC answers it is powered on; to prevent that, annotate the \
         remediation with {}=true.\n\
         What becomes of it: kubectl get pcr {name} -n {} -w",
        keys::LEAVE_OFF_ANNOTATION,
        remediation.namespace().unwrap_or_default()
    );
}
