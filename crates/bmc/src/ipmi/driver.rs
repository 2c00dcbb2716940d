//! The driver: readings and commands over sessions that come and go. Power commands are sent once.
//!
//! UDP may deliver a datagram late, and a power-down that arrives after a later power-up would be a
//! disaster. So Chassis Control is never sent again by itself, and after a command that was not answered no other
//! is sent until the BMC has confirmed that the session is closed, or must have ended it by itself. Repeating the
//! same rqSeq instead would rest on the BMC remembering answered requests, which the specification does not
//! demand of it (section 6.12.14 speaks of a time-out only) and OpenIPMI's simulator does not do.

use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::crypto::CipherSuite;
use super::error::IpmiError;
use super::link::{Repeat, Unanswered, after};
use super::session::Session;
use super::status::{chassis_status, last_power_event, verdict};
use super::wire::Request;
use super::wire::net_fn::CHASSIS;
use crate::address::Privilege;
use crate::credentials::Credentials;
use crate::error::BmcError;
use crate::{
    BmcTarget, CommandAnswer, Deadlines, Inspection, Login, PowerRead, Protocol, Until, Verb, dated,
};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::HostState;

/// How long the end of a session is waited for at most.
const CLOSING: Duration = Duration::from_secs(3);

const GET_CHASSIS_STATUS: Request<'static> = Request::new(CHASSIS, 0x01, &[]);
const CHASSIS_CONTROL: u8 = 0x02;

/// What the system is called: IPMI has no names, and there is one behind a BMC.
const SYSTEM: &str = "ipmi";

/// A conversation with one BMC about the one system behind it.
pub(crate) struct Ipmi {
    /// Of the one address that answered, once one did.
    pub(super) peers: Vec<SocketAddr>,
    pub(super) credentials: Credentials,
    pub(super) privilege: Privilege,
    pub(super) expected: Option<SystemUuid>,
    pub(super) deadlines: Deadlines,
    /// The one that worked last.
    pub(super) suite: Option<CipherSuite>,
    /// What the BMC said when it rejected the login, which is not tried again.
    pub(super) rejected: Option<String>,
    live: Option<Live>,
    /// Whom commands reach: out of the last reading, gone when a reading failed.
    control: Option<Control>,
    /// A command was sent in the live session and not answered.
    unanswered: bool,
    /// A session in which a command may still be under way, and when the BMC will have ended it by
    /// itself.
    suspect: Option<(Session, Instant)>,
}

/// What a reading said about commanding the system it came from.
struct Control {
    uuid: Option<SystemUuid>,
}

/// An open session and what was read in it once.
pub(super) struct Live {
    pub(super) session: Session,
    pub(super) uuid: Option<String>,
}

impl Ipmi {
    /// Checks the credentials against IPMI's limits and all addresses. Sends nothing to the BMC.
    pub(crate) async fn prepare(target: BmcTarget, deadlines: Deadlines) -> Result<Self, BmcError> {
        target
            .credentials
            .check_for_ipmi()
            .map_err(BmcError::CredentialsUnusable)?;
        let address = &target.address;
        let peers = target.allowed.resolve(&address.host, address.port).await?;
        Self::prepare_at(target, peers, deadlines)
    }

    /// The same with addresses that were resolved and checked before.
    pub(crate) fn prepare_at(
        target: BmcTarget,
        peers: Vec<SocketAddr>,
        deadlines: Deadlines,
    ) -> Result<Self, BmcError> {
        target
            .credentials
            .check_for_ipmi()
            .map_err(BmcError::CredentialsUnusable)?;
        Ok(Self {
            peers,
            credentials: target.credentials,
            privilege: target.address.privilege,
            expected: target.expected_uuid,
            deadlines,
            suite: None,
            rejected: None,
            live: None,
            control: None,
            unanswered: false,
            suspect: None,
        })
    }

    /// Reads the chassis status, after logging in if that has not happened yet. What may be commanded is not asked:
    /// power down and up are not optional (section 28.3), and the login has raised the privilege for them.
    pub(crate) async fn inspect(&mut self) -> Result<Inspection, BmcError> {
        // Until this reading has succeeded, no command has anything to stand on.
        self.control = None;
        let deadlines = self.deadlines;
        let (reading, sent) = deadlines.for_reading(self.read_now()).await?;
        let suite = self.suite.ok_or(BmcError::NotRead)?;
        let uuid = reading.uuid.as_deref();
        self.control = Some(Control {
            uuid: uuid.and_then(|uuid| SystemUuid::parse(uuid).ok()),
        });
        Ok(Inspection {
            reading,
            sent,
            took: sent.elapsed(),
            login: Login::CipherSuite(suite.id()),
            certificate: None,
            tls_version: None,
            offers: None,
        })
    }

