//! Asks BMCs whether they would do what a remediation needs, one host or many.

use std::collections::BTreeMap;
use std::io;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_bmc::{BmcHandle, BmcTarget, Bmcs, Inspection, Urgency};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::phase::Reason;
use remediator_core::power::PowerState;
use remediator_core::readiness::{self, Expected};

use crate::bmc_access::bmc_obstacle::obstacle;
use crate::bmc_access::conversation::rejected_before;
use crate::bmc_access::rejected_credentials::RejectedCredentials;
use crate::cli::bmc::cluster::Cluster;
use crate::cli::bmc::cluster_host::ClusterHost;
use crate::cli::bmc::end_session;
use crate::cli::bmc::interruption::{Interrupted, Interruption};

/// One host and what the check found.
pub(super) struct Checked {
    pub(super) host: String,
    pub(super) bmc: String,
    pub(super) found: Option<Inspection>,
    pub(super) verdict: Result<String, Obstacle>,
}

/// Asks, until a person stops it.
pub(super) struct Asker {
    stop: Interruption,
    bmcs: Bmcs,
    rejected: RejectedCredentials,
}

impl Asker {
    /// Watches for a person who stops it from now on.
    ///
    /// # Errors
    /// When the operating system does not allow it.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            stop: Interruption::watch()?,
            bmcs: Bmcs::default(),
            rejected: RejectedCredentials::default(),
        })
    }

    /// Checks hosts, `parallel` BMCs at once and those behind one BMC one after the other: BMCs have few
    /// sessions, and lock accounts after a few wrong logins. Answers in the order of the hosts; one that
    /// could not be checked does not keep the others from it.
    ///
    /// # Errors
    /// A person stopped it.
    pub(super) async fn of_hosts(
        &self,
        cluster: &Cluster,
        hosts: &[ClusterHost],
        parallel: u16,
        mut progress: impl FnMut(),
    ) -> anyhow::Result<Vec<Checked>> {
        let mut places: BTreeMap<String, Vec<(usize, &ClusterHost)>> = BTreeMap::new();
        for (index, host) in hosts.iter().enumerate() {
            let place = host.place().unwrap_or_else(|| format!("unknown {index}"));
            places.entry(place).or_default().push((index, host));
        }
        let one_after_the_other = |hosts| {
            let asked = async |(index, host)| (index, self.of_host(cluster, host).await);
            Box::pin(stream::iter::<Vec<_>>(hosts).then(asked))
        };
        let places = stream::iter(places.into_values().map(one_after_the_other));
        let mut checks = places.flatten_unordered(usize::from(parallel));
        let (mut checked, mut interrupted) = (BTreeMap::new(), None);
        // To the end also when it is stopped: what is under way ends its session first.
        while let Some((index, one)) = checks.next().await {
            let one = match one {
                Ok(one) => one,
                Err(error) => {
                    interrupted = interrupted.or(error.downcast_ref::<Interrupted>().copied());
                    not_checked(hosts.get(index), &error)
                }
            };
            checked.insert(index, one);
            progress();
        }
        match interrupted {
            Some(interrupted) => Err(interrupted.into()),
            None => Ok(checked.into_values().collect()),
        }
    }

    /// Checks a host of the cluster.
    ///
    /// # Errors
    /// The API server did not answer, or a person stopped it.
    pub(super) async fn of_host(&self, cluster: &Cluster, host: &ClusterHost) -> anyhow::Result<Checked> {
        let (label, bmc) = (host.label(), host.bmc());
        let target = self.stop.or(cluster.target(host)).await??;
        let target = target.and_then(|target| match self.rejection(host, &target) {
            Some(obstacle) => Err(obstacle),
            None => Ok(target),
        });
        let target = match target {
            Ok(target) => target,
            Err(obstacle) => {
                return Ok(Checked {
                    host: label,
                    bmc,
                    found: None,
                    verdict: Err(obstacle),
                });
            }
        };
        let node = host
            .node
            .as_ref()
            .map(|node| (node.name_any(), node.facts().system_uuid));
        let expected = match &node {
            Some((name, uuid)) => Expected::Node(name, uuid.as_deref()),
            None => Expected::NoNode(format!("{label} has no Node")),
        };
        let ready = host.ready_node().map(|node| (host, node));
        let version = target.credentials.version.clone();
        let asked = self.of_target(label.clone(), bmc, target, &expected, host.stated_uuid(), ready);
        let mut checked = asked.await?;
        if let (Some(secret), Some(place)) = (host.secret(), host.place()) {
            match &checked.verdict {
                Err(obstacle) if obstacle.reason == Reason::BmcCredentialsRejected => {
                    self.rejected.note_rejection(&secret, &version, &place);
                }
                Ok(_) | Err(_) if checked.found.is_some() => self.rejected.note_login(&secret, &version),
                Ok(_) | Err(_) => {}
            }
        }
        if let (Ok(_), Some(twins)) = (&checked.verdict, &host.twins) {
            checked.verdict = Err(twins.clone());
        }
        Ok(checked)
    }

    /// A login that was rejected is not tried once more.
    fn rejection(&self, host: &ClusterHost, target: &BmcTarget) -> Option<Obstacle> {
        let secret = host.secret()?;
        let rejection = self
            .rejected
            .holds(&secret, &target.credentials.version, &host.place()?)?;
        Some(rejected_before(&secret, rejection))
    }

    /// Checks a BMC.
    ///
    /// # Errors
    /// The API server did not answer, or a person stopped it.
    pub(super) async fn of_target(
        &self,
        host: String,
        bmc: String,
        target: BmcTarget,
        expected: &Expected<'_>,
        stated: Option<SystemUuid>,
        ready: Option<(&ClusterHost, String)>,
    ) -> anyhow::Result<Checked> {
        let line = self.bmcs.line(target, Urgency::Remediation);
        let asked = self.stop.or(ask(&line, &bmc, expected, stated, ready)).await;
        end_session(line).await;
        let (found, verdict) = asked??;
        Ok(Checked {
            host,
            bmc,
            found,
            verdict,
        })
    }
}

