//! Sends power commands: each once, none after its time.

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_core::facts::Obstacle;
use remediator_core::journal::Verb;
use remediator_core::observed::{IntentKey, Sent};
use remediator_core::phase::Reason;
use remediator_core::power_command::{CommandAnswer, CommandError};

use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;

impl Acting<'_> {
    /// Sends a power command once, unless its time has passed.
    pub(crate) async fn send(&self, verb: Verb, not_after: Timestamp, memory: &mut Memory) {
        let Some(journal) = self.remediation.journal() else {
            return;
        };
        let Some(intent) = journal.intent.as_ref().filter(|intent| intent.verb == verb) else {
            return;
        };
        let key = IntentKey {
            verb,
            attempt: journal.attempt,
            sends: intent.sends,
        };
        if self.context.sources.clock.now() >= not_after {
            return;
        }
        let answer = match &mut memory.conversation {
            Some(conversation) => Some(conversation.command(&self.context.bmc, verb, not_after).await),
            None => self.send_in_new_conversation(verb, not_after, memory).await,
        };
        let Some(answer) = answer else { return };
        let at = self.context.sources.clock.now();
        tracing::info!(remediation = %self.remediation.name_any(), ?verb, ?answer, "power command");
        memory.observed.sent = Some(Sent {
            intent: key,
            at,
            answer,
        });
    }

    /// Sends a command in a conversation that has to be begun first. A power-off is not sent: what
    /// the new conversation reads may be another host, so it is judged before anything else.
    async fn send_in_new_conversation(
        &self,
        verb: Verb,
        not_after: Timestamp,
        memory: &mut Memory,
    ) -> Option<Result<CommandAnswer, CommandError>> {
        if let Err(error) = self.read_power(memory).await {
            let obstacle = Obstacle::new(Reason::BmcUnreachable, error.to_string());
            return Some(Err(not_sent(obstacle)));
        }
        match (&mut memory.conversation, verb) {
            (Some(_), Verb::PowerOff) => None,
            (Some(conversation), Verb::PowerOn) if self.context.sources.clock.now() < not_after => {
                Some(conversation.command(&self.context.bmc, verb, not_after).await)
            }
            (Some(_) | None, _) => {
                let failure = memory.observed.read_failure.as_ref();
                let failure = failure.map(|failure| failure.obstacle.clone());
                let late = || Obstacle::new(Reason::BmcUnreachable, "the BMC answered too late");
                Some(Err(not_sent(failure.unwrap_or_else(late))))
            }
        }
    }
}

fn not_sent(obstacle: Obstacle) -> CommandError {
    CommandError {
        may_have_been_executed: false,
        obstacle,
    }
}
