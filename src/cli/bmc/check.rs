//! `bmc check`: what would keep a remediation from working, found out before it matters.

use std::collections::BTreeMap;

use anyhow::bail;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use remediator_bmc::{BmcHandle, Bmcs, Inspection, Urgency};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::phase::Reason;
use remediator_core::power::PowerState;
use remediator_core::readiness::{self, Expected};
use serde_json::{Value, json};

use crate::bmc_access::bmc_obstacle::obstacle;
use crate::cli::bmc::arguments::CheckArguments;
use crate::cli::bmc::end_session;
use crate::cli::bmc::host::{Cluster, ClusterHost, Host};
use crate::cli::bmc::interruption::{Interrupted, Interruption};
use crate::cli::bmc::show::{self, Facts};
use crate::cli::progress::Progress;
use crate::cli::show::table;
use crate::snapshot::live::watch_for_report;

struct Checked {
    found: Option<Inspection>,
    verdict: Result<String, Obstacle>,
}

impl From<Obstacle> for Checked {
    fn from(obstacle: Obstacle) -> Self {
        Self {
            found: None,
            verdict: Err(obstacle),
        }
    }
}

/// Checks one host or all.
///
/// # Errors
/// When a host would not get through a remediation, or only by falling back to IPMI; the table is printed
/// before that.
pub(super) async fn check(arguments: &CheckArguments) -> anyhow::Result<()> {
    let hosts = if arguments.all {
        all_hosts(arguments).await?
    } else if arguments.host.name.is_none() && arguments.host.direct.address.is_none() {
        bail!("name a Machine, Node or BMCEndpoint, a BMC by --address, or --all");
    } else {
        vec![Host::of(&arguments.host).await?]
    };
    let (mut done, total) = (0_usize, hosts.len());
    let line = Progress::begin();
    let progress = || {
        done = done.saturating_add(1);
        line.say(&format!("checked {done} of {total}"));
    };
    let checked = check_hosts(&hosts, arguments.parallel, progress).await;
    drop(line);
    let checked = checked?;
    let facts: Vec<Facts> = hosts.iter().zip(&checked).map(facts).collect();
    let objects: Vec<Value> = facts.iter().map(show::object).collect();
    if !arguments.host.output.for_programs(&objects)? {
        let rows = facts.iter().zip(&checked);
        let rows: Vec<Vec<String>> = rows.map(|(facts, one)| row(facts, &one.verdict)).collect();
        table(&HEADINGS, &rows)?;
    }
    let failing = checked.iter().filter(|one| one.verdict.is_err()).count();
    if failing > 0 {
        bail!("{failing} of {total} hosts are not ready to be remediated");
    }
    Ok(())
}

async fn all_hosts(arguments: &CheckArguments) -> anyhow::Result<Vec<Host>> {
    let cluster = Cluster::connect(&arguments.host.cluster, arguments.all_namespaces).await?;
    let hosts = cluster.hosts(None).await?;
    if hosts.is_empty() {
        let place = cluster.namespace.as_ref().map_or_else(
            || "any namespace".to_owned(),
            |namespace| format!("namespace {namespace}; try -A"),
        );
        bail!("there is no BMCEndpoint, and no Machine with a BareMetalHost, in {place}");
    }
    Ok(hosts)
}

/// Checks hosts, `parallel` BMCs at once and those behind one BMC one after the other: BMCs have few
/// sessions, and lock accounts after a few wrong logins. Answers in the order of the hosts; one that
/// could not be checked does not keep the others from it.
async fn check_hosts(
    hosts: &[Host],
    parallel: u16,
    mut progress: impl FnMut(),
) -> anyhow::Result<Vec<Checked>> {
    let (stop, bmcs) = (Interruption::watch()?, Bmcs::default());
    let mut services: BTreeMap<String, Vec<(usize, &Host)>> = BTreeMap::new();
    for (index, host) in hosts.iter().enumerate() {
        let service = host.in_cluster().and_then(ClusterHost::service);
        let service = service.unwrap_or_else(|| format!("unknown {index}"));
        services.entry(service).or_default().push((index, host));
    }
    let one_after_the_other = |hosts: Vec<(usize, _)>| {
        let asked = async |(index, host)| (index, check_host(&stop, &bmcs, host).await);
        Box::pin(stream::iter(hosts).then(asked))
    };
    let services = stream::iter(services.into_values().map(one_after_the_other));
    let mut checks = services.flatten_unordered(usize::from(parallel));
    let (mut checked, mut interrupted) = (BTreeMap::new(), None);
    // To the end also when it is stopped: what is under way ends its session first.
    while let Some((index, one)) = checks.next().await {
        let one = one.unwrap_or_else(|error| {
            interrupted = interrupted.or(error.downcast_ref::<Interrupted>().copied());
            Obstacle::new(Reason::BmcNotChecked, format!("not checked: {error:#}")).into()
        });
        checked.insert(index, one);
        progress();
    }
    match interrupted {
        Some(interrupted) => Err(interrupted.into()),
        None => Ok(checked.into_values().collect()),
    }
}

