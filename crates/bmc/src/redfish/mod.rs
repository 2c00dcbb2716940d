//! Redfish (DMTF DSP0266 and DSP0268), as far as power control needs it.
//!
//! Requests of a whole remediation: GET system, POST ForceOff, GET, GET, POST On, GET. Nothing is
//! asked that the address already says; a session adds its login and logout. A BMC that answers with a task
//! is asked for it while the power is not what it was told.

mod command;
mod login;
mod messages;
mod reading;
mod resource;
mod select;
mod task;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::net::SocketAddr;

use http::{Method, StatusCode};
use hyper::body::Bytes;
use tokio::time::timeout;

pub use self::reading::{ReadBody, read_body};

use self::login::LoginState;
use self::messages::Messages;
use self::resource::ResetAction;
use self::task::Followed;
use self::wire::{Answer, Call, SendFailure, Wire};
use super::address::{ResourcePath, Transport};
use super::credentials::Credentials;
use super::error::BmcError;
use super::redact::Redactor;
use super::tls::ClientSide;
use super::{AuthMethod, BmcTarget, Deadlines, Inspection, LONGEST_SESSION, Login, PowerRead};
use remediator_core::identity::SystemUuid;

/// A conversation with one Redfish service about one of its systems.
pub(super) struct Redfish {
    wire: Wire,
    credentials: Credentials,
    auth: AuthMethod,
    expected: Option<SystemUuid>,
    deadlines: Deadlines,
    redactor: Redactor,
    standing: LoginState,
    /// A session that was forgotten and may still be there.
    left: Option<ResourcePath>,
    /// Out of the address, or chosen once and then kept.
    system: Option<ResourcePath>,
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

impl fmt::Debug for Redfish {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Redfish")
            .field("system", &self.system)
            .finish_non_exhaustive()
    }
}

