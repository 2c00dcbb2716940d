//! Redfish (DMTF DSP0266 and DSP0268), as far as power control needs it.
//!
//! Requests of a whole remediation: GET system, POST ForceOff, GET, GET, POST On, GET; a session adds its login
//! and logout. A BMC that answers with a task is asked for it while the power is not what was commanded. Where the system
//! has a log, its newest entries are three GETs more, or four, once the host is on.

mod command;
mod log;
mod login;
mod messages;
mod reading;
mod resource;
mod select;
mod task;
#[cfg(test)]
mod tests;
mod wire;

use std::net::SocketAddr;

use http::{Method, StatusCode};

pub use self::reading::{ReadBody, read_body};

use self::login::LoginState;
use self::resource::ResetAction;
use self::select::SystemRead;
use self::task::Followed;
use self::wire::{Answer, Call, SendFailure, Wire};
use super::address::{ResourcePath, Transport};
use super::credentials::Credentials;
use super::error::BmcError;
use super::inspection::Scope;
use super::redact::Redactor;
use super::tls::ClientSide;
use super::{AuthMethod, BmcTarget, Deadlines, Inspection, LONGEST_SESSION, Login};
use remediator_core::identity::SystemUuid;

/// A conversation with one Redfish service about one of its systems.
pub(super) struct Redfish {
    wire: Wire,
    credentials: Credentials,
    auth: AuthMethod,
    expected: Option<SystemUuid>,
    known: Option<ResourcePath>,
    deadlines: Deadlines,
    redactor: Redactor,
    standing: LoginState,
    /// A session that was forgotten and may still be there.
    left: Option<ResourcePath>,
    /// Out of the address, or chosen once and then kept.
    system: Option<ResourcePath>,
    /// Where its logs are: out of the last reading.
    logs: Option<ResourcePath>,
    /// Where commands go: out of the last reading, gone when a reading failed.
    control: Option<Control>,
    /// The command whose task is asked for.
    followed: Option<Followed>,
}

/// What a reading said about commanding the system it came from.
struct Control {
    uuid: Option<SystemUuid>,
    reset: Option<ResetAction>,
}

impl Redfish {
    /// Resolves and checks addresses and builds the TLS side. Sends nothing to the BMC.
    pub(super) async fn prepare(target: BmcTarget, deadlines: Deadlines) -> Result<Self, BmcError> {
        let address = &target.address;
        let peers = target.allowed.resolve(&address.host, address.port).await?;
        let tls = match target.address.transport {
            Transport::Https => Some(ClientSide::new(&target.trust).await?),
            Transport::Http => None,
        };
        Ok(Self {
            wire: Wire::new(&target.address, peers, tls, deadlines)?,
            redactor: Redactor::new(&target.credentials),
            credentials: target.credentials,
            auth: target.auth,
            expected: target.expected_uuid,
            known: target.known_system,
            deadlines,
            standing: LoginState::New,
            left: None,
            system: target.address.system_path,
            logs: None,
            control: None,
            followed: None,
        })
    }

    /// Where the service is: the checked addresses of its host, or the one that answered.
    pub(super) fn peers(&self) -> &[SocketAddr] {
        &self.wire.peers
    }

    /// Reads the system, and what can be commanded or how the task of the last command stands.
    pub(super) async fn inspect(&mut self, scope: Scope) -> Result<Inspection, BmcError> {
        // Until this reading has succeeded, no command has anything to stand on.
        self.control = None;
        let deadlines = self.deadlines;
        let (mut reading, control, sent) = deadlines.for_reading(self.read_now()).await?;
        let took = sent.elapsed();
        let protection = self.wire.protection.clone();
        let certificate = protection
            .as_ref()
            .and_then(|protection| protection.certificate.clone());
        reading.certificate = certificate.as_ref().map(|shown| shown.fingerprint.to_string());
        let reset = control.reset.clone();
        self.control = Some(control);
        let offers = match scope {
            Scope::Power => {
                self.tell_failure(&mut reading).await;
                None
            }
            Scope::Everything => {
                let reset = reset.ok_or(BmcError::MissingResetTarget)?;
                match reset.inline() {
                    Some(inline) => Some(inline.to_vec()),
                    None => self.offered(&reset).await,
                }
            }
        };
        let word = |word: String| self.redactor.shorten(&word, select::MAX_WORD);
        Ok(Inspection {
            reading,
            sent,
            took,
            login: match &self.standing {
                LoginState::Session(_) => Login::Session,
                LoginState::New | LoginState::Basic { .. } | LoginState::Rejected(_) => Login::Basic,
            },
            tls_version: protection.as_ref().map(|protection| protection.version),
            certificate,
            offers: offers.map(|offers| offers.into_iter().map(word).collect()),
        })
    }

    async fn read_now(&mut self) -> Result<SystemRead, BmcError> {
        // Here, so that what a login answers is never taken for what a system answers.
        self.log_in().await?;
        if let Some(path) = self.system.clone() {
            return self.read_system(&path).await;
        }
        let (path, reading) = self.select().await?;
        self.system = Some(path);
        Ok(reading)
    }

