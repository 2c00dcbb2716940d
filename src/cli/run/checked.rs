//! What `run` was started with, checked as a whole: a person who mistypes two things is told of both.

use std::net::{Ipv4Addr, SocketAddr};

use tracing_subscriber::EnvFilter;

use crate::cli::arguments::RunArguments;
use crate::cli::run::logging::{Log, LogFormat};

/// The longest name of an object of Kubernetes.
const LONGEST_NAME: usize = 253;
/// The longest name in the field of an event that says who reports it.
/// Source: kubernetes `pkg/apis/core/validation/events.go`, `ReportingInstanceLengthLimit`.
const LONGEST_REPORTER: usize = 128;

/// What was understood.
pub(super) struct Checked {
    pub(super) leader_elect: bool,
    pub(super) metrics_address: Option<SocketAddr>,
    pub(super) status_address: Option<SocketAddr>,
    pub(super) log: Log,
}

/// Understands the arguments; nothing, where one of them is wrong. Beside it, a line for each that is.
pub(super) fn check(arguments: &RunArguments) -> (Option<Checked>, Vec<String>) {
    let mut wrong = Vec::new();
    let mut note = |option: &str, variable: &str, value: &str, expected: String| {
        wrong.push(format!("--{option} ({variable}) is \"{value}\": {expected}"));
    };
    let RunArguments {
        pod_name,
        node_name,
        leader_elect,
        metrics_address,
        status_address,
        log_filter,
        log_format,
    } = arguments;
    if !is_name(pod_name, LONGEST_REPORTER) {
        let expected = format!("expected the name of a Pod, of {LONGEST_REPORTER} characters at the most");
        note("pod-name", "POD_NAME", pod_name, expected);
    }
    if !node_name.is_empty() && !is_name(node_name, LONGEST_NAME) {
        let expected = "expected the name of a Node, or nothing".to_owned();
        note("node-name", "NODE_NAME", node_name, expected);
    }
    let elect = leader_elect.parse().ok();
    if elect.is_none() {
        let expected = "expected true or false".to_owned();
        note("leader-elect", "LEADER_ELECT", leader_elect, expected);
    }
    let address = Some(metrics_address).filter(|text| !text.is_empty());
    let address = address.map(|text| text.parse::<SocketAddr>()).transpose();
    if address.is_err() {
        let expected = "expected an IP address with a port, such as 0.0.0.0:8080 or [::]:8080".to_owned();
        note("metrics-address", "METRICS_ADDRESS", metrics_address, expected);
    }
    let status = Some(status_address).filter(|text| !text.is_empty());
    let status = status.map(|text| on_loopback(text)).transpose();
    if status.is_err() {
        let expected =
            "expected a port, such as 8081, or an IP address with a port, such as 0.0.0.0:8081".to_owned();
        note("status-address", "STATUS_ADDRESS", status_address, expected);
    }
    if let (Ok(Some(metrics)), Ok(Some(status))) = (&address, &status)
        && are_one(*metrics, *status)
    {
        let expected = format!("expected another port than that of --metrics-address, {metrics}");
        note("status-address", "STATUS_ADDRESS", status_address, expected);
    }
    let filter = EnvFilter::try_new(log_filter).map_err(|error| format!(" ({error})"));
    let filter = filter.and_then(|_| {
        let is_empty = log_filter.trim().is_empty();
        (!is_empty).then_some(()).ok_or_else(String::new)
    });
    if let Err(error) = filter {
        let expected =
            format!("expected a log filter, such as info or baremetal_remediator=debug,kube=warn{error}");
        note("log-filter", "LOG_FILTER", log_filter, expected);
    }
    let format = LogFormat::named(log_format);
    if format.is_none() {
        let expected = "expected text or json".to_owned();
        note("log-format", "LOG_FORMAT", log_format, expected);
    }
    let checked = match (elect, (address, status), format) {
        (Some(leader_elect), (Ok(metrics_address), Ok(status_address)), Some(format)) => Some(Checked {
            leader_elect,
            metrics_address,
            status_address,
            log: Log {
                filter: log_filter.clone(),
                format,
            },
        }),
        _ => None,
    };
    (checked, wrong)
}

/// An address with a port, or a port alone: on loopback.
fn on_loopback(text: &str) -> Result<SocketAddr, std::net::AddrParseError> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => text.parse(),
    }
}

/// Whether two listeners cannot both be there.
fn are_one(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip(), other.ip());
    let same = a == b || a.is_unspecified() || b.is_unspecified();
    // 0 is any port that is free.
    same && one.port() == other.port() && one.port() != 0
}

/// One message of all that is wrong.
pub(super) fn listed(wrong: &[String]) -> String {
    let many = if wrong.len() == 1 {
        "setting is"
    } else {
        "settings are"
    };
    let lines = wrong.iter().map(|one| format!("\n  {one}"));
    format!("{} {many} wrong:{}", wrong.len(), lines.collect::<String>())
}

/// Whether it is a DNS subdomain of RFC 1123, as names of Pods and Nodes are.
fn is_name(text: &str, longest: usize) -> bool {
    let is_label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let at_ends = label.starts_with('-') || label.ends_with('-');
        !label.is_empty() && !at_ends && label.bytes().all(known)
    };
    text.len() <= longest && text.split('.').all(is_label)
}
