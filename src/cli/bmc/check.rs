//! `bmc check`: what would keep a remediation from working, found out before it matters.

use std::io::Write as _;

use anyhow::bail;
use remediator_core::phase::Reason;
use remediator_core::readiness::Expected;
use serde_json::{Value, json};

use crate::cli::bmc::arguments::CheckArguments;
use crate::cli::bmc::asking::{Asker, Checked};
use crate::cli::bmc::cluster::Cluster;
use crate::cli::bmc::{direct, show};
use crate::cli::show::{Output, table};

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
            let asker = Asker::new()?;
            let one = asker.of_target(host, bmc, target, &Expected::Anybody, stated, None);
            vec![one.await?]
        }
        (None, Some(name), _) => {
            let cluster = Cluster::connect().await?;
            let host = cluster.host(arguments.host.namespace.as_deref(), name).await?;
            vec![Asker::new()?.of_host(&cluster, &host).await?]
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
    let (mut done, total) = (0_usize, hosts.len());
    let progress = || {
        done = done.saturating_add(1);
        let _ = write!(std::io::stderr().lock(), "\rchecked {done} of {total}");
    };
    let asker = Asker::new()?;
    let checked = asker.of_hosts(&cluster, &hosts, arguments.parallel, progress);
    let checked = checked.await;
    let _ = writeln!(std::io::stderr().lock());
    checked
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
            table(&headings, &rows)
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
        // There is no turn to wait for, as the advice has it: it was asked for and did not come about.
        Err(obstacle) if obstacle.reason == Reason::BmcNotChecked => obstacle.detail.clone(),
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
