//! `bmc`: the daemon's power control from a shell, for one BMC by its address or for hosts of a cluster.

mod arguments;
mod asking;
mod check;
mod cluster;
mod cluster_host;
mod direct;
mod interruption;
mod show;

use std::time::Duration;

use anyhow::bail;
pub use arguments::BmcArguments;
use arguments::{BmcVerb, HostArguments, OneArguments, PowerArguments};
use cluster::Cluster;
pub use interruption::Interrupted;
use interruption::Interruption;
use remediator_bmc::{BmcHandle, BmcTarget, Bmcs, Urgency, by_hand};
use remediator_core::journal::Verb;

/// The longest that the end_session to a BMC may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long nothing is said while a BMC does not answer.
const BEFORE_A_WORD: Duration = Duration::from_secs(5);

/// Ends with this when nothing was done because `--yes` was missing.
#[derive(Debug, thiserror::Error)]
#[error("nothing was done; add --yes to do it")]
pub struct NotConfirmed;

pub(super) fn bmc(arguments: &BmcArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        match &arguments.verb {
            BmcVerb::Status(arguments) => status(arguments).await,
            BmcVerb::Identify(arguments) => identify(arguments).await,
            BmcVerb::On(arguments) => power(arguments, &[Verb::PowerOn]).await,
            BmcVerb::Off(arguments) => power(arguments, &[Verb::PowerOff]).await,
            BmcVerb::Cycle(arguments) => power(arguments, &[Verb::PowerOff, Verb::PowerOn]).await,
            BmcVerb::Check(arguments) => check::check(arguments).await,
        }
    });
    runtime.shutdown_background();
    ended
}

/// One host, and what a person should know before powering it.
struct Meant {
    label: String,
    bmc: String,
    target: BmcTarget,
    /// The remediation that is at work on it.
    remediation: Option<String>,
    /// Its Node, if that is at work.
    ready_node: Option<String>,
}

async fn meant(arguments: &HostArguments) -> anyhow::Result<Meant> {
    if let Some(address) = &arguments.direct.address {
        let target = direct::target(&arguments.direct, address)?;
        return Ok(Meant {
            label: target.address.host.to_string(),
            bmc: target.address.to_string(),
            target,
            remediation: None,
            ready_node: None,
        });
    }
    let Some(name) = &arguments.name else {
        bail!("name a Machine, Node or BMCEndpoint, or a BMC by --address");
    };
    let cluster = Cluster::connect().await?;
    let host = cluster.host(arguments.namespace.as_deref(), name).await?;
    let target = match cluster.target(&host).await? {
        Ok(target) => target,
        Err(obstacle) => bail!("{}. {}", obstacle.detail, obstacle.reason.advice()),
    };
    Ok(Meant {
        label: host.label(),
        bmc: host.bmc(),
        target,
        remediation: cluster.remediation_of(&host).await?,
        ready_node: host.ready_node(),
    })
}

async fn status(arguments: &OneArguments) -> anyhow::Result<()> {
    let meant = meant(&arguments.host).await?;
    let stop = Interruption::watch()?;
    let line = Bmcs::default().line(meant.target, Urgency::Remediation);
    let reading = stop.or(patiently(line.read())).await;
    end_session(line).await;
    show::print(
        arguments.show.output,
        &show::power(&meant.label, &meant.bmc, &reading??),
    )
}

async fn identify(arguments: &OneArguments) -> anyhow::Result<()> {
    let meant = meant(&arguments.host).await?;
    let stop = Interruption::watch()?;
    let line = Bmcs::default().line(meant.target, Urgency::Remediation);
    let found = stop.or(patiently(line.inspect())).await;
    end_session(line).await;
    show::print(
        arguments.show.output,
        &show::facts(&meant.label, &meant.bmc, &found??),
    )
}

async fn power(arguments: &PowerArguments, verbs: &[Verb]) -> anyhow::Result<()> {
    let meant = meant(&arguments.host).await?;
    let destructive = verbs.contains(&Verb::PowerOff);
    if let Some(remediation) = &meant.remediation {
        bail!(
            "PowerCycleRemediation {remediation} is at work on this host; wait until it has ended, or delete it"
        );
    }
    if let Some(node) = meant.ready_node.as_ref().filter(|_| destructive) {
        show::tell(&format!(
            "careful: Node {node} is Ready; what runs on it is killed without notice"
        ));
    }
    let stop = Interruption::watch()?;
    let line = Bmcs::default().line(meant.target, Urgency::Remediation);
    let done = stop.or(carry_out(&line, arguments, verbs, &meant.label)).await;
    if done.is_err() {
        show::tell("interrupted; the session at the BMC is being ended (once more leaves it behind)");
    }
    end_session(line).await;
    done?
}

async fn carry_out(
    line: &BmcHandle,
    arguments: &PowerArguments,
    verbs: &[Verb],
    label: &str,
) -> anyhow::Result<()> {
    let destructive = verbs.contains(&Verb::PowerOff);
    let first = patiently(by_hand::first_read(line, destructive)).await?;
    let uuid = first.uuid.clone().unwrap_or_else(|| "unknown".to_owned());
    show::tell(&format!("{label} is {}, UUID {uuid}", first.system));
    if let Some(way) = &first.fallback {
        show::tell(&format!("the BMC is spoken to {way}"));
    }
    show::tell(&format!("the BMC says {}", first.said()));
    if destructive && !arguments.yes {
        show::tell("it would be powered off at once, not shut down");
        return Err(NotConfirmed.into());
    }
    for verb in verbs {
        by_hand::carry_out(line, *verb, &first, arguments.timeout, &mut show::tell).await?;
        show::tell(match verb {
            Verb::PowerOff => "Off is proven: two fresh reads after the command say so",
            Verb::PowerOn => "the host is on",
        });
    }
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
    match tokio::time::timeout(FAREWELL, line.close()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            show::tell(&format!("the session at the BMC could not be deleted: {error}"));
        }
        Err(_) => show::tell("the session at the BMC could not be deleted in time"),
    }
}
