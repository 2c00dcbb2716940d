//! The ground-truth journal.

use std::time::Duration;

use bmc_simulator::{Change, Delays, Event, HostSpec, Power, Simulator};

use crate::client::{Client, one, soon};

fn word(event: &Event) -> &'static str {
    match event {
        Event::TcpAccepted => "tcp",
        Event::TlsHandshake => "tls",
        Event::TlsFailed => "tls-failed",
        Event::SessionCreated { .. } => "login",
        Event::SessionDeleted { .. } => "logout",
        Event::IpmiSessionOpened { .. } => "ipmi-login",
        Event::IpmiSessionEnded { .. } => "ipmi-logout",
        Event::SessionExpired { .. } => "expired",
        Event::AuthFailed { .. } => "auth-failed",
        Event::Command { .. } => "command",
        Event::CommandRefused { .. } => "refused",
        Event::Observed { truth: Power::On, .. } => "observed-on",
        Event::Observed {
            truth: Power::Off, ..
        } => "observed-off",
        Event::Changed {
            change: Change::PoweredOff,
            ..
        } => "off",
        Event::Changed {
            change: Change::PoweredOn,
            ..
        } => "on",
        Event::Changed {
            change: Change::Reset,
            ..
        } => "reset",
        Event::Changed {
            change: Change::Booted { .. },
            ..
        } => "booted",
        Event::Pressed { .. } => "pressed",
        Event::FaultApplied { .. } => "fault",
        Event::FaultsSet { .. } => "faults",
        Event::DelaysSet { .. } => "delays",
        Event::RedfishSet { .. } => "redfish",
        Event::CredentialsRotated { .. } => "rotated",
        Event::SessionEnded { .. } => "ended",
        Event::LoginAccepted { .. } => "accepted",
        Event::Answered { .. } => "answered",
        Event::CertificateSwapped { .. } => "swapped",
        Event::BmcStage { .. } => "bmc-stage",
        Event::BmcRebooted => "bmc-rebooted",
        Event::MainsLost => "mains-lost",
        Event::MainsRestored => "mains-restored",
    }
}

#[tokio::test]
async fn keeps_the_order_in_which_things_took_effect() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    client.login().await;
    client.power_state().await;
    client.send_reset("ForceOff").await;
    client.power_state().await;
    client.send_reset("On").await;
    client.power_state().await;
    let journal = host.journal();
    let words: Vec<&str> = journal.iter().map(|entry| word(&entry.event)).collect();
    assert_eq!(
        words,
        [
            "tcp",
            "tls",
            "login",
            "observed-on",
            "command",
            "off",
            "observed-off",
            "command",
            "on",
            "booted",
            "observed-on"
        ]
    );
    assert!(
        journal
            .windows(2)
            .all(|pair| pair[0].seq < pair[1].seq && pair[0].elapsed <= pair[1].elapsed)
    );
    assert!(journal.windows(2).all(|pair| pair[0].wall <= pair[1].wall));
}

#[tokio::test]
async fn a_change_carries_the_instant_it_was_due() {
    let delay = Duration::from_millis(25);
    let (_sim, host) = one(HostSpec::new("a").delays(Delays {
        off: delay.into(),
        ..Delays::default()
    }))
    .await;
    Client::of(&host).send_reset("ForceOff").await;
    let off = |event: &Event| word(event) == "off";
    let entry = soon(host.wait_for_entry(0, off)).await.unwrap();
    let command = soon(host.wait_for_entry(0, |event| word(event) == "command"))
        .await
        .unwrap();
    assert_eq!(entry.elapsed.checked_sub(command.elapsed), Some(delay));
    assert_eq!(entry.elapsed, host.truth().since);
    let span = entry.wall.duration_since(command.wall);
    assert_eq!(Duration::try_from(span).unwrap(), delay);
}

#[tokio::test]
async fn one_order_for_all_hosts_without_gaps() {
    let sim = Simulator::builder()
        .host(HostSpec::new("a"))
        .host(HostSpec::new("b"))
        .start()
        .await
        .unwrap();
    for name in ["a", "b", "a", "b"] {
        let host = sim.host(name).unwrap();
        host.press_power(Power::Off).unwrap();
        host.press_power(Power::On).unwrap();
    }
    let page = sim.journal_after(0);
    let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=page.last_seq).collect::<Vec<u64>>());
    assert_eq!(page.dropped, 0);
    let own = sim.host("a").unwrap().journal();
    assert!(own.iter().all(|entry| entry.host == "a"));
    assert_eq!(own.len().saturating_mul(2), page.entries.len());
    let middle = seqs[seqs.len() / 2];
    assert!(
        sim.journal_after(middle)
            .entries
            .iter()
            .all(|entry| entry.seq > middle)
    );
}

#[tokio::test]
async fn holds_no_password_and_no_token() {
    let (_sim, host) = one(HostSpec::new("a").credentials("admin", "canary-pass")).await;
    let client = Client::of(&host);
    let token = crate::client::header(&client.login().await, "X-Auth-Token");
    client.power_state().await;
    host.rotate_credentials("admin", "canary-next").unwrap();
    let text = serde_json::to_string(&host.journal_after(0)).unwrap();
    let shown = format!(
        "{text}{:?}{:?}",
        host.credentials(),
        HostSpec::new("b").credentials("u", "canary-spec")
    );
    assert!(!shown.contains("canary") && !shown.contains(&token), "{shown}");
}
