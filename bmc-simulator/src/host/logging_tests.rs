use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::super::{Host, HostCore, Setup};
use crate::journal::{Delivery, Event, Journal, Salt, Via};
use crate::oracle::Oracle;
use crate::power::{Command, Outcome, Power};
use crate::tls::{Authority, TlsSlot};
use crate::{HostSpec, RequestClass};

/// A BMC without sockets, whose journal keeps so many entries.
fn host(capacity: usize) -> Host {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 443));
    let authority = Arc::new(Authority::new("x").unwrap());
    let presented = authority.issue(address.ip(), "a", None).unwrap();
    let setup = Setup {
        address,
        ipmi_address: None,
        ssdp_port: None,
        tls: Arc::new(TlsSlot::new(authority, presented)),
        epoch: tokio::time::Instant::now(),
        journal: Arc::new(Journal::new(
            jiff::Timestamp::UNIX_EPOCH,
            capacity,
            Salt::new().unwrap(),
        )),
        stop: tokio_util::sync::CancellationToken::new(),
        seed: 1,
        behind_one_port: false,
    };
    Host {
        core: Arc::new(HostCore::new(HostSpec::new("a"), setup)),
    }
}

#[tokio::test]
async fn verdicts_do_not_depend_on_how_much_of_the_journal_is_kept() {
    let read = Event::Observed {
        system: "1".to_owned(),
        via: Via::RedfishBasic,
        reported: Some("On".to_owned()),
        truth: Power::On,
        status: Some(200),
        delivery: Delivery::Sent,
    };
    let command = |command| Event::Command {
        system: "1".to_owned(),
        command,
        via: Via::RedfishBasic,
        outcome: Outcome::Started,
        status: Some(204),
        delivery: Delivery::Sent,
    };
    let session = Event::SessionCreated {
        session: "1".to_owned(),
        status: Some(201),
        delivery: Delivery::Sent,
    };
    let noise = || Event::FaultApplied {
        fault: "hang".to_owned(),
        class: RequestClass::Other,
    };
    let mut verdicts = Vec::new();
    for capacity in [1000, 3] {
        let host = host(capacity);
        let write = |event: Event| {
            host.core.act(|acting| acting.log(event));
        };
        // What is dropped later would make the innocent guilty (the read), and the guilty innocent.
        for event in [read.clone(), session.clone(), command(Command::ForceOff)] {
            write(event);
        }
        (0..50).for_each(|_| write(noise()));
        write(command(Command::On));
        (0..50).for_each(|_| write(noise()));
        assert_eq!(host.journal().len(), capacity.min(104));
        let breaches = host.judge(&Oracle::ALL);
        let found: Vec<(Oracle, u64)> = breaches
            .iter()
            .map(|breach| (breach.oracle, breach.seq))
            .collect();
        verdicts.push(found);
    }
    assert_eq!(
        verdicts[0],
        [
            (Oracle::LeakedSession, 2),
            (Oracle::OnBeforeConfirmedOff, 54),
            (Oracle::OffNotProvenTwice, 54)
        ]
    );
    assert_eq!(verdicts[0], verdicts[1]);
}
