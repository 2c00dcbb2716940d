//! `bmc check`: what would keep a remediation from working, found out before it matters.

use std::io::Write as _;

use anyhow::bail;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::arguments::{CheckArguments, Output};
use super::cluster::{Cluster, ClusterHost};
use super::{direct, farewell, show};
use crate::bmc::{BmcLine, BmcTarget, Bmcs, Inspection, Urgency};
use crate::controller::obstacle;
use crate::core::facts::Obstacle;
use crate::core::identity::SystemUuid;
use crate::core::power::PowerState;
use crate::core::readiness::{self, Expected};

/// One host and what the check found.
struct Checked {
    host: String,
    bmc: String,
    found: Option<Inspection>,
    verdict: Result<String, Obstacle>,
}

/// Checks one host or all.
///
/// # Errors
/// When a host would not get through a remediation, or only by falling back to IPMI; the table is printed
/// before that.
pub(super) async fn check(arguments: &CheckArguments) -> anyhow::Result<()> {
    let checked = match (
        &arguments.host.direct.address,
        &arguments.host.name,
        arguments.all,
    ) {
        (Some(address), _, _) => {
            let target = direct::target(&arguments.host.direct, address)?;
            let (host, bmc) = (target.address.host.to_string(), target.address.to_string());
            let stated = target.expected_uuid.clone();
            vec![of_target(host, bmc, target, &Expected::Anybody, stated, None).await?]
        }
        (None, Some(name), _) => {
            let cluster = Cluster::connect().await?;
            let host = cluster.host(arguments.host.namespace.as_deref(), name).await?;
            vec![of_host(&cluster, &host).await?]
        }
        (None, None, true) => all(arguments).await?,
        (None, None, false) => bail!("name a Machine, Node or BMCEndpoint, a BMC by --address, or --all"),
    };
    print(arguments.show.output, &checked)?;
    let failing = checked.iter().filter(|one| one.verdict.is_err()).count();
    if failing > 0 {
        bail!(
            "{failing} of {} hosts are not ready to be remediated",
            checked.len()
        );
    }
    Ok(())
}

async fn all(arguments: &CheckArguments) -> anyhow::Result<Vec<Checked>> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace(arguments.host.namespace.as_deref());
    let namespace = Some(namespace).filter(|_| !arguments.all_namespaces);
    let hosts = cluster.hosts(namespace).await?;
    if hosts.is_empty() {
        bail!(
            "there is no BMCEndpoint, and no Machine with a BareMetalHost, in {}",
            namespace.map_or_else(
                || "any namespace".to_owned(),
                |namespace| format!("namespace {namespace}; try -A")
            )
        );
    }
    let total = hosts.len();
    let mut checks = stream::iter(hosts.iter().map(|host| of_host(&cluster, host)))
        .buffered(usize::from(arguments.parallel));
    let mut checked = Vec::new();
    while let Some(one) = checks.next().await {
        checked.push(one?);
        let _ = write!(std::io::stderr().lock(), "\rchecked {} of {total}", checked.len());
    }
    let _ = writeln!(std::io::stderr().lock());
    Ok(checked)
}

