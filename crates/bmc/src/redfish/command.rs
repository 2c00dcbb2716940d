//! Power commands (DSP0268 `ComputerSystem.Reset`): one POST to the advertised target, and what
//! its answer means. It never means a power state.

use http::Method;
use serde_json::json;

use tokio::time::Instant;

use super::login::LoginState;
use super::messages::Messages;
use super::resource::{ActionInfo, ResetAction};
use super::task::{self, Course};
use super::wire::{Answer, Call, SendFailure};
use super::{Redfish, own, wiped};
use crate::error::BmcError;
use crate::{CommandAnswer, Refusal, Verb};

impl Redfish {
    /// Sends a command once to the system of the last reading.
    ///
    /// The list of reset types is used when the system carries it. When it only stands behind
    /// `@Redfish.ActionInfo` the command is simply tried: reading the list first would cost every
    /// remediation a request; it is read after a 400, to say in the answer what is offered.
    pub(crate) async fn command(
        &mut self,
        command: Verb,
        not_after: Instant,
    ) -> Result<CommandAnswer, BmcError> {
        if let LoginState::Rejected { status, text } = &self.standing {
            return Err(BmcError::AuthenticationRejected {
                status: *status,
                text: text.clone(),
            });
        }
        let control = self.control.as_ref().ok_or(BmcError::NotRead)?;
        if let (Some(expected), Some(found)) = (&self.expected, &control.uuid)
            && expected.matches(found).is_none()
        {
            return Err(BmcError::IdentityMismatch {
                expected: expected.clone(),
                found: found.clone(),
            });
        }
        let reset = control.reset.clone().ok_or(BmcError::MissingResetTarget)?;
        let target = reset.target.as_deref().ok_or(BmcError::MissingResetTarget)?;
        let target = own("reset target", Some(target))?;
        if let Some(offered) = reset.offered.as_ref().filter(|offered| !offered.is_empty())
            && !offered.iter().any(|word| word == command.reset_type())
        {
            let offered = self.redactor.clean(&offered.join(", "));
            return Err(BmcError::CommandNotOffered { command, offered });
        }
        let body = json!({ "ResetType": command.reset_type() })
            .to_string()
            .into_bytes();
        // What became of the command before does not matter any more.
        self.followed = None;
        let authorization = self.authorization()?;
        let call = Call {
            method: Method::POST,
            path: &target,
            authorization,
            body: Some(wiped(body)),
            not_after: Some(not_after),
        };
        let answer = match self.wire.exchange(&call).await {
            Ok(answer) => answer,
            Err(SendFailure::NotSent { error, .. }) => return Err(error),
            Err(
                SendFailure::Broken { cause, .. }
                | SendFailure::TimedOut { cause }
                | SendFailure::Garbage { cause },
            ) => return Err(BmcError::UnknownOutcome { cause }),
        };
        let status = answer.status.as_u16();
        let answered = self.classify(&answer)?;
        if matches!(answered, CommandAnswer::Accepted) {
            self.follow(command, &answer);
        }
        match answered {
            CommandAnswer::Refused {
                class: Refusal::Unsupported,
                text,
                retry_after,
            } if status == 400 => {
                let offered = if reset.offered.is_none() {
                    self.offered(&reset).await
                } else {
                    None
                };
                let text = match offered {
                    Some(offered) => {
                        let offered = self.redactor.clean(&offered.join(", "));
                        format!("{text} (offered: {offered})")
                    }
                    None => text,
                };
                Ok(CommandAnswer::Refused {
                    class: Refusal::Unsupported,
                    text,
                    retry_after,
                })
            }
            answered @ (CommandAnswer::Accepted
            | CommandAnswer::AlreadyThereOrConflict { .. }
            | CommandAnswer::Refused { .. }) => Ok(answered),
        }
    }

    fn classify(&mut self, answer: &Answer) -> Result<CommandAnswer, BmcError> {
        let status = answer.status.as_u16();
        let body = answer.body.as_deref().unwrap_or_default();
        let said = Messages::of(body);
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
                return Err(BmcError::UnknownOutcome {
                    cause: format!("an HTML page came with HTTP {status}"),
                });
            }
            if let Some(Course::Failed(why)) = task::in_answer(body, &self.redactor) {
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
            401 => Err(self.reject(answer)),
            409 => Ok(CommandAnswer::AlreadyThereOrConflict { text }),
            // A gateway in front of the BMC gave up on it; the BMC may still have acted.
            502 | 504 => Err(BmcError::UnknownOutcome { cause: text }),
            _ if said.says_not_ready() => refused(Refusal::Busy, text),
            400..=499 if said.says_already() => Ok(CommandAnswer::AlreadyThereOrConflict { text }),
            408 | 425 | 429 | 503 => refused(Refusal::Busy, text),
            400..=499 | 501 => refused(Refusal::Unsupported, text),
            _ => refused(Refusal::Failed, text),
        }
    }

    /// The reset types behind `@Redfish.ActionInfo`. They are told and never decided on, so whatever
    /// goes wrong here amounts to "not known".
    pub(super) async fn offered(&mut self, reset: &ResetAction) -> Option<Vec<String>> {
        let path = own("action info", reset.action_info.as_deref()).ok()?;
        let answer = self.get(&path).await.ok()?;
        let info: ActionInfo = Self::decode(&answer).ok()?;
        let parameters = info.parameters.unwrap_or_default();
        parameters.into_iter().flatten().find_map(|parameter| {
            if parameter.name.as_deref() == Some("ResetType") {
                parameter.offered
            } else {
                None
            }
        })
    }
}
