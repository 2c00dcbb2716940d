//! Logging in: RAKP Messages 1 to 4 (IPMI 2.0, sections 13.20 to 13.24).
//!
//! One login is one RAKP exchange. RAKP Message 1 carries no proof of a password, and RAKP Message 3 is only sent
//! after RAKP Message 2 has proved that both sides know the same one: the BMC never counts a wrong password.

use zeroize::Zeroizing;

use super::crypto::{SessionKeys, Transcript};
use super::error::IpmiError;
use super::handshake::{Half, Login, expected};
use super::link::{Link, Repeat};
use super::session::Session;
use super::wire::{self, PayloadType};
use super::{random, status};
use crate::error::BmcError;

/// Looks users up by name alone (section 13.20): else the BMC takes the first user of that name and
/// privilege, and there may be none of exactly this privilege.
const NAME_ONLY: u8 = 0x10;

/// What the messages of a login say about each other.
enum Verdict<T> {
    Proved(T),
    Refused(u8),
    /// Two answers to two transmissions had the wrong code. One may have been damaged on its way.
    Wrong,
}

impl Half {
    /// Logs in: RAKP Messages 1 to 4.
    pub(super) async fn log_in(self, login: &Login<'_>) -> Result<Session, BmcError> {
        let begun = Transcript {
            suite: self.suite,
            console_id: self.console_id,
            managed_id: self.managed_id,
            console_random: random().map_err(|error| BmcError::Unreachable(error.to_string()))?,
            managed_random: [0; 16],
            guid: [0; 16],
            role: NAME_ONLY | login.privilege,
            name: login.credentials.username.as_bytes(),
        };
        let transcript = self.prove_bmc(begun, login).await?;
        self.prove_us(&transcript, login).await
    }

    /// RAKP Messages 1 and 2.
    async fn prove_bmc<'a>(
        &self,
        begun: Transcript<'a>,
        login: &Login<'_>,
    ) -> Result<Transcript<'a>, BmcError> {
        let tag = self.tag.wrapping_add(1);
        let message = wire::rakp1(
            tag,
            self.managed_id,
            &begun.console_random,
            begun.role,
            begun.name,
        );
        let password = login.credentials.password.as_bytes();
        let mut wrong_at = None;
        let answer = |sent, datagram: &[u8]| {
            let reply = expected(datagram, PayloadType::Rakp2, tag, self.console_id)?;
            if reply.status != 0 {
                return Some(Verdict::Refused(reply.status));
            }
            let said = wire::rakp2(reply.rest).ok()?;
            let transcript = Transcript {
                managed_random: said.random,
                guid: said.guid,
                ..begun
            };
            if transcript.rakp2_proves(password, said.code) {
                return Some(Verdict::Proved(transcript));
            }
            again(&mut wrong_at, sent)
        };
        match exchange(&self.link, "RAKP Message 1", &message, login, answer).await? {
            Verdict::Proved(transcript) => Ok(transcript),
            Verdict::Refused(status) => Err(status::refusal("RAKP Message 2", status).into()),
            Verdict::Wrong => rejected("RAKP Message 2: the BMC knows another password for this user"),
        }
    }

    /// RAKP Messages 3 and 4.
    async fn prove_us(self, transcript: &Transcript<'_>, login: &Login<'_>) -> Result<Session, BmcError> {
        let tag = self.tag.wrapping_add(2);
        let password = login.credentials.password.as_bytes();
        let key = login.credentials.kg.as_ref().map_or(password, |kg| kg.as_slice());
        let sik: Zeroizing<Vec<u8>> = transcript.session_integrity_key(key);
        let message = wire::rakp3(tag, self.managed_id, &transcript.rakp3_code(password));
        // Made before the BMC may open its side, so that giving up on the way closes that, too.
        let keys = SessionKeys::new(self.suite, &sik);
        let session = Session::new(self.link, keys, self.console_id, self.managed_id);
        let mut wrong_at = None;
        let answer = |sent, datagram: &[u8]| {
            let reply = expected(datagram, PayloadType::Rakp4, tag, self.console_id)?;
            if reply.status != 0 {
                return Some(Verdict::Refused(reply.status));
            }
            if transcript.rakp4_proves(&sik, reply.rest) {
                return Some(Verdict::Proved(()));
            }
            again(&mut wrong_at, sent)
        };
        match exchange(session.link(), "RAKP Message 3", &message, login, answer).await? {
            Verdict::Proved(()) => Ok(session),
            Verdict::Refused(status) => {
                session.never_was();
                Err(status::refusal("RAKP Message 4", status).into())
            }
            Verdict::Wrong => {
                rejected("RAKP Message 4: the BMC uses another key KG (key \"kg\" of the Secret)")
            }
        }
    }
}

fn rejected<T>(text: &str) -> Result<T, BmcError> {
    Err(IpmiError::LoginRejected(text.to_owned()).into())
}

/// Sends a message of the login, the very same again while there is no answer: that is still one
/// login. Silence is not tried once more with a new login, because silence is how some BMCs reject.
async fn exchange<T>(
    link: &Link,
    step: &'static str,
    message: &[u8],
    login: &Login<'_>,
    answer: impl FnMut(u32, &[u8]) -> Option<Verdict<T>>,
) -> Result<Verdict<T>, BmcError> {
    let next = || Ok(message.to_vec());
    let silent = |cause| IpmiError::LoginUnanswered(step, cause).into();
    let asked = link.ask(login.deadline, Repeat::UntilAnswered, next, answer);
    asked.await.map_err(|unanswered| unanswered.or(silent))
}

/// A wrong code after so many transmissions is a verdict once another transmission was answered wrongly, too.
fn again<T>(wrong_at: &mut Option<u32>, sent: u32) -> Option<Verdict<T>> {
    let first = *wrong_at.get_or_insert(sent);
    (first < sent).then_some(Verdict::Wrong)
}
