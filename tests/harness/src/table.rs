//! Lists as `kubectl get` shows them: the server computes the cells, we lay them out.

use anyhow::Context;
use http::Request;
use http::header::ACCEPT;
use serde::Deserialize;
use serde_json::Value;

use crate::Cluster;

/// A server-side table.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    column_definitions: Vec<Column>,
    #[serde(default)]
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Deserialize)]
struct Column {
    name: String,
    /// Above zero: only shown with `-o wide`.
    #[serde(default)]
    priority: i32,
}

#[derive(Debug, Clone, Deserialize)]
struct Row {
    cells: Vec<Value>,
}

impl Cluster {
    /// The table of an API path, for instance `/api/v1/nodes` or one object's path.
    pub async fn get_table(&self, path: &str) -> anyhow::Result<Table> {
        let request = Request::get(path)
            .header(ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io")
            .body(Vec::new())
            .with_context(|| format!("{path} is no API path; begin it with /api or /apis"))?;
        self.client()
            .await?
            .request(request)
            .await
            .with_context(|| format!("no table for {path}; check group, version and resource"))
    }
}

impl Table {
    /// The cells of one column, from the first row to the last; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<Vec<String>> {
        let index = self
            .column_definitions
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))?;
        Some(
            self.rows
                .iter()
                .map(|row| row.cells.get(index).map(cell).unwrap_or_default())
                .collect(),
        )
    }

    /// As `kubectl get` prints it.
    pub fn render(&self) -> String {
        self.lines(false)
    }

    /// As `kubectl get -o wide` prints it.
    pub fn render_wide(&self) -> String {
        self.lines(true)
    }

    fn lines(&self, wide: bool) -> String {
        let shown: Vec<usize> = (0..self.column_definitions.len())
            .filter(|index| {
                wide || self
                    .column_definitions
                    .get(*index)
                    .is_some_and(|column| column.priority == 0)
            })
            .collect();
        let header: Vec<String> = shown
            .iter()
            .filter_map(|index| self.column_definitions.get(*index))
            .map(|column| column.name.to_uppercase())
            .collect();
        let body = self.rows.iter().map(|row| {
            shown
                .iter()
                .map(|index| row.cells.get(*index).map(cell).unwrap_or_default())
                .collect()
        });
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(body).collect();
        let widths: Vec<usize> = (0..shown.len())
            .map(|column| {
                rows.iter()
                    .filter_map(|row| row.get(column))
                    .map(|text| text.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &rows {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            text.push_str(cells.join("   ").trim_end());
            text.push('\n');
        }
        text
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "<none>".to_owned(),
        Value::String(text) if text.is_empty() => "<none>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
