//! The control API: plain HTTP and JSON on loopback, for people and for tests in other languages.
//! Documented in the crate's README.

mod actions;
mod input;
mod machines;
mod metrics;
mod refusal;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, State, rejection::QueryRejection};
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::{Host, Snapshot};
use crate::journal::{Journal, Most, Page};
use crate::oracle::{Breach, Oracle};
use crate::server::Room;
use input::Path;
use refusal::Refusal;

/// What the control API works on.
pub(crate) struct Controlled {
    pub(crate) hosts: Vec<Host>,
    pub(crate) by_name: BTreeMap<String, Host>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) room: Arc<Room>,
    pub(crate) ca_pem: String,
}

impl Controlled {
    /// Which of these rules clients have broken so far.
    pub(crate) fn judge(&self, oracles: &[Oracle]) -> Vec<Breach> {
        let of_each = self.hosts.iter().map(|host| host.judge(oracles));
        let mut breaches: Vec<Breach> = of_each.flatten().collect();
        breaches.sort_by_key(|breach| (breach.seq, breach.oracle));
        breaches
    }

    fn host(&self, name: &str) -> Result<&Host, Refusal> {
        self.by_name.get(name).ok_or_else(|| Refusal::unknown_host(name))
    }
}

type Shared = State<Arc<Controlled>>;

pub(crate) fn router(controlled: Arc<Controlled>) -> Router {
    Router::new()
        .route("/hosts", get(hosts))
        .route("/hosts/{name}", get(host))
        .route("/hosts/{name}/delays", put(actions::delays))
        .route(
            "/hosts/{name}/faults",
            put(actions::set_faults).delete(actions::clear_faults),
        )
        .route(
            "/hosts/{name}/personality-faults",
            delete(actions::clear_personality_faults),
        )
        .route(
            "/hosts/{name}/redfish",
            get(actions::redfish).put(actions::set_redfish),
        )
        .route("/hosts/{name}/power", post(actions::power))
        .route("/hosts/{name}/machines/{system}", get(machines::machine))
        .route("/hosts/{name}/machines/{system}/delays", put(machines::delays))
        .route("/hosts/{name}/machines/{system}/power", post(machines::power))
        .route("/hosts/{name}/credentials", put(actions::credentials))
        .route("/hosts/{name}/certificate", post(actions::certificate))
        .route("/hosts/{name}/journal", get(host_journal))
        .route("/hosts/{name}/bmc", post(actions::bmc))
        .route("/hosts/{name}/mains", post(actions::mains))
        .route("/journal", get(journal))
        .route("/breaches", get(breaches))
        .route("/metrics", get(metrics_text))
        .route("/ca.pem", get(ca_pem))
        .fallback(|| async { Refusal::unknown_path() })
        .method_not_allowed_fallback(|| async { Refusal::wrong_method() })
        .with_state(controlled)
}

async fn hosts(State(controlled): Shared) -> Json<Value> {
    let hosts: Vec<Snapshot> = controlled.hosts.iter().map(Host::snapshot).collect();
    Json(json!({"hosts": hosts}))
}

async fn host(State(controlled): Shared, Path(name): Path<String>) -> Result<Json<Snapshot>, Refusal> {
    Ok(Json(controlled.host(&name)?.snapshot()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    after: u64,
    #[serde(default = "most_entries")]
    limit: usize,
}

/// Entries on a page.
fn most_entries() -> usize {
    10_000
}

/// Entries that are looked at for a page.
const MOST_LOOKED_AT: usize = 100_000;

type WantedQuery = Result<Query<Wanted>, QueryRejection>;

/// What a query asks for, if that can be had.
fn understood(wanted: WantedQuery) -> Result<Wanted, Refusal> {
    let Query(wanted) = wanted.map_err(|rejection| Refusal::bad_query(&rejection))?;
    if wanted.limit == 0 || wanted.limit > most_entries() {
        return Err(Refusal::bad_limit());
    }
    Ok(wanted)
}

/// The page that was asked for, of one host or of all. What is due by now belongs to the answer.
fn page(controlled: &Controlled, host: Option<&Host>, wanted: WantedQuery) -> Result<Json<Page>, Refusal> {
    let Wanted { after, limit } = understood(wanted)?;
    let most = Most {
        entries: limit,
        looked_at: MOST_LOOKED_AT,
    };
    match host {
        Some(host) => host.core.act(|_| ()),
        None => controlled.hosts.iter().for_each(|host| host.core.act(|_| ())),
    }
    Ok(Json(controlled.journal.page(host.map(Host::name), after, most)))
}

async fn host_journal(
    State(controlled): Shared,
    Path(name): Path<String>,
    wanted: WantedQuery,
) -> Result<Json<Page>, Refusal> {
    page(&controlled, Some(controlled.host(&name)?), wanted)
}

async fn journal(State(controlled): Shared, wanted: WantedQuery) -> Result<Json<Page>, Refusal> {
    page(&controlled, None, wanted)
}

/// Every rule of every oracle that was broken so far, by the numbers of their journal entries.
async fn breaches(State(controlled): Shared, wanted: WantedQuery) -> Result<Json<Value>, Refusal> {
    let Wanted { after, limit } = understood(wanted)?;
    let mut breaches = controlled.judge(&Oracle::ALL);
    breaches.retain(|breach| breach.seq > after);
    // One entry can break several rules: they stay on one page, or the next would not have them.
    let last = breaches.get(limit.saturating_sub(1)).map(|breach| breach.seq);
    let end = last.map_or(breaches.len(), |last| {
        breaches.partition_point(|breach| breach.seq <= last)
    });
    let more = end < breaches.len();
    breaches.truncate(end);
    let last = breaches.last().map_or(after, |breach| breach.seq);
    Ok(Json(json!({"breaches": breaches, "lastSeq": last, "more": more})))
}

async fn metrics_text(State(controlled): Shared) -> impl IntoResponse {
    let hosts: Vec<Snapshot> = controlled.hosts.iter().map(Host::snapshot).collect();
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    (
        [(header::CONTENT_TYPE, kind)],
        metrics::text(&hosts, &controlled.judge(&Oracle::ALL), controlled.room.lacked()),
    )
}

async fn ca_pem(State(controlled): Shared) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/x-pem-file")],
        controlled.ca_pem.clone(),
    )
}

/// A request that changes a host, without its route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Faults,
    Redfish,
    Delays,
    Power,
    Bmc,
    Mains,
    Credentials,
}

impl Change {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Faults,
        Self::Redfish,
        Self::Delays,
        Self::Power,
        Self::Bmc,
        Self::Mains,
        Self::Credentials,
    ];
}

/// Changes a host as a request does; whether it was not refused.
pub(crate) async fn change(controlled: Arc<Controlled>, host: &str, change: Change, body: Body) -> bool {
    let (state, path) = (State(controlled), Path(host.to_owned()));
    let changed = match change {
        Change::Faults => actions::set_faults(state, path, body).await,
        Change::Redfish => actions::set_redfish(state, path, body).await,
        Change::Delays => actions::delays(state, path, body).await,
        Change::Power => actions::power(state, path, body).await,
        Change::Bmc => actions::bmc(state, path, body).await,
        Change::Mains => actions::mains(state, path, body).await,
        Change::Credentials => actions::credentials(state, path, body).await,
    };
    changed.is_ok()
}
