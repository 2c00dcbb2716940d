//! From no session to one in which commands can be given.

use std::net::SocketAddr;

use super::crypto::CipherSuite;
use super::driver::{Ipmi, Live};
use super::error::IpmiError;
use super::handshake::{self, Login, Opening};
use super::link::{Repeat, Unanswered, after};
use super::session::Session;
use super::wire::Request;
use super::wire::net_fn::APP;
use super::{guid, status};
use crate::error::BmcError;

const SET_SESSION_PRIVILEGE: u8 = 0x3b;
const GET_SYSTEM_GUID: Request<'static> = Request::new(APP, 0x37, &[]);

impl Ipmi {
    /// Opens a session with the best suite that the BMC agrees to, and reads what stays the same in it.
    pub(super) async fn log_in(&mut self) -> Result<Live, BmcError> {
        self.not_rejected()?;
        let session = self.open_session().await;
        if let Err(BmcError::Ipmi(IpmiError::LoginRejected(text))) = &session {
            self.rejected = Some(text.clone());
        }
        self.equip(session?).await
    }

    async fn open_session(&mut self) -> Result<Session, BmcError> {
        let share = self.deadlines.connect_share(self.peers.len());
        let mut failure = BmcError::Unreachable("it has no address".to_owned());
        for peer in self.peers.clone() {
            let login = Login {
                credentials: &self.credentials,
                privilege: self.privilege as u8,
                deadline: after(share),
                patience: self.deadlines.patience,
            };
            match agree(peer, self.suite, &login).await {
                Err(unreachable @ BmcError::Unreachable(_)) => failure = unreachable,
                other => {
                    // Another address of the name may be another BMC: a command goes where the
                    // reading before it came from.
                    self.peers = vec![peer];
                    let (suite, session) = other?;
                    self.suite = Some(suite);
                    return Ok(session);
                }
            }
        }
        Err(failure)
    }

    /// Raises the privilege, because a session begins at USER (section 6.8) and Chassis Control needs
    /// OPERATOR, and reads the GUID. So an account that may not power anything is found out before it has to.
    async fn equip(&self, mut session: Session) -> Result<Live, BmcError> {
        let wanted = self.privilege as u8;
        let data = [wanted];
        let set_privilege = Request::new(APP, SET_SESSION_PRIVILEGE, &data);
        let silent = |unanswered: Unanswered| unanswered.or(BmcError::NoAnswer);
        let deadline = after(self.deadlines.request);
        let answer = session.ask(&set_privilege, deadline, Repeat::UntilAnswered);
        let answer = answer.await.map_err(silent)?;
        let step = "Set Session Privilege Level";
        match (answer.completion, answer.data.first()) {
            (0x00, Some(given)) if given & 0x0f < wanted => {
                let text = format!("{step}: level {given} was given instead of {wanted}");
                return Err(IpmiError::PrivilegeDenied(text).into());
            }
            (0x00, _) => {}
            // Not available for this user, above its limit, not to be changed (section 22.18).
            (code @ 0x80..=0x82, _) => {
                let text = status::completed(step, code);
                return Err(IpmiError::PrivilegeDenied(text).into());
            }
            (code, _) => return Err(status::complaint(step, code).into()),
        }
        let deadline = after(self.deadlines.request);
        let answer = session.ask(&GET_SYSTEM_GUID, deadline, Repeat::UntilAnswered);
        let answer = answer.await.map_err(silent)?;
        let uuid = match answer.completion {
            0x00 => {
                let bytes = answer.data.first_chunk().copied();
                bytes.and_then(|bytes| guid::uuid_of(bytes, self.expected.as_ref()))
            }
            code if status::is_busy(code) => return Err(status::complaint("Get System GUID", code).into()),
            // Not every BMC has one.
            _ => None,
        };
        Ok(Live { session, uuid })
    }
}

/// Agrees on a suite, from the one that worked before or the best on, and logs in with it.
async fn agree(
    peer: SocketAddr,
    known: Option<CipherSuite>,
    login: &Login<'_>,
) -> Result<(CipherSuite, Session), BmcError> {
    let others = CipherSuite::ALL.into_iter().filter(|suite| Some(*suite) != known);
    let mut refusals = Vec::new();
    for suite in known.into_iter().chain(others) {
        match handshake::open(peer, suite, login).await? {
            Opening::Ready(half) => return Ok((suite, half.log_in(login).await?)),
            Opening::OtherSuite(said) => refusals.push(format!("{}: {said}", suite.id())),
        }
    }
    Err(IpmiError::NoCipherSuite(refusals.join(", ")).into())
}