async fn check_host(stop: &Interruption, bmcs: &Bmcs, host: &Host) -> anyhow::Result<Checked> {
    let target = match stop.or(host.target()).await?? {
        Ok(target) => target,
        Err(obstacle) => return Ok(obstacle.into()),
    };
    let version = target.credentials.version.clone();
    let line = bmcs.line(target, Urgency::Remediation);
    let asked = stop.or(ask(&line, host)).await;
    end_session(line).await;
    let mut checked = asked??;
    if let Some(host) = host.in_cluster() {
        host.note_login(&version, &checked.verdict, checked.found.is_some());
        checked.verdict = checked
            .verdict
            .and_then(|seen| host.subject.accepted.clone().map(|()| seen));
    }
    Ok(checked)
}

async fn ask(line: &BmcHandle, host: &Host) -> anyhow::Result<Checked> {
    let found = match line.inspect().await {
        Ok(found) => found,
        Err(error) => return Ok(obstacle(&host.bmc, &error).into()),
    };
    let (expected, mut stated) = (host.expected(), host.stated_uuid());
    if expected == Expected::Anybody && stated.is_none() {
        // Who names a BMC by its address alone means whoever is there.
        stated = found
            .reading
            .uuid
            .as_deref()
            .and_then(|uuid| SystemUuid::parse(uuid).ok());
    }
    let shown = found.found(line.target());
    let is_only_reset = host.is_only_reset();
    let mut verdict = readiness::judge(
        &shown,
        &expected,
        stated.as_ref(),
        is_only_reset,
        Timestamp::now(),
    );
    // Off of a Node that is Ready is not believed before the Node was watched.
    if let (PowerState::Off, Ok(_), Some((nodes, node))) = (found.reading.power, &verdict, host.ready_node())
    {
        let (first, last) = watch_for_report(&nodes.client, node).await?;
        let again = line
            .read(Timestamp::now)
            .await
            .map_err(|error| obstacle(&host.bmc, &error));
        let believed = again.and_then(|again| readiness::off_is_believable(node, &first, &last, again.power));
        verdict = verdict.and_then(|seen| believed.map(|()| seen));
    }
    Ok(Checked {
        found: Some(found),
        verdict,
    })
}

const HEADINGS: [&str; 8] = [
    "HOST",
    "BMC",
    "LOGIN",
    "TLS",
    "CERTIFICATE ENDS",
    "POWER",
    "READY",
    "WHY",
];

fn facts((host, one): (&Host, &Checked)) -> Facts {
    let mut facts = show::facts(host, one.found.as_ref());
    let obstacle = one.verdict.as_ref().err();
    facts.extend([
        ("ready", json!(one.verdict.is_ok())),
        ("reason", json!(obstacle.map(|obstacle| obstacle.reason.as_str()))),
        (
            "message",
            json!(one.verdict.as_ref().unwrap_or_else(|obstacle| &obstacle.detail)),
        ),
    ]);
    facts
}

fn row(facts: &Facts, verdict: &Result<String, Obstacle>) -> Vec<String> {
    let why = match verdict {
        Ok(seen) => seen.clone(),
        // There is no turn to wait for, as the advice has it: it was asked for and did not come about.
        Err(obstacle) if obstacle.reason == Reason::BmcNotChecked => obstacle.detail.clone(),
        Err(obstacle) => format!("{}: {}", obstacle.reason.as_str(), obstacle.for_people()),
    };
    let cells = ["host", "bmc", "login", "tls", "expires", "power"].map(|name| {
        let fact = facts.iter().find(|(fact, _)| *fact == name);
        let text = show::text(fact.map_or(&Value::Null, |(_, value)| value));
        match text.split_once('T') {
            Some((date, _)) if name == "expires" => date.to_owned(),
            Some(_) | None => text,
        }
    });
    let ready = if verdict.is_ok() { "yes" } else { "no" };
    cells.into_iter().chain([ready.to_owned(), why]).collect()
}