    async fn read_now(&mut self) -> Result<(PowerRead, Instant), BmcError> {
        if self.doubt() && self.settle(after(CLOSING)).await.is_err() {
            tracing::debug!("the session of an unanswered power command could not be closed yet");
        }
        if self.live.as_ref().is_some_and(|live| live.session.is_stale()) {
            self.live = None;
        }
        if let Some(live) = self.live.take() {
            // Its BMC may have restarted since, and answers nothing then.
            let soon = self.deadlines.request.checked_div(3).unwrap_or_default();
            match self.read_in(live, after(soon)).await {
                Err(BmcError::NoAnswer(_)) => {}
                other => return other,
            }
        }
        let live = self.log_in().await?;
        self.read_in(live, after(self.deadlines.request)).await
    }

    /// One reading, and when it was first asked for: an answer may be one to the first transmission. A session in which
    /// there was no answer is not kept.
    async fn read_in(&mut self, mut live: Live, deadline: Instant) -> Result<(PowerRead, Instant), BmcError> {
        let sent = Instant::now();
        let asked = live
            .session
            .ask(&GET_CHASSIS_STATUS, deadline, Repeat::UntilAnswered);
        let answer = asked
            .await
            .map_err(|unanswered| unanswered.or(BmcError::NoAnswer))?;
        let uuid = live.uuid.clone();
        self.live = Some(live);
        let (power, literal) = chassis_status(&answer)?;
        let reading = PowerRead {
            command_failure: None,
            protocol: Protocol::Ipmi,
            power,
            literal: Some(literal.to_owned()),
            uuid,
            serial: None,
            system: SYSTEM.to_owned(),
            session: None,
            fallback: None,
            certificate: None,
            host: HostState {
                last_power_event: last_power_event(&answer),
                ..HostState::default()
            },
            began: dated(sent),
            ended: Timestamp::now(),
        };
        Ok((reading, sent))
    }

    /// Sends a command once to the BMC of the last reading, in its session.
    pub(crate) async fn command(&mut self, command: Verb, until: Until) -> Result<CommandAnswer, BmcError> {
        self.not_rejected()?;
        self.doubt();
        let control = self.control.as_ref().ok_or(BmcError::NotRead)?;
        BmcError::check_identity(self.expected.as_ref(), control.uuid.as_ref())?;
        self.settle(until.at()).await?;
        // An ended session answers nothing, and then nobody would know what became of the command.
        let live = self.live.as_mut().filter(|live| !live.session.is_stale());
        let live = live.ok_or(BmcError::NotRead)?;
        if until.is_over() {
            return Err(BmcError::TooLate);
        }
        let data: &[u8] = match command {
            Verb::PowerOff => &[0x00],
            Verb::PowerOn => &[0x01],
            Verb::Restart => &[0x03],
        };
        let request = Request::new(CHASSIS, CHASSIS_CONTROL, data);
        // Before the first await: this future may be dropped at any of them.
        self.unanswered = true;
        let deadline = after(self.deadlines.request);
        let answer = live.session.ask(&request, deadline, Repeat::Never).await;
        self.unanswered = matches!(answer, Err(Unanswered::Silent(_)));
        let outcome = match answer {
            Ok(answer) => verdict(answer.completion),
            Err(unanswered) => Err(unanswered.or(BmcError::UnknownOutcome)),
        };
        if outcome.is_err() {
            self.control = None;
        }
        outcome
    }

    /// Until when a command that was not answered may still arrive, unless its session is closed before.
    pub(crate) fn under_way_until(&self) -> Option<Instant> {
        let live = self.live.as_ref().filter(|_| self.unanswered);
        let suspect = self.suspect.as_ref().map(|(_, ends)| *ends);
        live.map(|live| live.session.ends_by_itself()).max(suspect)
    }

    /// Ends the session, if there is one. Answers whether there was one.
    pub(crate) async fn close(mut self) -> Result<bool, BmcError> {
        self.doubt();
        let live = self.live.take().map(|live| live.session);
        let mut closed = Ok(false);
        let suspect = self.suspect.take().map(|(session, _)| session);
        for mut session in [live, suspect].into_iter().flatten() {
            let outcome = session.close(self.closing()).await;
            closed = closed.and_then(|_| outcome.map(|()| true));
        }
        closed
    }

    /// Until when the end of a session is waited for.
    fn closing(&self) -> Instant {
        after(self.deadlines.request.min(CLOSING))
    }

    /// Puts the session aside in which a command was not answered. Answers whether there was one.
    fn doubt(&mut self) -> bool {
        let unanswered = std::mem::take(&mut self.unanswered);
        if unanswered {
            self.suspect = self.live.take().map(|live| {
                let ends = live.session.ends_by_itself();
                (live.session, ends)
            });
        }
        unanswered
    }

    /// Makes sure that no earlier command can still arrive.
    async fn settle(&mut self, not_after: Instant) -> Result<(), BmcError> {
        let deadline = self.closing().min(not_after);
        let Some((session, ends)) = &mut self.suspect else {
            return Ok(());
        };
        if Instant::now() < *ends && session.close(deadline).await.is_err() {
            return Err(IpmiError::EarlierCommandUnderWay.into());
        }
        self.suspect = None;
        Ok(())
    }

    pub(super) fn not_rejected(&self) -> Result<(), BmcError> {
        match &self.rejected {
            Some(text) => Err(IpmiError::LoginRejected(text.clone()).into()),
            None => Ok(()),
        }
    }
}
