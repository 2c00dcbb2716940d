//! The actor against simulated BMCs. What the BMC saw is read from the simulator's journal.

mod queue;

use std::collections::BTreeMap;
use std::time::Duration;

use bmc_simulator::{Command, Event, Fault, Host, HostSpec, Power, RequestClass, Simulator};
use jiff::Timestamp;
use tokio::time::Instant;

use super::handle::place;
use super::{Bmcs, Pace, SharedPace, Urgency};
use crate::{
    AllowedNetworks, AuthMethod, BmcError, BmcTarget, CommandAnswer, Credentials, Deadlines, Protocol,
    ServerTrust, TransportSecurity, Verb,
};
use remediator_core::power::PowerState;

impl Bmcs {
    /// None yet, with other deadlines than the usual ones.
    pub(crate) fn within(deadlines: Deadlines) -> Self {
        Self {
            deadlines,
            ..Self::default()
        }
    }

    /// What is remembered of the BMC of `target`.
    fn pace(&self, target: &BmcTarget) -> SharedPace {
        let mut places = self.places.lock().unwrap();
        places.entry(place(target)).or_default().pace.clone()
    }
}

async fn simulate(names: &[&str]) -> Simulator {
    let spec = |name: &&str| HostSpec::new(*name).credentials("root", "canary-Pa55word");
    Simulator::builder()
        .seed(7)
        .hosts(names.iter().map(spec))
        .start()
        .await
        .unwrap()
}

fn target(host: &Host) -> BmcTarget {
    let secret = BTreeMap::from([
        ("username".to_owned(), b"root".to_vec()),
        ("password".to_owned(), b"canary-Pa55word".to_vec()),
    ]);
    BmcTarget {
        address: format!("redfish://{}{}", host.address(), host.system_path())
            .parse()
            .unwrap(),
        credentials: Credentials::from_secret(&secret, "1").unwrap(),
        trust: ServerTrust::CertificateAuthority(host.ca_pem()),
        auth: AuthMethod::Auto,
        expected_uuid: None,
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse().unwrap()]),
        protocols: vec![Protocol::Redfish],
        fallback: None,
        minimum_transport: TransportSecurity::VerifiedTls,
    }
}

/// Gives up soon on a request that is not answered. Whatever is answered has more time than it needs.
fn impatient() -> Bmcs {
    Bmcs::within(Deadlines {
        connect: Duration::from_mins(1),
        request: Duration::from_secs(2),
        operation: Duration::from_mins(1),
        ..Deadlines::default()
    })
}

fn in_a_minute() -> Instant {
    let now = Instant::now();
    now.checked_add(Duration::from_mins(1)).unwrap_or(now)
}

fn count(host: &Host, wanted: impl Fn(&Event) -> bool) -> usize {
    host.journal().iter().filter(|entry| wanted(&entry.event)).count()
}

fn sessions_created(host: &Host) -> usize {
    count(host, |event| matches!(event, Event::SessionCreated { .. }))
}

#[tokio::test]
async fn all_lines_about_one_host_share_one_connection_and_one_session() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let lines: Vec<_> = [Urgency::Remediation; 3]
        .map(|urgency| bmcs.line(target(&host), urgency))
        .into();
    let began = Instant::now();
    let reads = futures::future::join_all(lines.iter().map(|line| line.read(Timestamp::now))).await;
    assert!(
        reads
            .iter()
            .all(|read| read.as_ref().unwrap().power == PowerState::On)
    );
    assert!(
        began.elapsed() >= Duration::from_secs(2),
        "reads are a second apart"
    );
    assert_eq!(host.counters().tls_handshakes, 1);
    assert_eq!(sessions_created(&host), 1);

    let mut lines = lines.into_iter();
    assert_eq!(lines.next().unwrap().close().await, Ok(false), "others hold it");
    drop(lines.next());
    assert_eq!(host.snapshot().sessions.len(), 1);
    assert_eq!(lines.next().unwrap().close().await, Ok(true));
    assert!(host.snapshot().sessions.is_empty());
}

