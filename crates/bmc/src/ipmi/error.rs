//! What can go wrong over IPMI and nowhere else.

use crate::error::Endurance::{self, Lasting, LastingSilence, Passing, Silence};

/// Why a BMC did not do over IPMI what was asked. None of them is a power command of unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpmiError {
    /// User name, password or KG are wrong. Not tried again by this conversation.
    #[error("the BMC and we do not agree on the IPMI login ({0}). Correct the Secret.")]
    LoginRejected(String),
    /// The BMC opened a session and then said nothing to this message of the login. Not tried again by itself.
    #[error(
        "the BMC does not answer {0} of the IPMI login ({1}). Some BMCs stay silent to a user name or password that they do not know, so check the Secret; else check the network."
    )]
    LoginUnanswered(&'static str, String),
    /// The login is right, but the account may not do this. Nothing was done.
    #[error(
        "the BMC does not give the account this privilege ({0}). Give it OPERATOR on the LAN channel, or ask for less with ?privilegelevel= in the BMC address."
    )]
    PrivilegeDenied(String),
    /// The BMC agrees to none of the cipher suites that prove, authenticate and encrypt.
    #[error(
        "the BMC accepts none of the cipher suites 17 and 3 ({0}). Enable one of them on its LAN channel; suites without encryption are not used."
    )]
    NoCipherSuite(String),
    /// Any other refusal to open a session or to answer a request.
    #[error("the BMC refused over IPMI ({text}). See its log, and try again later.")]
    Refused {
        /// What the BMC said.
        text: String,
        /// Whether it passes by itself.
        busy: bool,
    },
    /// An answer that IPMI does not have.
    #[error("the BMC's answer is not IPMI 2.0: {0}. Update the BMC's firmware.")]
    Malformed(String),
    /// A power command that was not answered could still arrive. The next one was not sent.
    #[error(
        "the command was not sent, because an earlier one may still be under way to the BMC and its session could not be closed. Wait a minute; the BMC ends that session by itself."
    )]
    EarlierCommandUnderWay,
}

impl IpmiError {
    /// As that of [`BmcError`](crate::BmcError).
    pub(crate) fn was_before_the_command(&self) -> bool {
        match self {
            Self::LoginRejected(_)
            | Self::LoginUnanswered(..)
            | Self::NoCipherSuite(_)
            | Self::EarlierCommandUnderWay => true,
            Self::PrivilegeDenied(_) | Self::Refused { .. } | Self::Malformed(_) => false,
        }
    }

    /// As that of [`BmcError`](crate::BmcError).
    pub(crate) fn class(&self) -> (&'static str, Endurance) {
        match self {
            Self::LoginRejected(_) => ("BmcCredentialsRejected", Lasting),
            Self::LoginUnanswered(..) => ("BmcLoginUnanswered", LastingSilence),
            Self::PrivilegeDenied(_) => ("BmcForbidden", Lasting),
            Self::NoCipherSuite(_) => ("BmcNoCipherSuite", Lasting),
            Self::Refused { busy: true, .. } => ("BmcIpmiError", Passing),
            Self::Refused { busy: false, .. } => ("BmcIpmiError", Lasting),
            Self::Malformed(_) => ("BmcNotIpmi", Lasting),
            Self::EarlierCommandUnderWay => ("BmcCommandUnderWay", Silence),
        }
    }
}
