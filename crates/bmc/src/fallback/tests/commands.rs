//! Power commands before and after a fallback, and what of them is unknown.

use std::time::Duration;

use bmc_simulator::{Command, Fault, Injection, IpmiFault, Oracle, RequestClass};

use super::{commands, connect, datagrams, one, soon, target};
use crate::by_hand;
use crate::{BmcError, Bmcs, CommandAnswer, Protocol, Urgency};
use remediator_core::journal::Verb;

/// A power-off over Redfish that nobody answered is settled by reading over IPMI, and never repeated by
/// falling back.
#[tokio::test]
async fn an_unanswered_command_is_settled_by_reading_over_ipmi() {
    for (fault, transitions) in [
        (Fault::DropAfterExecute.on(RequestClass::Reset), 1),
        (Fault::Hang.on(RequestClass::Reset), 0),
    ] {
        let (_simulator, host) = one().await;
        let mut bmc = connect(target(&host)).await;
        let first = bmc.read().await.unwrap();
        assert_eq!(first.protocol, Protocol::Redfish);
        host.inject(fault).unwrap();
        let off = bmc.command(Verb::PowerOff, soon()).await;
        assert!(matches!(off, Err(BmcError::UnknownOutcome(_))), "{off:?}");
        assert_eq!(datagrams(&host), 0);

        host.set_faults(vec![Fault::RefuseConnections.into()]).unwrap();
        host.close_connections();
        let read = bmc.read().await.unwrap();
        assert_eq!(read.protocol, Protocol::Ipmi);
        assert_eq!(host.counters().ipmi.chassis_control, 0);
        assert_eq!(host.truth().on_to_off, transitions);
        assert_eq!(host.judge(&[Oracle::BlindRepeat, Oracle::CommandBeforeRead]), []);

        let off = bmc.command(Verb::PowerOff, soon()).await;
        assert!(matches!(off, Ok(CommandAnswer::Accepted)), "{off:?}");
        host.wait_for(|now| now.truth.on_to_off == 1).await.unwrap();
        assert!(bmc.close().await.unwrap());
    }
}

/// A lost answer over IPMI is unknown, too, and what may still be under way outlives the conversation.
#[tokio::test]
async fn an_unanswered_command_over_ipmi_is_unknown() {
    let (_simulator, host) = one().await;
    host.inject(Fault::RefuseConnections).unwrap();
    let mut bmc = connect(target(&host)).await;
    bmc.read().await.unwrap();
    let lost: Injection = IpmiFault::LoseReply.on(RequestClass::IpmiChassisControl);
    host.inject(lost).unwrap();
    let off = bmc.command(Verb::PowerOff, soon()).await;
    assert!(matches!(off, Err(BmcError::UnknownOutcome(_))), "{off:?}");
    assert!(bmc.under_way_until().is_some());
    assert_eq!(commands(&host), [(Command::ForceOff, true)]);
}

/// By the path that a person's commands take, with Redfish dying as soon as the power-off is carried out.
#[tokio::test]
async fn a_host_whose_redfish_dies_untold_is_power_cycled_once_by_hand() {
    let (_simulator, host) = one().await;
    host.inject(Fault::DropAfterExecute.on(RequestClass::Reset))
        .unwrap();
    let line = Bmcs::default().line(target(&host), Urgency::Remediation);
    let first = by_hand::first_read(&line, true).await.unwrap();
    let mut told = Vec::new();
    let mut tell = |text: &str| told.push(text.to_owned());
    let patience = Duration::from_mins(1);
    let cycle = async {
        by_hand::carry_out(&line, Verb::PowerOff, &first, patience, &mut tell)
            .await
            .unwrap();
        by_hand::carry_out(&line, Verb::PowerOn, &first, patience, &mut tell)
            .await
            .unwrap();
    };
    let dies = async {
        host.wait_for(|now| now.truth.on_to_off == 1).await.unwrap();
        host.set_faults(vec![Fault::RefuseConnections.into()]).unwrap();
        host.close_connections();
    };
    tokio::join!(cycle, dies);
    assert!(line.close().await.unwrap());

    let truth = host.truth();
    assert_eq!((truth.on_to_off, truth.off_to_on), (1, 1));
    let expected = [
        (Command::ForceOff, false),
        (Command::ForceOff, true),
        (Command::On, true),
    ];
    assert_eq!(commands(&host), expected);
    let rules = [
        Oracle::BlindRepeat,
        Oracle::OnBeforeConfirmedOff,
        Oracle::CommandBeforeRead,
    ];
    assert_eq!(host.judge(&rules), []);
    let why = "the BMC is spoken to over IPMI, because Redfish did not answer: ";
    assert!(told.iter().any(|line| line.starts_with(why)), "{told:?}");
}
