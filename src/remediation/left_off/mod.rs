//! Hosts that may be off when their remediation vanishes, because somebody forced our finalizer off it. As long as this
//! process lives, they get their power back; nothing else is done for them, and never a power-off.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::to_bring_back;
use remediator_bmc::Until;
use remediator_core::admission::Reply;
use remediator_core::facts::Obstacle;
use remediator_core::journal::{Intent, Journal, Subject, Verb};
use remediator_core::manual::{Manual, Next};
use remediator_core::observed::PowerRead;
use remediator_core::phase::Phase;
use remediator_core::power::PowerState;
use remediator_core::power_command::SETTLE;

use crate::bmc_access::journalled;
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;
use crate::remediation::{Remediator, facts, leftover_holds, reconcile};
use crate::snapshot::host;
use crate::watch::lookup;

/// The longest pause between two looks at the BMC.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// For how long a BareMetalHost may not be readable before its host is powered on all the same.
const GIVEN_BACK_WITHIN: Duration = Duration::from_mins(1);
const GIVEN_BACK_AGAIN: Duration = Duration::from_secs(5);

/// For how long metal3 may power on a host that was given back to it.
const METAL3_HAS: Duration = Duration::from_mins(1);

/// How late a command may still be sent after it was decided.
const SEND_WITHIN: Duration = Duration::from_secs(10);

