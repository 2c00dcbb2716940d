//! Power commands (DSP0268 `ComputerSystem.Reset`): one POST to the advertised target, and what
//! its answer means. It never means a power state.

use http::{Method, StatusCode};
use serde_json::json;

use super::login::LoginState;
use super::resource::{ActionInfo, ResetAction};
use super::task::{self, TaskProgress};
use super::wire::{Answer, Call, SendFailure};
use super::{Redfish, own};
use crate::error::BmcError;
use crate::{CommandAnswer, Refusal, Until, Verb};

impl Redfish {
    /// Sends a command once to the system of the last reading.
    ///
    /// A list of reset types that only stands behind `@Redfish.ActionInfo` is not read beforehand, which would
    /// cost every remediation a request, but after a 400, to say in the answer what is offered.
    pub(crate) async fn command(&mut self, command: Verb, until: Until) -> Result<CommandAnswer, BmcError> {
        self.not_rejected()?;
        let control = self.control.as_ref().ok_or(BmcError::NotRead)?;
        BmcError::check_identity(self.expected.as_ref(), control.uuid.as_ref())?;
        let reset = control.reset.clone().ok_or(BmcError::MissingResetTarget)?;
        let target = reset.target.as_deref().ok_or(BmcError::MissingResetTarget)?;
        let target = own("reset target", Some(target))?;
        if let Some(offered) = reset.inline()
            && !offered.iter().any(|word| word == command.reset_type())
        {
            let offered = self.redactor.clean(&offered.join(", "));
            return Err(BmcError::CommandNotOffered(command, offered));
        }
        let body = json!({ "ResetType": command.reset_type() }).to_string();
        // What became of the command before does not matter any more.
        self.followed = None;
        let call = Call {
            body: Some(body.into()),
            until: Some(until),
            ..Call::new(Method::POST, &target, self.authorization()?)
        };
        let answer = self.wire.exchange(&call).await.map_err(|failure| match failure {
            SendFailure::NotSent { error, .. } => error,
            SendFailure::Broken { cause, .. }
            | SendFailure::TimedOut(cause)
            | SendFailure::Garbage(cause) => BmcError::UnknownOutcome(cause),
        })?;
        let mut answered = self.classify(&answer)?;
        match &mut answered {
            CommandAnswer::Accepted => self.follow(command, &answer),
            CommandAnswer::Refused {
                class: Refusal::Unsupported,
                text,
                ..
            } if answer.status == StatusCode::BAD_REQUEST && reset.offered.is_none() => {
                if let Some(offered) = self.offered(&reset).await {
                    let offered = self.redactor.clean(&offered.join(", "));
                    *text = format!("{text} (offered: {offered})");
                }
            }
            CommandAnswer::AlreadyThereOrConflict { .. } | CommandAnswer::Refused { .. } => {}
        }
        Ok(answered)
    }

    fn classify(&mut self, answer: &Answer) -> Result<CommandAnswer, BmcError> {
        let status = answer.status.as_u16();
        let (body, said) = (answer.bytes(), answer.said());
        let text = format!("HTTP {status}: {}", said.text(&self.redactor));
        let retry_after = answer.retry_after();
        let refused = |class, text| {
            Ok(CommandAnswer::Refused {
                class,
                text,
                retry_after,
            })
        };
        if answer.status.is_success() {
            if body.trim_ascii_start().starts_with(b"<") {
                return Err(BmcError::UnknownOutcome(format!(
                    "an HTML page came with HTTP {status}"
                )));
            }
            if let Some(TaskProgress::Failed(why)) = task::in_answer(body, &self.redactor) {
                return refused(Refusal::Failed, format!("HTTP {status}: {why}"));
            }
            if !said.denies_success() {
                // 202 names a task, or none (Supermicro). Whatever it is, readings settle the state.
                return Ok(CommandAnswer::Accepted);
            }
            return if said.says_already() {
                Ok(CommandAnswer::AlreadyThereOrConflict { text })
            } else if said.says_not_ready() {
                refused(Refusal::Busy, text)
            } else {
                refused(Refusal::Failed, text)
            };
        }
        match status {
            300..=399 | 403 => Err(self.complaint(answer)),
            401 if matches!(self.standing, LoginState::Session(_)) => {
                self.forget_session();
                self.control = None;
                refused(Refusal::SessionEnded, text)
            }
            // The next read says that the login is rejected. This is what came for a command, which was sent.
            401 => {
                self.reject(answer);
                refused(Refusal::Unsupported, text)
            }
            409 => Ok(CommandAnswer::AlreadyThereOrConflict { text }),
            // A gateway in front of the BMC gave up on it; the BMC may still have acted.
            502 | 504 => Err(BmcError::UnknownOutcome(text)),
            _ if said.says_not_ready() => refused(Refusal::Busy, text),
            400..=499 if said.says_already() => Ok(CommandAnswer::AlreadyThereOrConflict { text }),
            408 | 425 | 429 | 503 => refused(Refusal::Busy, text),
            400..=499 | 501 => refused(Refusal::Unsupported, text),
            _ => refused(Refusal::Failed, text),
        }
    }

    /// The reset types behind `@Redfish.ActionInfo`. They are shown and never decided on, so whatever
    /// goes wrong here amounts to "not known".
    pub(super) async fn offered(&mut self, reset: &ResetAction) -> Option<Vec<String>> {
        let path = own("action info", reset.action_info.as_deref()).ok()?;
        let answer = self.get(&path).await.ok()?;
        let info: ActionInfo = Self::decode(&answer).ok()?;
        let parameters = info.parameters.unwrap_or_default().into_iter().flatten();
        let mut of_reset = parameters.filter(|parameter| parameter.name.as_deref() == Some("ResetType"));
        of_reset.find_map(|parameter| parameter.offered)
    }
}
