//! The conversation with one BMC during one remediation: one login, one connection, closed at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use remediator_bmc::{BmcError, BmcHandle, Until};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::journal::{LogEntry, Route, Verb};
use remediator_core::observed::PowerRead;
use remediator_core::phase::Reason;
use remediator_core::power_command::{CommandAnswer, CommandError};
use remediator_core::readiness::BmcReport;
use tokio::time::Instant;

use crate::api_call::ShellError;
use crate::bmc_access::BmcAccess;
use crate::bmc_access::bmc_obstacle::obstacle;
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::opening::{Asker, Opening, rejected_before};
use crate::bmc_access::rejected_credentials::{Rejection, Taker, Trial};

/// When a check comes again that would offer one login too many.
const TOO_MANY: Duration = Duration::from_mins(1);

/// An open conversation with a BMC.
#[derive(Debug)]
pub(crate) struct Conversation {
    line: BmcHandle,
    host: ResolvedHost,
    /// What is journalled of the way to it.
    route: Route,
    /// Whether the BMC took the login in this conversation.
    logged_in: AtomicBool,
    /// The BMC, to which the Secret is offered.
    taker: Taker,
    /// `namespace/name`.
    secret: String,
    /// Session of the journal, until it is known to have ended.
    predecessor: Option<String>,
    version: String,
}

impl Conversation {
    /// Prepares a conversation: reads the Secret now, checks address and policy. Nothing is sent yet. What was begun is
    /// ended also where there is no policy any more.
    ///
    /// # Errors
    /// The outer error is a failed call to the API server, the inner one the obstacle.
    pub(crate) async fn open(
        access: &BmcAccess,
        asker: Asker<'_>,
        host: &ResolvedHost,
        expected_uuid: Option<SystemUuid>,
    ) -> Result<Result<Self, Obstacle>, ShellError> {
        Ok(match Opening::of(access, asker, host, expected_uuid).await? {
            Ok(opening) => Self::of(access, opening).await,
            Err(obstacle) => Err(obstacle),
        })
    }

    /// Whoever had one with the same BMC has closed it by now: else its connections would be used on.
    ///
    /// # Errors
    /// What keeps the BMC from being asked.
    pub(crate) async fn of(access: &BmcAccess, opening: Opening) -> Result<Self, Obstacle> {
        let line = access.bmcs.line(opening.target, opening.urgency);
        let prepared = line.prepare().await;
        prepared.map_err(|error| obstacle(&opening.host.place(), &error))?;
        Ok(Self {
            line,
            host: opening.host,
            route: opening.route,
            logged_in: AtomicBool::new(false),
            taker: opening.taker,
            secret: opening.login.secret,
            version: opening.login.version,
            predecessor: opening.predecessor,
        })
    }

    /// How the BMC was reached for a read.
    pub(crate) fn route(&self, read: &PowerRead) -> Route {
        Route {
            certificate: read.certificate.clone(),
            ..self.route.clone()
        }
    }

    /// Asks for identity and power state. Dated by this process's clock when the request is sent.
    pub(crate) async fn read(&mut self, access: &BmcAccess) -> Result<PowerRead, Obstacle> {
        let may_log_in = self.may_log_in(access);
        let trial = may_log_in.map_err(|rejection| rejected_before(&self.host.secret, rejection))?;
        let read = self.line.read(|| access.clock.now()).await;
        let read = read.map_err(|error| self.judge(access, &error))?;
        self.note_login(access);
        drop(trial);
        self.end_predecessor(read.session.as_deref()).await;
        Ok(read)
    }

    /// The newest entries of the BMC's log about the host that was read last.
    pub(crate) async fn newest_log(&self) -> Vec<LogEntry> {
        self.line.newest_log().await
    }

    /// Asks for everything that a remediation would depend on. The outer error: for how long the BMC is not to be
    /// asked, because it wants to rest or did not answer several times.
    pub(crate) async fn inspect(&self, access: &BmcAccess) -> Result<Result<BmcReport, Obstacle>, Duration> {
        let _trial = match self.may_log_in(access) {
            Ok(trial) => trial,
            Err(Rejection::TooMany) => return Err(TOO_MANY),
            Err(rejection) => return Ok(Err(rejected_before(&self.host.secret, rejection))),
        };
        match self.line.inspect().await {
            Ok(inspection) => {
                self.note_login(access);
                Ok(Ok(inspection.found(self.line.target())))
            }
            Err(BmcError::Resting(left)) => Err(left),
            Err(error) => Ok(Err(self.judge(access, &error))),
        }
    }

    /// Ends the session in which a predecessor may have sent a command: nothing of it comes late, and
    /// it does not stay behind.
    async fn end_predecessor(&mut self, own: Option<&str>) {
        let Some(left) = self.predecessor.take() else {
            return;
        };
        if own == Some(left.as_str()) {
            return;
        }
        match self.line.end_session(left).await {
            Ok(true) => tracing::info!(bmc = %self.host.host.bmc, "ended the session of a predecessor"),
            Ok(false) => {}
            Err(error) => {
                tracing::debug!(bmc = %self.host.host.bmc, %error, "a predecessor's session could not be ended");
            }
        }
    }

    /// Sends one power command, once, and not after the given time. `None`: that was over before its turn came, behind what
    /// else the BMC is asked, and nothing was sent.
    pub(crate) async fn command(
        &mut self,
        access: &BmcAccess,
        verb: Verb,
        until: impl Into<Until>,
    ) -> Option<Result<CommandAnswer, CommandError>> {
        let answer = match self.line.command(verb, until).await {
            Err(BmcError::TooLate) => return None,
            answer => answer,
        };
        Some(answer.map_err(|error| CommandError {
            came: error.command_came(),
            obstacle: self.judge(access, &error),
        }))
    }

    /// Ends the conversation; a session is deleted at the BMC. Answers whether one was.
    pub(crate) async fn close(self) -> bool {
        self.line.close().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the session at the BMC could not be deleted; it ends by itself");
            false
        })
    }

    fn judge(&self, access: &BmcAccess, error: &BmcError) -> Obstacle {
        let obstacle = obstacle(&self.host.place(), error);
        if obstacle.reason == Reason::BmcCredentialsRejected {
            let rejected = &access.rejected;
            rejected.note_rejection(&self.secret, &self.version, &self.taker, Instant::now());
        }
        obstacle
    }

    /// Whether the login may still be offered: others may have been rejected with it since it was read. The answer is held
    /// until the BMC has answered.
    fn may_log_in(&self, access: &BmcAccess) -> Result<Option<Trial>, Rejection> {
        if self.logged_in.load(Ordering::Relaxed) {
            return Ok(None);
        }
        access
            .rejected
            .offer(&self.secret, &self.version, &self.taker, Instant::now())
    }

    fn note_login(&self, access: &BmcAccess) {
        self.logged_in.store(true, Ordering::Relaxed);
        access
            .rejected
            .note_login(&self.secret, &self.version, &self.taker);
    }
}
