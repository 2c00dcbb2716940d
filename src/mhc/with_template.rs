//! MachineHealthChecks with a template of ours, which others evaluate: what would keep their requests from being
//! made is told here, because they store no condition about it.
//! Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`, whose
//! conditions about the template are set after the last write of the status.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use remediator_api::views::MachineHealthCheck;
use remediator_core::checker::notice::Notice;
use remediator_core::checker::notices::{malformed, unusable_template};
use remediator_core::health::overlap::Check;

use crate::mhc::event_publisher::tell;
use crate::mhc::requeue::RETRY;
use crate::mhc::state::{CheckKey, MhcController};
use crate::watch::caches;
use crate::watch::caches::Guarded;

/// How old a check is before a template is missed: both may be of one file, which is applied from top to bottom.
const YOUNG: Duration = Duration::from_secs(30);

/// Looks at such a check.
pub(super) fn look(
    context: &Arc<MhcController>,
    key: &CheckKey,
    guarded: &Guarded<MachineHealthCheck>,
    check: &Check,
) -> Action {
    if !context.sources.caches.templates.is_listed() {
        return Action::requeue(RETRY);
    }
    let unusable = of_template(context, key, guarded);
    let left = left_of_youth(context, guarded);
    let waits = unusable.is_some() && !left.is_zero();
    let notices = malformed(check).into_iter().chain(unusable.filter(|_| !waits));
    tell(context, key, guarded, None, notices.collect());
    if waits {
        Action::requeue(left)
    } else {
        Action::await_change()
    }
}

/// Why no request can be made from the template that a check names.
fn of_template(
    context: &MhcController,
    key: &CheckKey,
    guarded: &Guarded<MachineHealthCheck>,
) -> Option<Notice> {
    let name = &guarded.0.as_ref().ok()?.spec.remediation_template.as_ref()?.name;
    let template = caches::find(&context.sources.caches.templates, Some(&key.namespace), name);
    let wrong = match template.as_deref() {
        None => Err(format!("does not exist in namespace {}", key.namespace)),
        Some(Guarded(Ok(template))) => template.spec.validated().map(drop).map_err(|wrong| wrong.detail),
        Some(Guarded(Err(invalid))) => Err(invalid.error.clone()),
    };
    wrong.err().map(|wrong| unusable_template(name, &wrong))
}

fn left_of_youth(context: &MhcController, guarded: &Guarded<MachineHealthCheck>) -> Duration {
    let created = guarded.creation_timestamp();
    let age = created.map(|created| context.sources.clock.now().duration_since(created.0));
    // Its clock may be ahead of ours.
    let age = age.map(|age| Duration::try_from(age).unwrap_or_default());
    age.map_or(Duration::ZERO, |age| YOUNG.saturating_sub(age))
}