    /// The place of the session we are in, to be journalled: none that carries a secret, or that a successor
    /// could not tell from another resource.
    fn session_path(&self) -> Option<String> {
        let LoginState::Session(session) = &self.standing else {
            return None;
        };
        let path = session.path.as_ref().filter(|path| login::is_session(path))?;
        let path = path.to_string();
        (path.len() <= LONGEST_SESSION && !self.redactor.spots(&path)).then_some(path)
    }

    /// Ends the session, if there is one. Answers whether there was one.
    pub(super) async fn close(mut self) -> Result<bool, BmcError> {
        let LoginState::Session(session) = &self.standing else {
            return Ok(false);
        };
        let lost = || {
            foreign(
                "session",
                "has no usable location, so that it stays until it times out",
            )
        };
        let path = session.path.clone().ok_or_else(lost)?;
        // 401 and 404: it has ended by itself.
        self.delete(&path).await?;
        Ok(true)
    }

    /// Ends a session of a predecessor. Answers whether it was still there. The place comes out of an object
    /// that others than the daemon may be able to write, and there are resources whose deletion loses data.
    pub(super) async fn end_session(&mut self, path: &str) -> Result<bool, BmcError> {
        let path = own("session", Some(path))?;
        if !login::is_session(&path) {
            return Err(foreign("session", "is in no collection of sessions"));
        }
        self.log_in().await?;
        Ok(self.delete(&path).await?.is_success())
    }

    async fn delete(&mut self, path: &ResourcePath) -> Result<StatusCode, BmcError> {
        let answer = self.send_again(Method::DELETE, path).await?;
        if answer.status.is_success() || matches!(answer.status.as_u16(), 401 | 404) {
            Ok(answer.status)
        } else {
            Err(self.complaint(&answer))
        }
    }

    /// GET with authorization. A session that ended is renewed once; a rejected Basic login, and a
    /// rejected renewal, are final.
    async fn get(&mut self, path: &ResourcePath) -> Result<Answer, BmcError> {
        self.log_in().await?;
        let mut answer = self.send_again(Method::GET, path).await?;
        if answer.status.as_u16() == 401 && matches!(self.standing, LoginState::Session(_)) {
            self.forget_session();
            self.log_in().await?;
            answer = self.send_again(Method::GET, path).await?;
        }
        let status = answer.status.as_u16();
        if status == 401 || status == 403 && matches!(self.standing, LoginState::Basic { accepted: false }) {
            return Err(self.reject(&answer));
        }
        if !answer.status.is_success() {
            return Err(self.complaint(&answer));
        }
        if let Err(failure) = &answer.body {
            return Err(failure.clone());
        }
        if answer.said().denies_success() {
            return Err(self.complaint(&answer));
        }
        // The root answers whoever asks (DSP0266, "Resources that do not require authentication").
        if let LoginState::Basic { accepted } = &mut self.standing {
            *accepted |= path.as_str() != select::ROOT;
        }
        Ok(answer)
    }

    /// Sends a request that changes nothing when it is sent twice, once more if a kept connection turns
    /// out to be dead. Never a POST.
    async fn send_again(&mut self, method: Method, path: &ResourcePath) -> Result<Answer, BmcError> {
        let call = Call::new(method, path, self.authorization()?);
        let mut answer = self.wire.exchange(&call).await;
        if answer.as_ref().is_err_and(SendFailure::is_of_a_kept_connection) {
            answer = self.wire.exchange(&call).await;
        }
        answer.map_err(read_failure)
    }

    /// Reads a resource out of an answer to [`Self::get`].
    fn decode<Resource: serde::de::DeserializeOwned>(answer: &Answer) -> Result<Resource, BmcError> {
        resource::decode(answer.bytes()).map_err(|found| BmcError::NotRedfish(found.to_owned()))
    }

    /// The error that an answer other than success amounts to.
    fn complaint(&self, answer: &Answer) -> BmcError {
        let status = answer.status.as_u16();
        if answer.status.is_redirection() {
            let to = match answer.location() {
                Some(location) if self.wire.own_path(location).is_some() => {
                    self.redactor.shorten(location, 100)
                }
                Some(_) => "another place".to_owned(),
                None => "nowhere".to_owned(),
            };
            return BmcError::Redirected(status, to);
        }
        let said = answer.said();
        let text = said.text(&self.redactor);
        if status == 403 {
            return BmcError::Forbidden(text);
        }
        BmcError::Http {
            status,
            text,
            busy: said.says_not_ready() || said.says_sessions_full(),
            retry_after: answer.retry_after(),
        }
    }
}

/// What a failed read amounts to: nothing was changed, whatever happened.
fn read_failure(failure: SendFailure) -> BmcError {
    match failure {
        SendFailure::NotSent { error, .. } => error,
        SendFailure::Broken { cause, .. } | SendFailure::TimedOut(cause) => BmcError::NoAnswer(cause),
        SendFailure::Garbage(cause) => BmcError::NotRedfish(format!("no HTTP ({cause})")),
    }
}

/// A reference made by the BMC, if it is a path on the BMC itself.
fn own(what: &'static str, reference: Option<&str>) -> Result<ResourcePath, BmcError> {
    let reference = reference.ok_or_else(|| foreign(what, "is missing"))?;
    ResourcePath::parse(reference).map_err(|problem| foreign(what, &problem.to_string()))
}

fn foreign(what: &'static str, problem: &str) -> BmcError {
    BmcError::ForeignReference(what, problem.to_owned())
}