#[tokio::test]
async fn the_end_waits_for_orders_under_way_and_their_sessions() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let slow = Fault::SlowAnswer {
        by: Duration::from_millis(500),
    };
    host.inject(slow.on(RequestClass::SystemGet)).unwrap();
    let bmcs = Bmcs::default();
    let line = bmcs.line(target(&host), Urgency::Background);
    let inspection = tokio::spawn(async move { line.inspect().await });
    host.wait_for(|now| now.sessions.len() == 1).await.unwrap();
    inspection.abort();
    assert!(inspection.await.is_err(), "it was cut off");

    bmcs.ended().await;

    assert!(host.snapshot().sessions.is_empty());
    assert_eq!(host.counters().session_delete, 1);
    assert_eq!(bmcs.outcomes().get("Answered"), Some(&1), "{:?}", bmcs.outcomes());
}

#[tokio::test]
async fn a_line_that_is_dropped_leaves_no_session() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let line = bmcs.line(target(&host), Urgency::Remediation);
    line.read(Timestamp::now).await.unwrap();
    drop(line);
    host.wait_for(|now| now.sessions.is_empty()).await.unwrap();
    // The next actor begins where the last one ended.
    bmcs.line(target(&host), Urgency::Remediation)
        .read(Timestamp::now)
        .await
        .unwrap();
    assert_eq!(sessions_created(&host), 2);
}

#[tokio::test]
async fn a_command_that_was_begun_is_carried_out_although_nobody_waits_any_more() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let line = bmcs.line(target(&host), Urgency::Remediation);
    line.read(Timestamp::now).await.unwrap();
    host.inject(
        Fault::SlowAnswer {
            by: Duration::from_millis(300),
        }
        .on(RequestClass::Reset),
    )
    .unwrap();
    let waiting = tokio::spawn(async move { line.command(Verb::PowerOff, in_a_minute()).await });
    host.wait_for_entry(0, |event| matches!(event, Event::Command { .. }))
        .await
        .unwrap();
    waiting.abort();
    // The line went with its holder: the answer is still read, then the session is deleted.
    host.wait_for(|now| now.sessions.is_empty() && now.truth.power == Power::Off)
        .await
        .unwrap();
    assert_eq!(count(&host, |event| matches!(event, Event::Command { .. })), 1);
}

#[tokio::test]
async fn an_order_whose_giver_has_gone_is_not_begun() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let (first, second) = (
        bmcs.line(target(&host), Urgency::Remediation),
        bmcs.line(target(&host), Urgency::Remediation),
    );
    first.read(Timestamp::now).await.unwrap();
    // Both are given, and the command behind the read loses its caller, before the actor has its turn.
    let mut reading = Box::pin(first.read(Timestamp::now));
    let mut commanding = Box::pin(second.command(Verb::PowerOff, in_a_minute()));
    assert!(futures::poll!(&mut reading).is_pending());
    assert!(futures::poll!(&mut commanding).is_pending());
    drop(commanding);
    reading.await.unwrap();
    first.read(Timestamp::now).await.unwrap();
    assert_eq!(count(&host, |event| matches!(event, Event::Command { .. })), 0);
}

#[tokio::test]
async fn a_command_whose_giver_goes_while_it_waits_for_its_turn_is_not_sent() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let (first, second) = (
        bmcs.line(target(&host), Urgency::Remediation),
        bmcs.line(target(&host), Urgency::Remediation),
    );
    first.read(Timestamp::now).await.unwrap();
    first.command(Verb::PowerOff, in_a_minute()).await.unwrap();
    // The next turn is not before its caller has gone, however slow this machine is.
    let pace = bmcs.pace(&target(&host));
    pace.with(|pace, now| pace.note_command(now + Duration::from_secs(30)));
    let mut on = Box::pin(second.command(Verb::PowerOn, in_a_minute()));
    assert!(futures::poll!(&mut on).is_pending());
    // The actor looks at it, and waits for its turn.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    drop(on);
    pace.with(Pace::note_command);
    first.command(Verb::PowerOff, in_a_minute()).await.unwrap();
    assert_eq!(host.counters().reset, 2);
    let on = |event: &Event| {
        matches!(
            event,
            Event::Command {
                command: Command::On,
                ..
            }
        )
    };
    assert_eq!(count(&host, on), 0);
}

#[tokio::test]
async fn a_talk_under_other_rules_does_not_end_the_talk_of_a_remediation() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let remediation = bmcs.line(target(&host), Urgency::Remediation);
    remediation.read(Timestamp::now).await.unwrap();
    let rules = BmcTarget {
        auth: AuthMethod::Basic,
        ..target(&host)
    };
    let other = bmcs.line(rules, Urgency::Remediation);
    other.read(Timestamp::now).await.unwrap();
    let answer = remediation.command(Verb::PowerOff, in_a_minute()).await;
    assert!(matches!(answer, Ok(CommandAnswer::Accepted)), "{answer:?}");
}

