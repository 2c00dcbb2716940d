//! Who we are to the BMC (DSP0266, "Redfish session login authentication" and "HTTP Basic").
//!
//! BMCs lock accounts and client addresses after a few wrong logins. So this conversation never offers
//! credentials again that were rejected.

use http::{HeaderName, HeaderValue, Method, header};
use hyper::body::Bytes;
use zeroize::Zeroizing;

use super::select::ROOT;
use super::wire::{Answer, Call};
use super::{Redfish, read_failure, resource};
use crate::AuthMethod;
use crate::address::ResourcePath;
use crate::error::BmcError;
use crate::redact::basic_token;

/// Where sessions are created: the standard's place, and iDRAC 7 and 8's
/// (mrlhansen/idrac_exporter issue 132).
const SESSIONS: [&str; 2] = ["/redfish/v1/SessionService/Sessions", "/redfish/v1/Sessions"];

/// Whether a path is that of a session, by the name of its collection (DSP0268, `Session`, "URIs").
pub(super) fn is_session(path: &ResourcePath) -> bool {
    let path = path.as_str();
    let mut segments = path.trim_end_matches('/').rsplit('/');
    !path.contains(['?', '%']) && segments.next().is_some() && segments.next() == Some("Sessions")
}

/// How we stand with the BMC.
pub(super) enum LoginState {
    /// Not logged in yet, or not any more.
    New,
    /// Credentials go with every request. `accepted`: one was answered, and a refusal is not about the login.
    Basic {
        accepted: bool,
    },
    Session(Session),
    /// The BMC rejected the credentials, with this error.
    Rejected(BmcError),
}

/// A session on the BMC.
pub(super) struct Session {
    token: Zeroizing<String>,
    /// To end it with; `None` if the BMC named no place on itself.
    pub(super) path: Option<ResourcePath>,
}

#[derive(serde::Serialize)]
struct LoginBody<'a> {
    #[serde(rename = "Password")]
    password: &'a str,
    #[serde(rename = "UserName")]
    username: &'a str,
}

/// What one attempt to create a session came to.
enum Attempt {
    Open(Session),
    /// There are no sessions at this place.
    NoSuchPlace,
    /// There are sessions, and all are taken.
    Full(Answer),
}

impl Redfish {
    /// Logs in if that has not happened yet.
    pub(super) async fn log_in(&mut self) -> Result<(), BmcError> {
        self.not_rejected()?;
        if matches!(self.standing, LoginState::Basic { .. } | LoginState::Session(_)) {
            return Ok(());
        }
        let may_fall_back = match self.auth {
            AuthMethod::Basic => {
                self.standing = LoginState::Basic { accepted: false };
                return Ok(());
            }
            AuthMethod::Auto => true,
            AuthMethod::Session => false,
        };
        for (index, place) in SESSIONS.into_iter().enumerate() {
            let attempt = match self.open_session(&ResourcePath::fixed(place)).await {
                // A service without sessions may demand Basic before it looks at the path at all
                // (sushy-emulator). Its root tells that from a wrong password, which is not offered again.
                Err(BmcError::AuthenticationRejected { status: 401, .. })
                    if may_fall_back && self.has_no_sessions().await =>
                {
                    break;
                }
                attempt => attempt?,
            };
            match attempt {
                Attempt::Open(session) => {
                    self.redactor.add(&session.token);
                    let left = self
                        .left
                        .take()
                        .filter(|left| Some(left) != session.path.as_ref());
                    self.standing = LoginState::Session(session);
                    if let Some(left) = left
                        && let Err(error) = self.delete(&left).await
                    {
                        tracing::debug!(%error, "a session that the BMC refused could not be deleted");
                    }
                    return Ok(());
                }
                // The password is not offered at another place before the root says that there is one.
                Attempt::NoSuchPlace if may_fall_back && index == 0 && self.has_no_sessions().await => break,
                Attempt::NoSuchPlace => {}
                // The other place is the same table.
                Attempt::Full(_) if may_fall_back => break,
                Attempt::Full(answer) => return Err(self.complaint(&answer)),
            }
        }
        if !may_fall_back {
            return Err(BmcError::SessionsUnsupported);
        }
        self.standing = LoginState::Basic { accepted: false };
        Ok(())
    }

