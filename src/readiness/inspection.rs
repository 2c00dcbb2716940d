//! What a check asks: the BMC, and the Node where the two contradict each other.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use remediator_core::facts::Obstacle;
use remediator_core::metal3::CycledBy;
use remediator_core::power::PowerState;
use remediator_core::readiness::schedule::HostKey;
use remediator_core::readiness::{FoundHost, found_host, judge, off_is_believable};

use crate::api_call::ShellError;
use crate::bmc_access::conversation::Conversation;
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::opening::Asker;
use crate::readiness::check::{Subject, UNDER_WAY, is_under_way};
use crate::readiness::state::Readiness;
use crate::snapshot::live;

#[derive(Debug)]
pub(super) struct BmcAnswer {
    pub(super) found: FoundHost,
    pub(super) verdict: Result<String, Obstacle>,
    pub(super) certificate_expiry: Option<Timestamp>,
}

/// Why nothing was found out.
pub(super) enum NotChecked {
    /// The BMC is not to be asked for so long.
    PutOff(SignedDuration),
    Failed(ShellError),
}

impl From<Obstacle> for BmcAnswer {
    fn from(obstacle: Obstacle) -> Self {
        Self {
            found: FoundHost::failed(obstacle.reason),
            verdict: Err(obstacle),
            certificate_expiry: None,
        }
    }
}

impl From<ShellError> for NotChecked {
    fn from(error: ShellError) -> Self {
        Self::Failed(error)
    }
}

impl From<Duration> for NotChecked {
    fn from(left: Duration) -> Self {
        Self::PutOff(SignedDuration::try_from(left).unwrap_or(UNDER_WAY))
    }
}

pub(super) async fn ask(
    context: &Readiness,
    key: &HostKey,
    subject: &Subject,
    host: &ResolvedHost,
) -> Result<BmcAnswer, NotChecked> {
    let (check, expected) = (Asker::Check(&key.namespace), subject.expected_uuid(host));
    let conversation = match Conversation::open(&context.bmc, check, host, expected).await? {
        Ok(conversation) => conversation,
        Err(obstacle) => return Ok(at(host, &obstacle).into()),
    };
    let asked = converse(context, key, subject, host, &conversation).await;
    conversation.close().await;
    asked
}

async fn converse(
    context: &Readiness,
    key: &HostKey,
    subject: &Subject,
    host: &ResolvedHost,
    conversation: &Conversation,
) -> Result<BmcAnswer, NotChecked> {
    let found = match conversation.inspect(&context.bmc).await? {
        Ok(found) => found,
        Err(obstacle) => return Ok(obstacle.into()),
    };
    let now = context.sources.clock.now();
    let stated = host.host.stated_uuid.as_ref();
    let verdict = judge(
        &found,
        &subject.expected(),
        stated,
        host.host.cycled == CycledBy::Reset,
        now,
    );
    let mut verdict = verdict.map_err(|obstacle| at(host, &obstacle));
    if verdict.is_ok()
        && found.power == PowerState::Off
        && let Err(obstacle) = believe(context, key, (subject, host), conversation).await?
    {
        verdict = Err(obstacle);
    }
    Ok(BmcAnswer {
        found: found_host(&found, &subject.expected(), stated),
        verdict,
        certificate_expiry: found.certificate.and_then(|certificate| certificate.not_after),
    })
}

/// An obstacle that does not say of which host it is, with the host.
fn at(host: &ResolvedHost, obstacle: &Obstacle) -> Obstacle {
    let detail = format!(
        "{} at {}: {}",
        host.host.reference, host.host.bmc, obstacle.detail
    );
    Obstacle::new(obstacle.reason, detail)
}

/// Whether a BMC can be believed that said Off. A Node that is Ready is watched for a report that is
/// newer than that; if there is one, the BMC is asked again.
async fn believe(
    context: &Readiness,
    key: &HostKey,
    (subject, host): (&Subject, &ResolvedHost),
    conversation: &Conversation,
) -> Result<Result<(), Obstacle>, NotChecked> {
    let Some((nodes, node)) = subject.ready_node(&context.sources) else {
        return Ok(Ok(()));
    };
    let (earlier, later) = live::watch_for_report(&nodes.client, node).await?;
    if !later.differs_from(&earlier) {
        return Ok(Ok(()));
    }
    if is_under_way(context, &key.namespace, subject) {
        return Err(NotChecked::PutOff(UNDER_WAY));
    }
    let again = conversation.inspect(&context.bmc).await?;
    Ok(again.and_then(|found| {
        off_is_believable(node, &earlier, &later, found.power).map_err(|obstacle| at(host, &obstacle))
    }))
}
