//! `bmc`: the daemon's power control from a shell, for one BMC by its address or for hosts of a cluster.

mod arguments;
mod check;
mod direct;
mod host;
mod interruption;
mod show;

use std::time::Duration;

use anyhow::{anyhow, bail};
pub use arguments::BmcArguments;
use arguments::{BmcVerb, HostArguments, PowerArguments};
use host::Host;
pub use interruption::Interrupted;
use interruption::Interruption;
use jiff::Timestamp;
use remediator_bmc::{BmcError, BmcHandle, BmcTarget, Bmcs, Urgency, by_hand};
use remediator_core::journal::Verb;
use show::Facts;

const END_DEADLINE: Duration = Duration::from_secs(10);

/// How long nothing is said while a BMC does not answer.
const BEFORE_A_WORD: Duration = Duration::from_secs(5);

/// Ends with this when nothing was done because `--yes` was missing.
#[derive(Debug, thiserror::Error)]
#[error("nothing was done; add --yes to do it")]
pub struct NotConfirmed;

pub(super) async fn bmc(arguments: &BmcArguments) -> anyhow::Result<()> {
    match &arguments.verb {
        BmcVerb::Status(arguments) => {
            ask(arguments, async |host, line| {
                Ok(show::power(host, Some(&line.read(Timestamp::now).await?)))
            })
            .await
        }
        BmcVerb::Identify(arguments) => {
            ask(arguments, async |host, line| {
                Ok(show::facts(host, Some(&line.inspect().await?)))
            })
            .await
        }
        BmcVerb::On(arguments) => power(arguments, &[Verb::PowerOn]).await,
        BmcVerb::Off(arguments) => power(arguments, &[Verb::PowerOff]).await,
        BmcVerb::Cycle(arguments) => power(arguments, &[Verb::PowerOff, Verb::PowerOn]).await,
        BmcVerb::Check(arguments) => check::check(arguments).await,
    }
}

/// What a conversation with the BMC of a host needs.
async fn target(host: &Host) -> anyhow::Result<BmcTarget> {
    let target = host.target().await?;
    target.map_err(|obstacle| anyhow!(obstacle.for_people()))
}

/// Prints what the BMC of a host answers.
async fn ask(
    arguments: &HostArguments,
    ask: impl AsyncFnOnce(&Host, &BmcHandle) -> Result<Facts, BmcError>,
) -> anyhow::Result<()> {
    let host = Host::of(arguments).await?;
    let target = target(&host).await?;
    let stop = Interruption::watch()?;
    let line = Bmcs::default().line(target, Urgency::Remediation);
    let facts = stop.or(patiently(ask(&host, &line))).await;
    end_session(line).await;
    show::print(arguments.output, &facts??)
}

async fn power(arguments: &PowerArguments, verbs: &[Verb]) -> anyhow::Result<()> {
    let host = Host::of(&arguments.host).await?;
    let target = target(&host).await?;
    let destructive = verbs.contains(&Verb::PowerOff);
    leave_to_remediation(&host, false).await?;
    if let Some((_, node)) = host.ready_node().filter(|_| destructive) {
        show::tell(&format!(
            "careful: Node {node} is Ready; what runs on it is killed without notice"
        ));
    }
    let stop = Interruption::watch()?;
    let line = Bmcs::default().line(target, Urgency::Remediation);
    let done = stop.or(carry_out(&line, arguments, verbs, &host)).await;
    if done.is_err() {
        show::tell("interrupted; the session at the BMC is being ended (once more leaves it behind)");
    }
    end_session(line).await;
    done?
}

/// Refuses a host on which a remediation is at work.
async fn leave_to_remediation(host: &Host, is_off_by_us: bool) -> anyhow::Result<()> {
    let Some(host) = host.in_cluster() else {
        return Ok(());
    };
    match host.remediation(is_off_by_us).await {
        Ok(Some(remediation)) => bail!(
            "PowerCycleRemediation {remediation} is at work on this host; wait until it has ended, or delete it"
        ),
        Ok(None) => Ok(()),
        // Nothing unknown keeps a host off that this command has powered off.
        Err(unknown) if is_off_by_us => {
            show::tell(&format!(
                "powering on although remediations are not known: {unknown:#}"
            ));
            Ok(())
        }
        Err(unknown) => Err(unknown),
    }
}

async fn carry_out(
    line: &BmcHandle,
    arguments: &PowerArguments,
    verbs: &[Verb],
    host: &Host,
) -> anyhow::Result<()> {
    let destructive = verbs.contains(&Verb::PowerOff);
    let first = patiently(by_hand::first_read(line, destructive)).await?;
    let uuid = first.uuid.clone().unwrap_or_else(|| "unknown".to_owned());
    show::tell(&format!("{} is {}, UUID {uuid}", host.label, first.system));
    if let Some(way) = &first.fallback {
        show::tell(&format!("the BMC is spoken to {way}"));
    }
    show::tell(&format!("the BMC says {}", first.said()));
    if destructive && !arguments.yes {
        show::tell("it would be powered off at once, not shut down");
        return Err(NotConfirmed.into());
    }
    let mut is_off_by_us = false;
    let mut last = first.clone();
    for verb in verbs {
        // One may have begun while the BMC answered.
        leave_to_remediation(host, is_off_by_us).await?;
        last = by_hand::carry_out(line, *verb, &first, arguments.timeout, &mut show::tell).await?;
        is_off_by_us = *verb == Verb::PowerOff;
        show::tell(match verb {
            Verb::PowerOff => "Off is proven: two fresh reads after the command say so",
            Verb::PowerOn => "the host is on",
            Verb::Restart => "the host is reset",
        });
    }
    // People have been told.
    let facts = show::power(host, Some(&last));
    arguments.host.output.for_programs(&show::object(&facts))?;
    Ok(())
}

/// Waits for the first answer, and says that it waits: a BMC that hangs is waited for longer than a person would.
async fn patiently<Answer>(answer: impl Future<Output = Answer>) -> Answer {
    let mut answer = std::pin::pin!(answer);
    let mut waited = Duration::ZERO;
    loop {
        match tokio::time::timeout(BEFORE_A_WORD, &mut answer).await {
            Ok(answer) => return answer,
            Err(_) => {
                waited = waited.saturating_add(BEFORE_A_WORD);
                show::tell(&format!(
                    "no answer from the BMC for {} s; still waiting",
                    waited.as_secs()
                ));
            }
        }
    }
}

/// A session that is left behind is taken until it times out.
async fn end_session(line: BmcHandle) {
    match tokio::time::timeout(END_DEADLINE, line.close()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            show::tell(&format!("the session at the BMC could not be deleted: {error}"));
        }
        Err(_) => show::tell("the session at the BMC could not be deleted in time"),
    }
}
