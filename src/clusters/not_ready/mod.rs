//! Which Nodes of a cluster are not Ready, by a list at its API server. A watch that lags shows a storm too late; this
//! list is made right before a power-off, once for everyone who asks at about the same time.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Request;
use http::header::ACCEPT;
use kube::Client;
use kube::core::ListMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::api_call::{ShellError, within};
use crate::single_flight::SingleFlight;

/// What is listed.
const LISTING: &str = "listing which Nodes are Ready";

/// Whole Nodes are large, for each names its images. The server prints them as it does for kubectl: a line each
/// (Kubernetes, API Concepts, "Receiving resources as Tables").
const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Lines asked for at once.
const PAGE: u32 = 2_000;

/// The names of Nodes that are not Ready.
pub(crate) type NotReady = Arc<BTreeSet<String>>;

/// Lists the Nodes of one cluster that are not Ready.
pub(crate) type NotReadyLists = SingleFlight<(), NotReady>;

pub(crate) fn lists() -> NotReadyLists {
    SingleFlight::new(LISTING)
}

/// The Nodes that are not Ready, by a list that is begun after this was asked.
///
/// # Errors
/// Also where the server answers something else than lines with the Nodes' names and states.
pub(crate) async fn list(lists: &NotReadyLists, client: &Client) -> Result<NotReady, ShellError> {
    let client = client.clone();
    let list = move |askers: Vec<()>| {
        let client = client.clone();
        async move {
            let found = Arc::new(within(LISTING, pages(&client)).await?);
            Ok(askers.iter().map(|()| Arc::clone(&found)).collect())
        }
    };
    lists.ask((), list).await
}

async fn pages(client: &Client) -> Result<BTreeSet<String>, kube::Error> {
    let mut found = BTreeSet::new();
    let mut from = String::new();
    loop {
        // A token is of base64url (apiserver `pkg/storage/continue.go`).
        let path = format!("/api/v1/nodes?includeObject=None&limit={PAGE}&continue={from}");
        let request = Request::get(path).header(ACCEPT, AS_TABLE).body(Vec::new());
        let request = request.map_err(kube::core::request::Error::BuildRequest);
        let page = client
            .request::<Table>(request.map_err(kube::Error::BuildRequest)?)
            .await?;
        found.extend(page.not_ready().map_err(kube::Error::SerdeError)?);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => from = token,
            None => return Ok(found),
        }
    }
}

/// What kubectl prints (`k8s.io/apimachinery/pkg/apis/meta/v1`, `Table`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    #[serde(default)]
    metadata: ListMeta,
    column_definitions: Vec<Column>,
    rows: Option<Vec<Row>>,
}

#[derive(Debug, Deserialize)]
struct Column {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Row {
    cells: Vec<Value>,
}

impl Table {
    fn not_ready(&self) -> Result<Vec<String>, serde_json::Error> {
        let (name, status) = (self.column("Name")?, self.column("Status")?);
        let mut found = Vec::new();
        for row in self.rows.iter().flatten() {
            let cell = |column: usize| row.cells.get(column).and_then(Value::as_str);
            let (Some(name), Some(status)) = (cell(name), cell(status)) else {
                return Err(unexpected("a row without name and status"));
            };
            // "Ready", "NotReady" or "Unknown", with ",SchedulingDisabled" behind it (`pkg/printers/internalversion`).
            if status.split(',').next() != Some("Ready") {
                found.push(name.to_owned());
            }
        }
        Ok(found)
    }

    fn column(&self, name: &str) -> Result<usize, serde_json::Error> {
        let found = self
            .column_definitions
            .iter()
            .position(|column| column.name == name);
        found.ok_or_else(|| unexpected(&format!("no column {name}")))
    }
}

fn unexpected(what: &str) -> serde_json::Error {
    serde::de::Error::custom(format!("the Table of Nodes has {what}"))
}

#[cfg(test)]
mod tests;
