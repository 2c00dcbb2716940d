//! Who is told of changes.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::LONG;

/// Server-sent events, as they come.
pub(super) struct Stream {
    response: reqwest::Response,
    unread: String,
    seen: String,
}

impl Stream {
    pub(super) async fn open(page: &str) -> Result<Self> {
        let response = reqwest::get(format!("{page}/events")).await?.error_for_status()?;
        Ok(Self {
            response,
            unread: String::new(),
            seen: String::new(),
        })
    }

    /// Everything that has come.
    pub(super) fn seen(&self) -> &str {
        &self.seen
    }

    /// The first document that is as wanted, of those that are pushed from now on.
    pub(super) async fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let waiting = async {
            loop {
                let document = self.next().await?;
                if wanted(&document) {
                    return anyhow::Ok(document);
                }
            }
        };
        let told = tokio::time::timeout(LONG, waiting).await;
        told.unwrap_or_else(|_| Err(anyhow::anyhow!("it took too long")))
            .with_context(|| format!("{what} was not pushed; the last was {}", self.last()))
    }

    async fn next(&mut self) -> Result<Value> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let data = event.strip_prefix("data: ").map(serde_json::from_str);
                self.unread = rest.to_owned();
                if let Some(document) = data {
                    return Ok(document?);
                }
                continue;
            }
            let chunk = self.response.chunk().await?.context("the stream ended")?;
            let text = std::str::from_utf8(&chunk).context("a chunk is an event")?;
            self.unread.push_str(text);
            self.seen.push_str(text);
        }
    }

    fn last(&self) -> &str {
        let last = self.seen.trim_end().rsplit_once("\n\n");
        last.map_or(self.seen.as_str(), |(_, last)| last)
    }
}

/// The hosts of a list of the document.
pub(super) fn hosts<'a>(document: &'a Value, list: &str) -> Vec<&'a str> {
    let list = document[list].as_array().into_iter().flatten();
    list.filter_map(|one| one["host"].as_str()).collect()
}
