//! The commands: who may use which, and what each does.

mod app;
mod chassis;
mod session;

use super::spec::Privilege;
use super::state::Bmc;
use super::wire::Request;
use crate::counters::RequestClass;

const CHASSIS: u8 = 0x00;
const APP: u8 = 0x06;
/// Slave address of the BMC.
const BMC_ADDRESS: u8 = 0x20;

/// Completion codes other than success (table 5-2 and those of single commands).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    /// Set Session Privilege Level: not available for this user.
    LevelNotAvailable,
    /// Set Session Privilege Level: above what user or role may have.
    LevelExceedsLimit,
    /// Close Session: no such id.
    UnknownSession,
    /// Close Session: no such handle.
    UnknownHandle,
    Busy,
    InvalidCommand,
    InvalidForLun,
    InvalidLength,
    InvalidField,
    DestinationUnavailable,
    InsufficientPrivilege,
    NotInPresentState,
}

impl Completion {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::LevelNotAvailable => 0x80,
            Self::LevelExceedsLimit => 0x81,
            Self::UnknownSession => 0x87,
            Self::UnknownHandle => 0x88,
            Self::Busy => 0xc0,
            Self::InvalidCommand => 0xc1,
            Self::InvalidForLun => 0xc2,
            Self::InvalidLength => 0xc7,
            Self::InvalidField => 0xcc,
            Self::DestinationUnavailable => 0xd3,
            Self::InsufficientPrivilege => 0xd4,
            Self::NotInPresentState => 0xd5,
        }
    }
}

/// The response's data after the completion code, or the code of a failure.
pub(super) type Done = Result<Vec<u8>, Completion>;

/// A command that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    ChassisCapabilities,
    ChassisStatus,
    ChassisControl,
    SetRestorePolicy,
    DeviceId,
    SelfTest,
    DeviceGuid,
    SystemGuid,
    AuthenticationCapabilities,
    SetPrivilege,
    CloseSession,
    SessionInfo,
    ChannelInfo,
    CipherSuites,
}

impl Known {
    fn of(net_fn: u8, command: u8) -> Option<Self> {
        match (net_fn, command) {
            (CHASSIS, 0x00) => Some(Self::ChassisCapabilities),
            (CHASSIS, 0x01) => Some(Self::ChassisStatus),
            (CHASSIS, 0x02) => Some(Self::ChassisControl),
            (CHASSIS, 0x06) => Some(Self::SetRestorePolicy),
            (APP, 0x01) => Some(Self::DeviceId),
            (APP, 0x04) => Some(Self::SelfTest),
            (APP, 0x08) => Some(Self::DeviceGuid),
            (APP, 0x37) => Some(Self::SystemGuid),
            (APP, 0x38) => Some(Self::AuthenticationCapabilities),
            (APP, 0x3b) => Some(Self::SetPrivilege),
            (APP, 0x3c) => Some(Self::CloseSession),
            (APP, 0x3d) => Some(Self::SessionInfo),
            (APP, 0x42) => Some(Self::ChannelInfo),
            (APP, 0x54) => Some(Self::CipherSuites),
            _ => None,
        }
    }

    /// The privilege it needs (appendix G); none = also outside of a session.
    fn needs(self) -> Option<Privilege> {
        match self {
            Self::SystemGuid | Self::AuthenticationCapabilities | Self::CipherSuites => None,
            Self::CloseSession => Some(Privilege::Callback),
            Self::ChassisCapabilities
            | Self::ChassisStatus
            | Self::DeviceId
            | Self::SelfTest
            | Self::DeviceGuid
            | Self::SetPrivilege
            | Self::SessionInfo
            | Self::ChannelInfo => Some(Privilege::User),
            Self::ChassisControl | Self::SetRestorePolicy => Some(Privilege::Operator),
        }
    }
}

/// What kind of request it is.
pub(super) fn class(request: &Request<'_>) -> RequestClass {
    class_of(request.net_fn, request.command)
}

/// The kind of a command.
pub(crate) fn class_of(net_fn: u8, command: u8) -> RequestClass {
    match Known::of(net_fn, command) {
        Some(Known::AuthenticationCapabilities | Known::SystemGuid) => RequestClass::IpmiDiscovery,
        Some(Known::CipherSuites) => RequestClass::IpmiCipherSuites,
        Some(Known::SetPrivilege) => RequestClass::IpmiSetPrivilege,
        Some(Known::CloseSession) => RequestClass::IpmiCloseSession,
        Some(Known::ChassisStatus) => RequestClass::IpmiChassisStatus,
        Some(Known::ChassisControl) => RequestClass::IpmiChassisControl,
        Some(
            Known::ChassisCapabilities
            | Known::SetRestorePolicy
            | Known::DeviceId
            | Known::SelfTest
            | Known::DeviceGuid
            | Known::SessionInfo
            | Known::ChannelInfo,
        )
        | None => RequestClass::IpmiOther,
    }
}

/// Does what a request asks for. `session: None` = outside of any.
pub(super) fn execute(bmc: &mut Bmc<'_, '_>, request: &Request<'_>, session: Option<u32>) -> Done {
    if request.rs_addr != BMC_ADDRESS {
        return Err(Completion::DestinationUnavailable);
    }
    if request.rs_lun != 0 {
        return Err(Completion::InvalidForLun);
    }
    let known = Known::of(request.net_fn, request.command).ok_or(Completion::InvalidCommand)?;
    let permitted = permitted(bmc, known, session);
    if let (Known::ChassisControl, Some(id)) = (known, session) {
        // A power command that is refused belongs into the journal, too.
        return chassis::control(bmc, id, permitted, request.data);
    }
    permitted?;
    perform(bmc, known, session, request.data)
}

fn permitted(bmc: &mut Bmc<'_, '_>, known: Known, session: Option<u32>) -> Result<(), Completion> {
    let Some(needed) = known.needs() else {
        return Ok(());
    };
    let session = session.and_then(|id| bmc.ipmi.sessions.find(id));
    let held = session.map(|session| session.privilege);
    if held >= Some(needed) {
        Ok(())
    } else {
        Err(Completion::InsufficientPrivilege)
    }
}

fn perform(bmc: &mut Bmc<'_, '_>, known: Known, session: Option<u32>, data: &[u8]) -> Done {
    let own = session.ok_or(Completion::InsufficientPrivilege);
    match known {
        Known::AuthenticationCapabilities => app::authentication_capabilities(bmc, data),
        Known::CipherSuites => app::cipher_suites(bmc, data),
        Known::ChannelInfo => app::channel_info(bmc, data),
        Known::SetRestorePolicy => chassis::set_restore_policy(bmc, data),
        Known::SystemGuid => no_data(data).map(|()| bmc.system_guid().to_vec()),
        Known::DeviceGuid => no_data(data).map(|()| app::device_guid(bmc)),
        Known::DeviceId => no_data(data).map(|()| app::device_id()),
        Known::SelfTest => no_data(data).map(|()| app::self_test()),
        Known::ChassisCapabilities => no_data(data).map(|()| chassis::capabilities()),
        Known::ChassisStatus => no_data(data).and(own).map(|id| chassis::status(bmc, id)),
        Known::SetPrivilege => session::set_privilege(bmc, own?, data),
        Known::CloseSession => session::close(bmc, own?, data),
        Known::SessionInfo => session::info(bmc, own?, data),
        // In a session it was dealt with before.
        Known::ChassisControl => Err(Completion::InsufficientPrivilege),
    }
}

fn no_data(data: &[u8]) -> Result<(), Completion> {
    if data.is_empty() {
        Ok(())
    } else {
        Err(Completion::InvalidLength)
    }
}