async fn of_host(cluster: &Cluster, host: &ClusterHost) -> anyhow::Result<Checked> {
    let (label, bmc) = (host.label(), host.bmc());
    let target = match cluster.target(host).await? {
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
    let ready = host.ready_node().map(|node| (cluster, node));
    of_target(label.clone(), bmc, target, &expected, host.stated_uuid(), ready).await
}

async fn of_target(
    host: String,
    bmc: String,
    target: BmcTarget,
    expected: &Expected<'_>,
    mut stated: Option<SystemUuid>,
    ready: Option<(&Cluster, String)>,
) -> anyhow::Result<Checked> {
    let line = Bmcs::default().line(target.clone(), Urgency::Remediation);
    let found = line.inspect().await;
    let (found, mut verdict) = match found {
        Ok(found) => {
            if *expected == Expected::Anybody && stated.is_none() {
                // Who names a BMC by its address alone means whoever is there.
                let said = found.reading.uuid.as_deref().unwrap_or_default();
                stated = SystemUuid::parse(said).ok();
            }
            let shown = found.found(&target);
            let verdict = readiness::judge(&shown, expected, stated.as_ref(), Timestamp::now());
            (Some(found), verdict)
        }
        Err(error) => (None, Err(obstacle(&bmc, &error))),
    };
    let off = found
        .as_ref()
        .is_some_and(|found| found.reading.power == PowerState::Off);
    if let (true, Ok(_), Some((cluster, node))) = (off, &verdict, &ready)
        && let Err(obstacle) = believe(cluster, node, &line, &bmc).await?
    {
        verdict = Err(obstacle);
    }
    farewell(line).await;
    Ok(Checked {
        host,
        bmc,
        found,
        verdict,
    })
}

/// Whether a BMC can be believed that says Off of the host of a Node that is Ready.
async fn believe(
    cluster: &Cluster,
    node: &str,
    line: &BmcLine,
    bmc: &str,
) -> anyhow::Result<Result<(), Obstacle>> {
    let (first, last) = cluster.watch_for_report(node).await?;
    Ok(match line.read().await {
        Ok(again) => readiness::off_is_believable(node, &first, &last, again.power),
        Err(error) => Err(obstacle(bmc, &error)),
    })
}

fn print(output: Output, checked: &[Checked]) -> anyhow::Result<()> {
    match output {
        Output::Text => {
            let headings = [
                "HOST",
                "BMC",
                "LOGIN",
                "TLS",
                "CERTIFICATE ENDS",
                "POWER",
                "READY",
                "WHY",
            ];
            let rows: Vec<Vec<String>> = checked.iter().map(row).collect();
            show::table(&headings, &rows)
        }
        Output::Json => {
            let all: Vec<Value> = checked.iter().map(object).collect();
            writeln!(std::io::stdout().lock(), "{}", Value::Array(all))?;
            Ok(())
        }
    }
}

fn row(one: &Checked) -> Vec<String> {
    let object = object(one);
    let cell = |name: &str| show::text(object.get(name).unwrap_or(&Value::Null));
    let why = match &one.verdict {
        Ok(seen) => seen.clone(),
        Err(obstacle) => format!(
            "{}: {}. {}",
            obstacle.reason.as_str(),
            obstacle.detail,
            obstacle.reason.advice()
        ),
    };
    let ends = cell("expires");
    let ends = ends.split('T').next().unwrap_or_default().to_owned();
    let ready = if one.verdict.is_ok() { "yes" } else { "no" };
    vec![
        one.host.clone(),
        one.bmc.clone(),
        cell("login"),
        cell("tls"),
        ends,
        cell("power"),
        ready.to_owned(),
        why,
    ]
}

fn object(one: &Checked) -> Value {
    let found = one.found.as_ref();
    let certificate = found.and_then(|found| found.certificate.as_ref());
    let login = found.map(|found| show::login(found.login));
    json!({
        "host": one.host,
        "bmc": one.bmc,
        "login": login,
        "tls": found.and_then(|found| found.tls_version),
        "fingerprint": certificate.map(|certificate| certificate.fingerprint.to_string()),
        "expires": certificate.and_then(|certificate| certificate.not_after),
        "power": found.and_then(|found| found.reading.literal.clone()),
        "uuid": found.and_then(|found| found.reading.uuid.clone()),
        "offers": found.and_then(|found| found.offers.clone()),
        "ready": one.verdict.is_ok(),
        "reason": one.verdict.as_ref().err().map(|obstacle| obstacle.reason.as_str()),
        "message": match &one.verdict {
            Ok(seen) => seen,
            Err(obstacle) => &obstacle.detail,
        },
    })
}