/// What is done next about a host.
enum After {
    Pause,
    Over(&'static str),
}

/// Forgets a remediation that is gone, after its host has its power back if that may be off because of us.
pub(crate) async fn bring_back(context: Arc<Remediator>, gone: PowerCycleRemediation) {
    let uid = gone.uid().unwrap_or_default();
    let Some(memory) = context.memories.known(&uid) else {
        let_go_of_secret(&context, &gone).await;
        return;
    };
    let remediation = {
        let memory = memory.lock().await;
        match &memory.written {
            Some(written) if lookup::is_newer(written, &gone) => written.clone(),
            Some(_) | None => gone,
        }
    };
    if !memory.lock().await.let_go && remediation.journal().is_some_and(may_be_off) {
        let name = remediation.name_any();
        tracing::warn!(remediation = %name, "the remediation is gone and its host may be off; it gets its power back from memory");
        let why = match given_back(&context, &remediation).await {
            Some(obstacle) => obstacle.to_string(),
            None => until_on(&context, &remediation, &memory).await.to_owned(),
        };
        tracing::warn!(remediation = %name, why, "nothing more is done for the host of a remediation that is gone");
    }
    let_go_of_secret(&context, &remediation).await;
    reconcile::forget(&context, &uid, &mut *memory.lock().await).await;
}

/// Gives the BareMetalHost back, for metal3 would power the host off again. Answers who else keeps it off: then it is
/// theirs. Where that cannot be read for long it stops no power-on; it is tried again beside this.
async fn given_back(context: &Remediator, gone: &PowerCycleRemediation) -> Option<Obstacle> {
    let begun = tokio::time::Instant::now();
    loop {
        let error = match leftover_holds::give_back_of(context, gone).await {
            Ok(kept_off) => return kept_off,
            // Who may not read it is told nothing by waiting.
            Err(error) if error.is_forbidden() => return None,
            Err(error) => crate::report::chain(&error),
        };
        tracing::warn!(remediation = %gone.name_any(), error, "the BareMetalHost of a remediation that is gone is not given back yet");
        if begun.elapsed() >= GIVEN_BACK_WITHIN {
            return None;
        }
        tokio::time::sleep(GIVEN_BACK_AGAIN).await;
    }
}

async fn let_go_of_secret(context: &Remediator, gone: &PowerCycleRemediation) {
    if let Some(journal) = gone.journal() {
        context.bmc.let_go_of_secret(gone, journal).await;
    }
}

/// Whether a host may be off because of us, or get its power back.
fn may_be_off(journal: &Journal) -> bool {
    journal.intent.is_some()
        || matches!(
            journal.phase,
            Phase::PoweringOff | Phase::Fencing | Phase::PoweringOn
        )
}

/// A power-on of a host, without an end. Not every read names the host.
fn power_on(subject: &Subject, read: PowerRead, now: Timestamp) -> Manual {
    let uuid = read
        .uuid
        .or_else(|| Some(subject.at_bmc().system_uuid.to_owned()));
    Manual::new(Verb::PowerOn, &PowerRead { uuid, ..read }, now, Timestamp::MAX)
}

async fn until_on(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &tokio::sync::Mutex<Memory>,
) -> &'static str {
    let mut bringing = Recovery {
        context,
        remediation,
        command: None,
        begun: tokio::time::Instant::now(),
        jumps: 0,
        said: String::new(),
    };
    let mut pause = Duration::from_secs(1);
    loop {
        if let After::Over(why) = Box::pin(bringing.look(&mut *memory.lock().await)).await {
            return why;
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

struct Recovery<'a> {
    context: &'a Remediator,
    remediation: &'a PowerCycleRemediation,
    /// The power-on, once the host was read Off.
    command: Option<Manual>,
    /// When its BareMetalHost was given back, where it has one.
    begun: tokio::time::Instant,
    /// How often the clock had jumped when that was.
    jumps: u64,
    /// What was told last.
    said: String,
}

impl Recovery<'_> {
    /// Reads the power, and sends On where it is Off.
    async fn look(&mut self, memory: &mut Memory) -> After {
        let (Some(journal), uid) = (to_bring_back(self.remediation), self.remediation.uid()) else {
            return After::Over("there is nothing to bring back");
        };
        let (Some(subject), Some(uid)) = (&journal.subject, uid) else {
            return After::Over("it is not known which host that is");
        };
        let read = match Box::pin(self.read(memory)).await {
            Ok(read) => read,
            Err(why) => {
                self.tell(format!("the host cannot be read: {why}"));
                return After::Pause;
            }
        };
        self.tell(format!("the BMC says {}", read.said()));
        if read.power != PowerState::On
            && let Some(left) = self.leave_to_metal3(journal).await
        {
            return left;
        }
        let (now, jumps) = self.context.sources.clock.moment();
        if jumps != self.jumps {
            self.jumps = jumps;
            self.command = None;
        }
        let command = match (&mut self.command, read.power) {
            (Some(command), _) => {
                command.note_read(read);
                command
            }
            (command @ None, PowerState::Off) => command.insert(power_on(subject, read, now)),
            (None, PowerState::On) if is_settled(journal, &read) => return After::Over("it is on"),
            (None, PowerState::On) => return After::Pause,
            (command @ None, PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown) => {
                let sent = journal.intent.as_ref().map_or(Timestamp::MIN, Intent::last_sent);
                if memory.observed.neither_for_long(sent, now).is_none() {
                    return After::Pause;
                }
                command.insert(power_on(subject, read, now))
            }
        };
        match command.next(now) {
            Next::Done => After::Over("it is on"),
            Next::Read(_) | Next::GiveUp(_) => After::Pause,
            Next::Send => {
                // Nothing is awaited between this and the queue of the BMC.
                if !self.context.admitted.commands_alone(subject, &uid) {
                    return After::Over("another remediation has begun with the same host");
                }
                let timer = tokio::time::Instant::now();
                let soon = timer.checked_add(SEND_WITHIN).unwrap_or(timer);
                let sources = Arc::clone(&self.context.sources);
                let jumps = sources.clock.moment().1;
                let bound = sources.lead.bound(soon);
                let is_over = move || sources.clock.moment().1 != jumps || !sources.lead.holds();
                let until = Until::unless(bound, is_over);
                let Some(conversation) = &mut memory.conversation else {
                    return After::Pause;
                };
                let answer = conversation
                    .command(&self.context.bmc, Verb::PowerOn, until)
                    .await;
                tracing::info!(remediation = %self.remediation.name_any(), ?answer, "power-on of a host whose remediation is gone");
                if let Some(answer) = answer {
                    command.note_sent(self.context.sources.clock.now(), answer);
                }
                After::Pause
            }
        }
    }

    /// metal3 powers it on, unless somebody else keeps it off. Where the BareMetalHost cannot be read, or metal3 had its
    /// time, this does.
    async fn leave_to_metal3(&self, journal: &Journal) -> Option<After> {
        let hold = journal.hold.as_ref()?;
        let found = leftover_holds::give_back_of(self.context, self.remediation).await;
        if let Ok(Some(_)) = found {
            return Some(After::Over("somebody else keeps it off by its BareMetalHost"));
        }
        let is_its_turn = hold.direct.is_none() && self.begun.elapsed() < METAL3_HAS;
        is_its_turn.then_some(After::Pause)
    }

    async fn read(&self, memory: &mut Memory) -> Result<PowerRead, String> {
        let (context, remediation) = (self.context, self.remediation);
        let now = context.sources.clock.now();
        let host = match journalled::host(remediation) {
            Some(host) => host,
            None => host::resolve(&context.sources, remediation, &mut memory.bare_metal_host, now)
                .await
                .map_err(|error| crate::report::chain(&error))?,
        };
        let named = host
            .as_ref()
            .map(|resolved| resolved.host.clone())
            .map_err(Clone::clone);
        let nodes = context.sources.clusters.nodes_of(remediation);
        let facts = facts(
            &context.sources,
            remediation,
            &nodes,
            memory,
            (named, Reply::NotAsked),
            now,
        );
        let acting = Acting {
            context,
            remediation,
            nodes,
            facts: &facts,
            host: host.as_ref(),
            jumps: context.sources.clock.moment().1,
        };
        if let Err(error) = acting.read_power(memory).await {
            return Err(crate::report::chain(&error));
        }
        if let Some(failure) = &memory.observed.read_failure {
            return Err(failure.obstacle.detail.clone());
        }
        let read = memory.observed.last_read().cloned();
        let read = read.ok_or_else(|| "nothing was read".to_owned())?;
        acting.another_host(&read).map_or(Ok(read), Err)
    }

    /// Once for each thing that there is to say.
    fn tell(&mut self, what: String) {
        if what != self.said {
            tracing::warn!(remediation = %self.remediation.name_any(), "of a remediation that is gone: {what}");
            self.said = what;
        }
    }
}

/// Whether a power-off of ours can come no more that was not carried out before a read.
fn is_settled(journal: &Journal, read: &PowerRead) -> bool {
    let Some(intent) = journal.intent.as_ref().filter(|intent| intent.verb.takes_down()) else {
        return true;
    };
    let settled = intent.not_after.saturating_add(SETTLE).unwrap_or(Timestamp::MAX);
    read.began >= settled
}

#[cfg(test)]
mod tests;
