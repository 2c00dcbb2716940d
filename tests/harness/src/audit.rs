//! The API server's audit log: who asked for what, and what came of it.
//!
//! Audited are service accounts outside `kube-system` and the group [`crate::AUDITED_GROUP`]:
//! writes with the object that was sent, reads without.

use anyhow::Context;
use http::Request;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::namespaces::unique;
use crate::process::{Cursor, LineLog};
use crate::{AUDITED_GROUP, Cluster};

/// Who asks the question that flushes the log; never returned to a caller.
const MARKER: &str = "harness:audit-marker";

/// The policy: the first rule that matches a request decides.
pub(crate) const POLICY: &str = include_str!("../audit-policy.yaml");

/// One request that has been answered.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEvent {
    /// `ResponseComplete`, or `Panic`.
    pub stage: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, ...
    pub verb: String,
    /// Who acted; the impersonated user where there is one.
    pub user: String,
    /// Which credential of theirs, where the server tells: each client certificate has one.
    pub credential: Option<String>,
    /// On what; empty for a path that is no resource.
    pub resource: AuditResource,
    /// When the API server received the request.
    pub request_received: Timestamp,
    /// When it had answered.
    pub stage_timestamp: Timestamp,
    /// The HTTP status of the answer; 0 where there was none.
    pub response_code: u16,
    /// Whether it was asked only what would come of it.
    pub dry_run: bool,
    /// What was sent: the object, or the patch.
    pub request_object: Option<Value>,
}

/// What a request was about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditResource {
    /// API group; empty for the core group.
    #[serde(rename = "apiGroup")]
    pub group: String,
    /// Plural name.
    pub resource: String,
    /// `status`, `binding`, ... or empty.
    pub subresource: String,
    /// Empty for what has no namespace.
    pub namespace: String,
    /// Empty for lists and for objects whose name the server chose.
    pub name: String,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
    #[serde(default)]
    extra: Extra,
}

#[derive(Default, Deserialize)]
struct Extra {
    #[serde(rename = "authentication.kubernetes.io/credential-id", default)]
    credential: Vec<String>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    impersonated_user: Option<User>,
    #[serde(default)]
    object_ref: AuditResource,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
    response_status: Option<Status>,
    request_object: Option<Value>,
}

impl From<Line> for AuditEvent {
    fn from(line: Line) -> Self {
        let user = line.impersonated_user.unwrap_or(line.user);
        Self {
            stage: line.stage,
            verb: line.verb,
            dry_run: line.request_uri.contains("dryRun="),
            user: user.username,
            credential: user.extra.credential.into_iter().next(),
            resource: line.object_ref,
            request_received: line.request_received_timestamp,
            stage_timestamp: line.stage_timestamp,
            response_code: line.response_status.map_or(0, |status| status.code),
            request_object: line.request_object,
        }
    }
}

/// The log of one API server, which writes it to its standard output.
pub(crate) struct AuditLog {
    lines: LineLog,
}

impl AuditLog {
    pub(crate) fn new(lines: LineLog) -> Self {
        Self { lines }
    }

    fn since(&self, from: Cursor) -> anyhow::Result<(Vec<AuditEvent>, Cursor)> {
        let (lines, end) = self.lines.lines_since(from)?;
        let events = lines
            .iter()
            .map(|line| parse(line))
            .filter(|event| event.as_ref().map_or(true, |event| event.user != MARKER))
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok((events, end))
    }
}

fn parse(line: &str) -> anyhow::Result<AuditEvent> {
    let line: Line = serde_json::from_str(line)
        .with_context(|| format!("no audit event: {line}; compare with audit.k8s.io/v1"))?;
    Ok(line.into())
}

impl Cluster {
    /// Now, for a later [`Cluster::audit_since`].
    pub fn audit_cursor(&self) -> anyhow::Result<Cursor> {
        Ok(self.audit()?.lines.end())
    }

    /// What was audited since `from`, complete for every request answered before this call, and
    /// where to go on. `Cursor::default()` is the beginning.
    pub async fn audit_since(&self, from: Cursor) -> anyhow::Result<(Vec<AuditEvent>, Cursor)> {
        self.flush_audit().await?;
        self.audit()?.since(from)
    }

    /// The same, of one user.
    pub async fn audit_of(&self, user: &str, from: Cursor) -> anyhow::Result<Vec<AuditEvent>> {
        let (mut events, _) = self.audit_since(from).await?;
        events.retain(|event| event.user == user);
        Ok(events)
    }

    /// Waits for an event. Bound it with a deadline.
    pub async fn wait_for_audit(
        &self,
        from: Cursor,
        matches: impl Fn(&AuditEvent) -> bool,
    ) -> anyhow::Result<AuditEvent> {
        let found = |line: &str| parse(line).is_ok_and(|event| matches(&event));
        parse(&self.audit()?.lines.wait_for(from, found).await?)
    }

    /// The server writes an event before its handler returns, but an answer may leave a moment
    /// earlier. So ask something ourselves and wait for the trace of it: what was answered before
    /// we asked is in the log by then.
    async fn flush_audit(&self) -> anyhow::Result<()> {
        let log = self.audit()?;
        if log.lines.has_ended() {
            // The server is gone, and all that it wrote is there.
            return Ok(());
        }
        let from = log.lines.end();
        let path = format!("/api/v1/namespaces/default?marker={}", unique("m"));
        let request = Request::get(&path)
            .body(Vec::new())
            .context("the marker's path is plain")?;
        // The answer may be a refusal; that it was asked is all that counts.
        self.client_as(MARKER, &[AUDITED_GROUP])
            .await?
            .send(request.map(kube::client::Body::from))
            .await
            .context("the API server does not answer; see its log")?;
        let asked =
            |line: &str| serde_json::from_str::<Line>(line).is_ok_and(|event| event.request_uri == path);
        log.lines.wait_for(from, asked).await?;
        Ok(())
    }
}
