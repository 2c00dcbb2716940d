//! The hold on a host that metal3 manages: written, read and given back for one remediation.

use kube::ResourceExt as _;
use remediator_core::decision::{HeldHost, HoldOn};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::journal::Journal;
use remediator_core::metal3::{HoldWrite, HostView};
use remediator_core::observed::{Reading, Sent};
use remediator_core::phase::Reason;
use remediator_core::power_command::{CommandAnswer, CommandCame, CommandError};

use crate::api_call::ShellError;
use crate::metal3::holding;
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;

impl Acting<'_> {
    pub(crate) async fn read_bare_metal_host(&self, memory: &mut Memory) -> Result<(), ShellError> {
        let hold = self
            .remediation
            .journal()
            .and_then(|journal| journal.hold.clone());
        let Some(hold) = hold else { return Ok(()) };
        let began = self.context.sources.clock.now();
        let host = HeldHost {
            name: hold.host,
            uid: hold.host_uid,
            annotation: hold.annotation,
        };
        let found = holding::read(&self.context.sources.metal3, &self.namespace(), &host).await?;
        memory.observed.bare_metal_host = Some(Reading { began, found });
        Ok(())
    }

    /// Writes our annotation. The first one makes metal3 power the host off, and is noted as the power command that it
    /// is.
    pub(crate) async fn write_hold(&self, hold: &HoldOn, memory: &mut Memory) -> Result<(), ShellError> {
        let (namespace, metal3) = (self.namespace(), &self.context.sources.metal3);
        if hold.write == HoldWrite::Hold {
            // What is found of an earlier write must not make this one unsent.
            memory.unanswered = None;
        }
        let call = holding::write(metal3, &namespace, hold);
        let written = self
            .before(hold.not_after, "holding the BareMetalHost", call)
            .await;
        let found = match written {
            Ok(None) => return Ok(()),
            Ok(Some(found)) => Ok(found),
            Err(error) => Err(error),
        };
        if hold.write == HoldWrite::Hold {
            self.note_hold_sent(found.as_ref().map(drop), memory);
        }
        self.note_host(found?, memory);
        Ok(())
    }

    pub(crate) async fn release_host(&self, host: &HeldHost, memory: &mut Memory) -> Result<(), ShellError> {
        let found = holding::release(&self.context.sources.metal3, &self.namespace(), host).await?;
        self.note_host(found, memory);
        Ok(())
    }

    /// What the API server answered to a write is as good as a read that is begun now.
    fn note_host(&self, found: Lookup<HostView>, memory: &mut Memory) {
        let began = self.context.sources.clock.now();
        memory.observed.bare_metal_host = Some(Reading { began, found });
    }

    fn note_hold_sent(&self, written: Result<(), &ShellError>, memory: &mut Memory) {
        let journal = self.remediation.journal();
        let Some(intent) = journal.and_then(Journal::intent_key) else {
            return;
        };
        let answer = match written {
            Ok(()) => Ok(CommandAnswer::Accepted),
            Err(error) => Err(CommandError {
                // What the API server did not take was not done.
                came: if error.is_refusal() {
                    CommandCame::NotSent
                } else {
                    CommandCame::Unknown
                },
                obstacle: Obstacle::new(Reason::ApiWriteRefused, crate::report::chain(error)),
            }),
        };
        tracing::info!(remediation = %self.remediation.name_any(), ?answer, "asked metal3 to power the host off");
        let at = self.context.sources.clock.now();
        memory.observed.sent = Some(Sent { intent, at, answer });
    }

    fn namespace(&self) -> String {
        self.remediation.namespace().unwrap_or_default()
    }
}
