//! Whose request is served when, and how its answer is dated. Several hosts behind one BMC, which takes its time.

use bmc_simulator::MachineSpec;
use jiff::SignedDuration;

use super::*;
use crate::BmcHandle;

/// A BMC with so many machines, each answer of which about a system takes so long.
async fn chassis(machines: u8, slow: Duration) -> (Simulator, Host) {
    let spec = HostSpec::new("a").credentials("root", "canary-Pa55word");
    let spec = (1..=machines).fold(spec, |spec, id| spec.machine(MachineSpec::new(id.to_string())));
    let simulator = Simulator::builder().seed(7).host(spec).start().await.unwrap();
    let host = simulator.host("a").unwrap();
    host.inject(Fault::SlowAnswer { by: slow }.on(RequestClass::SystemGet))
        .unwrap();
    (simulator, host)
}

fn line(bmcs: &Bmcs, host: &Host, system: &str) -> BmcHandle {
    let path = host.machine(system).unwrap().system_path();
    let target = BmcTarget {
        address: format!("redfish://{}{path}", host.address()).parse().unwrap(),
        ..target(host)
    };
    bmcs.line(target, Urgency::Remediation)
}

fn last_entry(host: &Host) -> u64 {
    host.journal().last().map_or(0, |entry| entry.seq)
}

/// What the BMC was asked about its systems after an entry of its journal, in order.
fn asked(host: &Host, after: u64) -> Vec<String> {
    let entries = host.journal().into_iter().filter(|entry| entry.seq > after);
    let told = entries.filter_map(|entry| {
        if let Event::Observed { system, .. } = &entry.event {
            return Some(format!("read {system}"));
        }
        let Event::Command { system, command, .. } = &entry.event else {
            return None;
        };
        Some(format!("{command:?} {system}"))
    });
    told.collect()
}

async fn is_read(host: &Host, after: u64) {
    let read = |event: &Event| matches!(event, Event::Observed { .. });
    host.wait_for_entry(after, read).await.unwrap();
}

#[tokio::test]
async fn commands_go_before_reads_and_power_on_before_power_off() {
    let (_simulator, host) = chassis(4, Duration::from_millis(300)).await;
    let bmcs = Bmcs::default();
    let lines = ["1", "2", "3", "4"].map(|system| line(&bmcs, &host, system));
    for line in &lines {
        line.read(Timestamp::now).await.unwrap();
    }
    let from = last_entry(&host);
    let others = async {
        is_read(&host, from).await;
        tokio::join!(
            lines[1].read(Timestamp::now),
            lines[2].command(Verb::PowerOff, in_a_minute()),
            lines[3].command(Verb::PowerOn, in_a_minute()),
        )
    };
    let (under_way, (read, off, on)) = tokio::join!(lines[0].read(Timestamp::now), others);
    assert!(read.is_ok() && off.is_ok() && on.is_ok() && under_way.is_ok());
    assert_eq!(asked(&host, from), ["read 1", "On 4", "ForceOff 3", "read 2"]);
}

#[tokio::test]
async fn a_read_is_dated_when_it_is_sent_however_long_it_waited() {
    let (_simulator, host) = chassis(3, Duration::from_millis(700)).await;
    let bmcs = Bmcs::default();
    let lines = ["1", "2", "3"].map(|system| line(&bmcs, &host, system));
    let reads = futures::future::join_all(lines.iter().map(|line| line.read(Timestamp::now))).await;
    let reads: Vec<_> = reads.into_iter().map(Result::unwrap).collect();
    let slow = SignedDuration::from_millis(700);
    for read in &reads {
        let took = read.ended.duration_since(read.began);
        assert!(took >= slow, "dated after it was sent: it took {took}");
    }
    for pair in reads.windows(2) {
        let later = pair[1].began.duration_since(pair[0].began);
        assert!(later >= slow, "the next one is dated only {later} later");
    }
}

#[tokio::test]
async fn a_read_in_a_new_session_is_dated_by_the_request_that_was_answered() {
    let (_simulator, host) = chassis(1, Duration::from_millis(300)).await;
    let line = line(&Bmcs::default(), &host, "1");
    line.read(Timestamp::now).await.unwrap();
    let login = Fault::SlowAnswer {
        by: Duration::from_millis(900),
    };
    let lost = Fault::http_status(401).on(RequestClass::SystemGet).times(1);
    host.inject(login.on(RequestClass::SessionCreate)).unwrap();
    host.inject(lost).unwrap();
    let asked = Timestamp::now();
    let read = line.read(Timestamp::now).await.unwrap();
    let waited = read.began.duration_since(asked);
    let took = read.ended.duration_since(read.began);
    assert!(waited >= SignedDuration::from_millis(900), "after {waited}");
    assert!(
        took >= SignedDuration::from_millis(300),
        "dated after it was sent: it took {took}"
    );
}

#[tokio::test]
async fn a_callers_clock_that_is_moved_on_while_it_waits_dates_nothing_later() {
    let (_simulator, host) = chassis(1, Duration::from_millis(100)).await;
    let line = line(&Bmcs::default(), &host, "1");
    let (begun, looks) = (Timestamp::now(), std::cell::Cell::new(0));
    let moved_on = || {
        let hours = SignedDuration::from_hours(looks.replace(looks.get() + 1));
        Timestamp::now().saturating_add(hours).unwrap()
    };
    let read = line.read(moved_on).await.unwrap();
    assert!(read.began >= begun && read.began <= Timestamp::now());
}

#[tokio::test]
async fn no_host_behind_a_bmc_is_read_twice_while_another_waits() {
    let (_simulator, host) = chassis(3, Duration::from_millis(50)).await;
    let bmcs = Bmcs::default();
    let lines = ["1", "1", "2", "3"].map(|system| line(&bmcs, &host, system));
    let reads = lines.iter().map(|line| line.read(Timestamp::now));
    let reads = futures::future::join_all(reads).await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    assert_eq!(asked(&host, 0), ["read 1", "read 2", "read 3", "read 1"]);
}

#[tokio::test]
async fn a_command_that_waits_behind_a_read_for_longer_than_its_time_is_not_sent() {
    let (_simulator, host) = chassis(2, Duration::from_millis(800)).await;
    let bmcs = Bmcs::default();
    let lines = ["1", "2"].map(|system| line(&bmcs, &host, system));
    for line in &lines {
        line.read(Timestamp::now).await.unwrap();
    }
    let from = last_entry(&host);
    let command = async {
        is_read(&host, from).await;
        let soon = Instant::now().checked_add(Duration::from_millis(200)).unwrap();
        lines[1].command(Verb::PowerOff, soon).await
    };
    let (read, off) = tokio::join!(lines[0].read(Timestamp::now), command);
    assert!(read.is_ok());
    assert_eq!(off, Err(BmcError::TooLate));
    assert_eq!(asked(&host, from), ["read 1"]);
}

#[tokio::test]
async fn one_slow_answer_is_asked_for_again_and_the_fastest_counts() {
    let (_simulator, host) = chassis(1, Duration::from_millis(50)).await;
    let unlucky = Fault::SlowAnswer {
        by: Duration::from_millis(3_200),
    };
    host.set_faults(vec![unlucky.on(RequestClass::SystemGet).times(1)])
        .unwrap();
    let line = line(&Bmcs::default(), &host, "1");
    let found = line.inspect().await.unwrap();
    assert!(found.took < Duration::from_secs(3), "{:?}", found.took);
    assert_eq!(asked(&host, 0), ["read 1", "read 1"]);
    line.inspect().await.unwrap();
    assert_eq!(asked(&host, 0).len(), 3, "a fast answer is not asked for again");
}