    /// Whether the service root says that there are no sessions. Sends no credentials.
    async fn has_no_sessions(&mut self) -> bool {
        let root = ResourcePath::fixed(ROOT);
        let call = Call::new(Method::GET, &root, None);
        let Ok(answer) = self.wire.exchange(&call).await else {
            return false;
        };
        let root = resource::decode::<resource::Root>(answer.bytes());
        answer.status.is_success() && root.is_ok_and(|root| root.systems.is_some() && !root.offers_sessions())
    }

    /// One POST, never repeated: it carries the password, and may have created a session.
    async fn open_session(&mut self, place: &ResourcePath) -> Result<Attempt, BmcError> {
        let call = Call {
            body: Some(self.login_body()?),
            ..Call::new(Method::POST, place, None)
        };
        let answer = self.wire.exchange(&call).await.map_err(read_failure)?;
        if answer.status.is_success() {
            let session = self.session_of(&answer).map(Attempt::Open);
            return session.ok_or_else(|| BmcError::NotRedfish("a login without X-Auth-Token".to_owned()));
        }
        let (status, said) = (answer.status.as_u16(), answer.said());
        if matches!(status, 404 | 405) {
            Ok(Attempt::NoSuchPlace)
        } else if said.says_sessions_full() {
            Ok(Attempt::Full(answer))
        } else if matches!(status, 401 | 403) || said.says_bad_login() {
            Err(self.reject(&answer))
        } else {
            Err(self.complaint(&answer))
        }
    }

    /// What a session is asked for with. A vector that grows would leave a copy of the password that nobody wipes.
    fn login_body(&self) -> Result<Bytes, BmcError> {
        let (password, username) = (&*self.credentials.password, &*self.credentials.username);
        // JSON writes a byte as six at most.
        let letters = password.len().saturating_add(username.len());
        let mut body = Zeroizing::new(Vec::with_capacity(letters.saturating_mul(6).saturating_add(40)));
        let login = LoginBody { password, username };
        serde_json::to_writer(&mut *body, &login)
            .map_err(|error| BmcError::NotRedfish(format!("a login that cannot be written ({error})")))?;
        Ok(Bytes::from_owner(body))
    }

    fn session_of(&self, answer: &Answer) -> Option<Session> {
        let token = answer.headers.get("X-Auth-Token")?.to_str().ok()?.trim();
        if token.is_empty() {
            return None;
        }
        let location = answer
            .location()
            .and_then(|location| self.wire.own_path(location));
        // The body repeats the place, for BMCs whose Location names an address of their own.
        let in_body = || {
            let body: resource::Reference = resource::decode(answer.bytes()).ok()?;
            self.wire.own_path(body.id.as_deref()?)
        };
        Some(Session {
            token: Zeroizing::new(token.to_owned()),
            path: location.or_else(in_body),
        })
    }

    /// Notes that the BMC does not want these credentials.
    pub(super) fn reject(&mut self, answer: &Answer) -> BmcError {
        let rejection = BmcError::AuthenticationRejected {
            status: answer.status.as_u16(),
            text: answer.said().text(&self.redactor),
        };
        self.standing = LoginState::Rejected(rejection.clone());
        rejection
    }

    pub(super) fn not_rejected(&self) -> Result<(), BmcError> {
        match &self.standing {
            LoginState::Rejected(rejection) => Err(rejection.clone()),
            LoginState::New | LoginState::Basic { .. } | LoginState::Session(_) => Ok(()),
        }
    }

    /// Forgets a session that the BMC does not take any more. Some say so in error: it is deleted once
    /// the next one is open, so that they do not add up.
    pub(super) fn forget_session(&mut self) {
        if let LoginState::Session(session) = std::mem::replace(&mut self.standing, LoginState::New) {
            self.left = session.path;
        }
        self.redactor.forget_added();
    }

    /// The header that says who we are.
    pub(super) fn authorization(&self) -> Result<Option<(HeaderName, HeaderValue)>, BmcError> {
        let (name, text) = match &self.standing {
            LoginState::Basic { .. } => {
                let token = basic_token(&self.credentials);
                let text = Zeroizing::new(format!("Basic {}", token.as_str()));
                (header::AUTHORIZATION, text)
            }
            LoginState::Session(session) => (HeaderName::from_static("x-auth-token"), session.token.clone()),
            LoginState::New | LoginState::Rejected(_) => return Ok(None),
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| BmcError::NotRedfish("an unusable X-Auth-Token".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}