impl Redfish {
    /// Resolves and checks addresses and builds the TLS side. Sends nothing to the BMC.
    pub(super) async fn prepare(target: BmcTarget, deadlines: Deadlines) -> Result<Self, BmcError> {
        let peers = target
            .allowed
            .resolve(&target.address.host, target.address.port)
            .await?;
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
            deadlines,
            standing: LoginState::New,
            left: None,
            system: target.address.system_path,
            control: None,
            followed: None,
        })
    }

    /// Where the service is: the checked addresses of its host, or the one that answered.
    pub(super) fn peers(&self) -> &[SocketAddr] {
        &self.wire.peers
    }

    /// Reads the system, and how the task of the last command stands while the power is not what that
    /// wanted.
    pub(super) async fn read(&mut self) -> Result<PowerRead, BmcError> {
        let mut reading = self.read_power().await?;
        self.tell_failure(&mut reading).await;
        Ok(reading)
    }

    /// Reads the system, after logging in and choosing it if that has not happened yet.
    async fn read_power(&mut self) -> Result<PowerRead, BmcError> {
        // Until this reading has succeeded, no command has anything to stand on.
        self.control = None;
        let limit = self.deadlines.operation;
        let (reading, control) =
            timeout(limit, self.read_now())
                .await
                .map_err(|_| BmcError::NoAnswer {
                    cause: format!("reading it took longer than {limit:?}"),
                })??;
        self.control = Some(control);
        Ok(reading)
    }

    async fn read_now(&mut self) -> Result<(PowerRead, Control), BmcError> {
        // Here, so that what a login answers is never taken for what a system answers.
        self.log_in().await?;
        if let Some(path) = self.system.clone() {
            return self.read_system(&path).await;
        }
        let (path, reading) = self.select().await?;
        self.system = Some(path);
        Ok(reading)
    }

    /// Reads the system, and what its reset action offers.
    pub(super) async fn inspect(&mut self) -> Result<Inspection, BmcError> {
        let reading = self.read_power().await?;
        let reset = self.control.as_ref().and_then(|control| control.reset.clone());
        let offers = match reset {
            None => return Err(BmcError::MissingResetTarget),
            Some(reset) => match reset.offered.clone().filter(|offered| !offered.is_empty()) {
                Some(inline) => Some(inline),
                None => self.offered(&reset).await,
            },
        };
        let word = |word: String| self.redactor.shorten(&word, select::MAX_WORD);
        let protection = self.wire.protection.clone();
        Ok(Inspection {
            reading,
            login: match &self.standing {
                LoginState::Session(_) => Login::Session,
                LoginState::New | LoginState::Basic { .. } | LoginState::Rejected { .. } => Login::Basic,
            },
            tls_version: protection.as_ref().map(|protection| protection.version),
            certificate: protection.and_then(|protection| protection.certificate),
            offers: offers.map(|offers| offers.into_iter().map(word).collect()),
        })
    }

    /// The place of the session we are in, to be journalled: none that carries a secret, or that a successor
    /// could not tell from another resource.
    fn session_path(&self) -> Option<String> {
        match &self.standing {
            LoginState::Session(session) => {
                let path = session.path.as_ref().filter(|path| login::is_session(path));
                let path = path.map(ToString::to_string);
                path.filter(|path| path.len() <= LONGEST_SESSION && !self.redactor.spots(path))
            }
            LoginState::New | LoginState::Basic { .. } | LoginState::Rejected { .. } => None,
        }
    }

    /// Ends the session, if there is one. Answers whether there was one.
    pub(super) async fn close(mut self) -> Result<bool, BmcError> {
        let LoginState::Session(session) = &self.standing else {
            return Ok(false);
        };
        let Some(path) = session.path.clone() else {
            return Err(BmcError::ForeignReference {
                what: "session",
                problem: "has no usable location, so that it stays until it times out".to_owned(),
            });
        };
        // 401 and 404: it has ended by itself.
        self.delete(&path).await?;
        Ok(true)
    }

    /// Ends a session of a predecessor. Answers whether it was still there. The place comes out of an object
    /// that others than the daemon may be able to write, and there are resources whose deletion loses data.
    pub(super) async fn end_session(&mut self, path: &str) -> Result<bool, BmcError> {
        let path = own("session", Some(path))?;
        if !login::is_session(&path) {
            return Err(BmcError::ForeignReference {
                what: "session",
                problem: "is in no collection of sessions".to_owned(),
            });
        }
        self.log_in().await?;
        Ok(self.delete(&path).await?.is_success())
    }

    pub(super) async fn delete(&mut self, path: &ResourcePath) -> Result<StatusCode, BmcError> {
        let authorization = self.authorization()?;
        let call = Call {
            method: Method::DELETE,
            path,
            authorization,
            body: None,
            not_after: None,
        };
        let answer = self.exchange_again(&call).await?;
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
        let mut answer = self.fetch(path).await?;
        if answer.status.as_u16() == 401 && matches!(self.standing, LoginState::Session(_)) {
            self.forget_session();
            self.log_in().await?;
            answer = self.fetch(path).await?;
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
        let said = Messages::of(answer.body.as_deref().unwrap_or_default());
        if said.denies_success() {
            Err(self.complaint(&answer))
        } else {
            // The root answers whoever asks (DSP0266, "Resources that do not require authentication").
            if let LoginState::Basic { accepted } = &mut self.standing {
                *accepted |= path.as_str() != select::ROOT;
            }
            Ok(answer)
        }
    }

    /// GET, once more if a kept connection turns out to be dead.
    async fn fetch(&mut self, path: &ResourcePath) -> Result<Answer, BmcError> {
        let authorization = self.authorization()?;
        let call = Call {
            method: Method::GET,
            path,
            authorization,
            body: None,
            not_after: None,
        };
        self.exchange_again(&call).await
    }

    /// Sends a request that changes nothing when it is sent twice, once more if a kept connection turns
    /// out to be dead. Never a POST.
    async fn exchange_again(&mut self, call: &Call<'_>) -> Result<Answer, BmcError> {
        match self.wire.exchange(call).await {
            Ok(answer) => Ok(answer),
            Err(SendFailure::NotSent { reused: true, .. } | SendFailure::Broken { reused: true, .. }) => {
                self.wire.exchange(call).await.map_err(read_failure)
            }
            Err(failure) => Err(read_failure(failure)),
        }
    }

    /// Reads a resource out of an answer to [`Self::get`].
    fn decode<Resource: serde::de::DeserializeOwned>(answer: &Answer) -> Result<Resource, BmcError> {
        let body = answer.body.as_deref().unwrap_or_default();
        resource::decode(body).map_err(|found| BmcError::NotRedfish {
            found: found.to_owned(),
        })
    }

    /// The error that an answer other than success amounts to.
    fn complaint(&self, answer: &Answer) -> BmcError {
        let status = answer.status.as_u16();
        if answer.status.is_redirection() {
            let location = answer.headers.get(http::header::LOCATION);
            let to = match location.and_then(|location| location.to_str().ok()) {
                Some(location) if self.wire.own_path(location).is_some() => {
                    self.redactor.shorten(location, 100)
                }
                Some(_) => "another place".to_owned(),
                None => "nowhere".to_owned(),
            };
            return BmcError::Redirected { status, to };
        }
        let said = Messages::of(answer.body.as_deref().unwrap_or_default());
        let text = said.text(&self.redactor);
        if status == 403 {
            return BmcError::Forbidden { text };
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
        SendFailure::Broken { cause, .. } | SendFailure::TimedOut { cause } => BmcError::NoAnswer { cause },
        SendFailure::Garbage { cause } => BmcError::NotRedfish {
            found: format!("no HTTP ({cause})"),
        },
    }
}

/// A reference made by the BMC, if it is a path on the BMC itself.
fn own(what: &'static str, reference: Option<&str>) -> Result<ResourcePath, BmcError> {
    let Some(reference) = reference else {
        return Err(BmcError::ForeignReference {
            what,
            problem: "is missing".to_owned(),
        });
    };
    ResourcePath::parse(reference).map_err(|problem| BmcError::ForeignReference {
        what,
        problem: problem.to_string(),
    })
}

/// A body for a POST, wiped when the last copy of ours is dropped.
fn wiped(bytes: Vec<u8>) -> Bytes {
    Bytes::from_owner(zeroize::Zeroizing::new(bytes))
}