#[tokio::test]
async fn no_check_begins_at_a_bmc_that_a_remediation_has_a_line_to() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let bmcs = Bmcs::default();
    let remediation = bmcs.line(target(&host), Urgency::Remediation);
    remediation.read(Timestamp::now).await.unwrap();
    let asked = host.counters().requests;
    // As of another host behind the same BMC, whose answer may take as long as it likes.
    let other = BmcTarget {
        auth: AuthMethod::Basic,
        ..target(&host)
    };
    let check = bmcs.line(other, Urgency::Background);
    assert!(matches!(check.inspect().await, Err(BmcError::Resting(_))));
    assert!(matches!(
        check.read(Timestamp::now).await,
        Err(BmcError::Resting(_))
    ));
    assert_eq!(host.counters().requests, asked, "it is not asked");
    remediation.close().await.unwrap();
    check.inspect().await.unwrap();
}

#[tokio::test]
async fn a_command_after_its_time_is_not_sent_and_one_without_a_reading_neither() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let line = Bmcs::default().line(target(&host), Urgency::Remediation);
    let command = |not_after| line.command(Verb::PowerOff, not_after);
    assert_eq!(command(in_a_minute()).await, Err(BmcError::NotRead));
    line.read(Timestamp::now).await.unwrap();
    assert_eq!(command(Instant::now()).await, Err(BmcError::TooLate));
    assert_eq!(count(&host, |event| matches!(event, Event::Command { .. })), 0);
    assert!(matches!(
        command(in_a_minute()).await,
        Ok(CommandAnswer::Accepted)
    ));
}

#[tokio::test]
async fn a_bmc_that_hangs_delays_no_other() {
    let simulator = simulate(&["hangs", "good"]).await;
    let (hangs, good) = (simulator.host("hangs").unwrap(), simulator.host("good").unwrap());
    hangs.inject(Fault::Hang).unwrap();
    let bmcs = Bmcs::default();
    let (stuck, line) = (
        bmcs.line(target(&hangs), Urgency::Remediation),
        bmcs.line(target(&good), Urgency::Remediation),
    );
    let hanging = tokio::spawn(async move { stuck.read(Timestamp::now).await });
    hangs.wait_for(|now| now.counters.requests > 0).await.unwrap();
    line.read(Timestamp::now).await.unwrap();
    assert!(!hanging.is_finished());
}

#[tokio::test]
async fn the_circuit_opens_for_checks_and_never_for_remediations() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    host.inject(Fault::Hang).unwrap();
    let bmcs = impatient();
    let check = bmcs.line(target(&host), Urgency::Background);
    for _ in 0..3 {
        assert!(matches!(
            check.read(Timestamp::now).await,
            Err(BmcError::NoAnswer(_))
        ));
    }
    let asked = host.counters().requests;
    assert!(matches!(
        check.read(Timestamp::now).await,
        Err(BmcError::Resting(_))
    ));
    assert_eq!(host.counters().requests, asked, "it is not asked");
    host.clear_faults();
    let remediation = bmcs.line(target(&host), Urgency::Remediation);
    remediation.read(Timestamp::now).await.unwrap();
    drop(remediation);
    check.read(Timestamp::now).await.unwrap();
}

#[tokio::test]
async fn a_bmc_that_asks_for_a_pause_gets_it() {
    let simulator = simulate(&["a"]).await;
    let host = simulator.host("a").unwrap();
    let line = Bmcs::default().line(target(&host), Urgency::Remediation);
    line.read(Timestamp::now).await.unwrap();
    host.inject(
        Fault::HttpStatus {
            status: 503,
            retry_after: Some(86_400),
        }
        .on(RequestClass::SystemGet)
        .times(1),
    )
    .unwrap();
    assert!(matches!(
        line.read(Timestamp::now).await,
        Err(BmcError::Http { status: 503, .. })
    ));
    let Err(BmcError::Resting(left)) = line.read(Timestamp::now).await else {
        panic!("it was asked again");
    };
    assert!(left <= Duration::from_mins(1), "an absurd wish is not obeyed");
}
