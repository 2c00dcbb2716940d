//! What kinds of events and commands mean to the rules.

use crate::journal::{Delivery, Event, Via};
use crate::power::Command;

/// Whether the power goes off when it is carried out.
pub(super) fn ends_in_off(command: Command) -> bool {
    match command {
        Command::ForceOff | Command::GracefulShutdown | Command::PowerCycle => true,
        Command::On | Command::GracefulRestart | Command::ForceRestart => false,
    }
}

/// Whether it may keep a careful client from reading, or give it a reason not to.
pub(super) fn hinders(event: &Event) -> bool {
    match event {
        Event::TlsFailed
        | Event::AuthFailed { .. }
        | Event::BmcRebooted
        | Event::BmcStage { .. }
        | Event::MainsLost
        | Event::MainsRestored
        | Event::FaultApplied { .. }
        | Event::FaultsSet { .. }
        | Event::CredentialsRotated { .. }
        | Event::CertificateSwapped { .. }
        | Event::SessionEnded { .. } => true,
        Event::Observed { delivery, .. } => *delivery != Delivery::Sent,
        Event::TcpAccepted
        | Event::TlsHandshake
        | Event::SessionCreated { .. }
        | Event::SessionDeleted { .. }
        | Event::SessionExpired { .. }
        | Event::IpmiSessionOpened { .. }
        | Event::IpmiSessionEnded { .. }
        | Event::LoginAccepted { .. }
        | Event::Command { .. }
        | Event::CommandRefused { .. }
        | Event::Answered { .. }
        | Event::Changed { .. }
        | Event::Pressed { .. }
        | Event::DelaysSet { .. }
        | Event::RedfishSet { .. } => false,
    }
}

/// By which door the client came in, where it says.
pub(super) fn via(event: &Event) -> Option<&Via> {
    match event {
        Event::Observed { via, .. } | Event::Command { via, .. } | Event::CommandRefused { via, .. } => {
            Some(via)
        }
        Event::TcpAccepted
        | Event::TlsHandshake
        | Event::TlsFailed
        | Event::SessionCreated { .. }
        | Event::SessionDeleted { .. }
        | Event::SessionEnded { .. }
        | Event::SessionExpired { .. }
        | Event::IpmiSessionOpened { .. }
        | Event::IpmiSessionEnded { .. }
        | Event::AuthFailed { .. }
        | Event::LoginAccepted { .. }
        | Event::Answered { .. }
        | Event::Changed { .. }
        | Event::Pressed { .. }
        | Event::BmcRebooted
        | Event::BmcStage { .. }
        | Event::MainsLost
        | Event::MainsRestored
        | Event::FaultApplied { .. }
        | Event::FaultsSet { .. }
        | Event::DelaysSet { .. }
        | Event::RedfishSet { .. }
        | Event::CredentialsRotated { .. }
        | Event::CertificateSwapped { .. } => None,
    }
}

/// The two protocols number their sessions apart.
pub(super) fn over_ipmi(session: &str) -> String {
    format!("{session} over IPMI")
}
