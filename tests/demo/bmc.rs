//! Tells what a BMC is asked, what it answers, and what is true.

use std::sync::Arc;

use bmc_simulator::{Change, Command, Event, Host, Outcome, Power};
use jiff::Timestamp;

use crate::follow::short;
use crate::narrate::{Narrator, Who};

/// The same answer so many times in a row is told; more of it is no news.
const SAME_ANSWERS_TOLD: u32 = 2;

pub(crate) async fn follow(host: Host, narrator: Arc<Narrator>) {
    let mut after = host.journal_after(0).last_seq;
    let mut last: Option<(Option<String>, Power)> = None;
    let mut same = 0_u32;
    while let Ok(entry) = host.wait_for_entry(after, |_| true).await {
        after = entry.seq;
        if let Event::Observed { reported, truth, .. } = &entry.event {
            let answer = Some((reported.clone(), *truth));
            same = if answer == last { same.saturating_add(1) } else { 1 };
            last = answer;
            if same > SAME_ANSWERS_TOLD {
                continue;
            }
        } else if is_news(&entry.event) {
            same = 0;
        }
        tell(&narrator, host.name(), entry.wall, &entry.event);
    }
}

/// Whether the same answer is news again after this.
fn is_news(event: &Event) -> bool {
    matches!(
        event,
        Event::Command { .. } | Event::Changed { .. } | Event::Pressed { .. } | Event::FaultsSet { .. }
    )
}

fn tell(narrator: &Narrator, name: &str, at: Timestamp, event: &Event) {
    let bmc = |text: String| narrator.say_of(at, Who::Bmc, &format!("{name} {text}"));
    match event {
        Event::SessionCreated { .. } => bmc("opened a session".to_owned()),
        Event::SessionDeleted { .. } => bmc("closed a session for its owner".to_owned()),
        Event::SessionEnded { .. } => bmc("ended a session".to_owned()),
        Event::SessionExpired { .. } => bmc("ended a session that nobody used".to_owned()),
        Event::TlsFailed => bmc("could not agree on TLS".to_owned()),
        Event::AuthFailed { class, .. } => bmc(format!("refused user or password: 401 ({})", class.as_str())),
        Event::Command {
            command,
            outcome,
            status,
            ..
        } => tell_command(narrator, name, at, *command, *outcome, *status),
        Event::CommandRefused { status, reason, .. } => {
            bmc(format!("refused a command: {}, {reason}", answer(*status)));
        }
        Event::Observed { reported, truth, .. } => {
            tell_observed(narrator, name, at, reported.as_deref(), *truth);
        }
        Event::Changed { change, .. } => {
            narrator.say_of(at, Who::Truth, &format!("{name} {}", changed(change)));
        }
        Event::Pressed { to, .. } => narrator.say_of(
            at,
            Who::Truth,
            &format!("{name}: somebody switches it {}", power(*to)),
        ),
        Event::FaultApplied { fault, class } => {
            bmc(format!("misbehaves: {fault} ({})", class.as_str()));
        }
        Event::FaultsSet { faults, .. } if faults.is_empty() => bmc("behaves again".to_owned()),
        Event::FaultsSet { faults, .. } => {
            let names: Vec<&str> = faults.iter().map(|injection| injection.fault.name()).collect();
            narrator.say_of(
                at,
                Who::Truth,
                &format!("{name}: its BMC is broken now: {}", names.join(", ")),
            );
        }
        Event::CredentialsRotated { .. } => {
            narrator.say_of(at, Who::Truth, &format!("{name}: its BMC's password was changed"));
        }
        Event::CertificateSwapped { .. } => {
            narrator.say_of(
                at,
                Who::Truth,
                &format!("{name}: its BMC has a certificate of an unknown authority"),
            );
        }
        Event::BmcRebooted => bmc("reboots".to_owned()),
        Event::MainsLost => narrator.say_of(at, Who::Truth, &format!("{name}: its mains fail")),
        Event::MainsRestored => narrator.say_of(at, Who::Truth, &format!("{name}: its mains are back")),
        // How bytes came in is counted in the cost.
        Event::TcpAccepted
        | Event::TlsHandshake
        | Event::IpmiSessionOpened { .. }
        | Event::IpmiSessionEnded { .. }
        | Event::BmcStage { .. }
        | Event::LoginAccepted { .. }
        | Event::Answered { .. }
        | Event::DelaysSet { .. }
        | Event::RedfishSet { .. } => {}
    }
}

fn answer(status: Option<u16>) -> String {
    status.map_or_else(|| "no answer".to_owned(), |status| status.to_string())
}

fn tell_command(
    narrator: &Narrator,
    name: &str,
    at: Timestamp,
    command: Command,
    outcome: Outcome,
    status: Option<u16>,
) {
    let answer = answer(status);
    let (told, lie) = match outcome {
        Outcome::Started => ("", false),
        Outcome::NoChange => (" (nothing to do in truth)", false),
        Outcome::Ignored | Outcome::Lost => (" BUT DOES NOTHING", true),
    };
    let text = format!("{name} is told {command:?} and answers {answer}{told}");
    if lie {
        narrator.alarm_of(at, Who::Bmc, &text);
    } else {
        narrator.say_of(at, Who::Bmc, &text);
    }
}

fn tell_observed(narrator: &Narrator, name: &str, at: Timestamp, reported: Option<&str>, truth: Power) {
    let said = reported.unwrap_or("null");
    if said == "Off" && truth == Power::On {
        narrator.alarm_of(at, Who::Bmc, &format!("{name} says Off: A LIE, the truth is On"));
    } else {
        narrator.say_of(
            at,
            Who::Bmc,
            &format!("{name} says {said} (truth: {})", power(truth)),
        );
    }
}

fn changed(change: &Change) -> String {
    match change {
        Change::PoweredOff => "is OFF: whatever ran there has stopped".to_owned(),
        Change::PoweredOn => "is ON and boots".to_owned(),
        Change::Reset => "was reset".to_owned(),
        Change::Booted { boot_id } => format!("has booted (boot ID {}); its kubelet starts", short(boot_id)),
    }
}

fn power(power: Power) -> &'static str {
    match power {
        Power::On => "On",
        Power::Off => "Off",
    }
}