type Asked = (Option<Inspection>, Result<String, Obstacle>);

async fn ask(
    line: &BmcHandle,
    bmc: &str,
    expected: &Expected<'_>,
    mut stated: Option<SystemUuid>,
    ready: Option<(&ClusterHost, String)>,
) -> anyhow::Result<Asked> {
    let found = match line.inspect().await {
        Ok(found) => found,
        Err(error) => return Ok((None, Err(obstacle(bmc, &error)))),
    };
    if *expected == Expected::Anybody && stated.is_none() {
        // Who names a BMC by its address alone means whoever is there.
        let said = found.reading.uuid.as_deref().unwrap_or_default();
        stated = SystemUuid::parse(said).ok();
    }
    let shown = found.found(line.target());
    let mut verdict = readiness::judge(&shown, expected, stated.as_ref(), Timestamp::now());
    if let (PowerState::Off, Ok(_), Some((host, node))) = (found.reading.power, &verdict, &ready)
        && let Err(obstacle) = believe(host, node, line, bmc).await?
    {
        verdict = Err(obstacle);
    }
    Ok((Some(found), verdict))
}

/// Whether a BMC can be believed that says Off of the host of a Node that is Ready.
async fn believe(
    host: &ClusterHost,
    node: &str,
    line: &BmcHandle,
    bmc: &str,
) -> anyhow::Result<Result<(), Obstacle>> {
    let (first, last) = Cluster::watch_for_report(host, node).await?;
    Ok(match line.read().await {
        Ok(again) => readiness::off_is_believable(node, &first, &last, again.power),
        Err(error) => Err(obstacle(bmc, &error)),
    })
}

fn not_checked(host: Option<&ClusterHost>, error: &anyhow::Error) -> Checked {
    Checked {
        host: host.map(ClusterHost::label).unwrap_or_default(),
        bmc: host.map(ClusterHost::bmc).unwrap_or_default(),
        found: None,
        verdict: Err(Obstacle::new(
            Reason::BmcNotChecked,
            format!("not checked: {error:#}"),
        )),
    }
}
